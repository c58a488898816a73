//! `leadhost plugin`: one file a verb.

mod activate;
mod check;
mod keygen;
mod list;
mod pack;
mod rollback;
mod sign;
mod signing_key;

use std::path::Path;

use clap::Subcommand;
use serde_json::Value;

use super::client::block_on;
use super::failure::Failure;
use super::output::say;
use super::table::{cell, safe, short};

#[derive(Subcommand)]
pub enum Plugin {
    /// List plugins, what serves, and what was refused lately
    List(list::List),
    /// Try a component out as an activation would; changes nothing
    Check(check::Check),
    /// Make a component serve: a file, or NAME@DIGEST of one that is stored
    Activate(activate::Activate),
    /// Let the version before serve again
    Rollback(rollback::Rollback),
    /// Put golden cases into a component, to be run wherever it is loaded
    Pack(pack::Pack),
    /// Make a key to sign components with
    Keygen(keygen::Keygen),
    /// Sign a component, so that its name is tied to your key
    Sign(sign::Sign),
}

impl Plugin {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => block_on(command.run()),
            Self::Check(command) => block_on(command.run()),
            Self::Activate(command) => block_on(command.run()),
            Self::Rollback(command) => block_on(command.run()),
            Self::Pack(command) => command.run(),
            Self::Keygen(command) => command.run(),
            Self::Sign(command) => command.run(),
        }
    }
}

fn read_component(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// What an activation made serve.
fn say_deployed(answer: &Value) {
    say(&safe(&format!(
        "{} {} serves ({}, generation {}).",
        cell(&answer["name"]),
        cell(&answer["version"]),
        short(&answer["digest"]),
        cell(&answer["generation"]),
    )));
    for behind in answer["behind"].as_array().into_iter().flatten() {
        say(&safe(&format!(
            "Not on {} yet: {}. `leadhost plugin list` shows when.",
            cell(&behind["host"]),
            cell(&behind["reason"]),
        )));
    }
}
