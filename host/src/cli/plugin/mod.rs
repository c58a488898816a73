//! `leadhost plugin`: one file per subcommand.

mod activate;
mod check;
mod impact;
mod keygen;
mod list;
mod pack;
mod rollback;
mod sign;
mod signing_key;
mod verify;

use std::path::Path;

use clap::Subcommand;

use super::client::block_on;
use super::failure::Failure;
use super::output::say;
use super::table::{optional, safe};
use crate::admin_api::plugins::DeployedPlugin;

#[derive(Subcommand)]
pub enum Plugin {
    /// List plugins, their active versions, and recent refusals
    List(list::List),
    /// Try a component as an activation would, and change nothing
    Check(check::Check),
    /// Compare a component with the version that serves, on stored deliveries, and change nothing
    Verify(verify::Verify),
    /// Show what a version did to the leads that it converted, compared with another version
    Impact(impact::Impact),
    /// Activate a component: a file, or NAME@DIGEST of a stored one
    Activate(activate::Activate),
    /// Activate the previous version again
    Rollback(rollback::Rollback),
    /// Put golden cases into a component, which run wherever it is loaded
    Pack(pack::Pack),
    /// Create a key that signs components
    Keygen(keygen::Keygen),
    /// Sign a component, so that its name is tied to your key
    Sign(sign::Sign),
}

impl Plugin {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => block_on(command.run()),
            Self::Check(command) => block_on(command.run()),
            Self::Verify(command) => block_on(command.run()),
            Self::Impact(command) => block_on(command.run()),
            Self::Activate(command) => block_on(command.run()),
            Self::Rollback(command) => block_on(command.run()),
            Self::Pack(command) => command.run(),
            Self::Keygen(command) => command.run(),
            Self::Sign(command) => command.run(),
        }
    }
}

fn read_component(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", path.display())).hint(
            "name a component file; where a stored version is meant, NAME@DIGEST, as `leadhost plugin list` shows them",
        )
    })
}

/// Splits `NAME@DIGEST`, which names a stored version. A file of this name comes first.
fn stored(what: &str) -> Option<(&str, &str)> {
    what.rsplit_once('@').filter(|_| !Path::new(what).exists())
}

/// Prints the version that an activation made active.
fn say_deployed(deployed: &DeployedPlugin) {
    if let Some(verification) = &deployed.verification {
        verify::show(verification);
    }
    say(&safe(&format!(
        "{} {} is active ({}, generation {}).",
        deployed.name,
        optional(deployed.version.as_ref()),
        deployed.digest.short(),
        optional(deployed.generation),
    )));
    for behind in deployed.behind.iter().flatten() {
        say(&safe(&format!(
            "Not yet active on {}: {}. Follow it with `leadhost plugin list`.",
            behind.host, behind.reason,
        )));
    }
}
