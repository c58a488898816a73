//! `leadhost plugin check`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::read_component;
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::progress::Progress;
use crate::cli::table::{cell, safe, short};

#[derive(Args)]
pub struct Check {
    /// The component
    file: PathBuf,
    #[command(flatten)]
    reach: Reach,
}

impl Check {
    pub async fn run(self) -> Result<(), Failure> {
        let wasm = read_component(&self.file)?;
        let client = self.reach.client()?;
        let progress = Progress::start("compiling and running the trial");
        let answer = client.post_wasm("/admin/v1/plugins/check", wasm).await?;
        drop(progress);
        let report = answer.map_err(Failure::from)?;
        client.print(&report, show);
        Ok(())
    }
}

fn show(report: &Value) {
    say(&safe(&format!(
        "{} {} ({}), {}: usable, {} golden cases passed.",
        cell(&report["name"]),
        cell(&report["version"]),
        short(&report["digest"]),
        cell(&report["kind"]),
        cell(&report["golden"]),
    )));
    for concern in report["concerns"].as_array().into_iter().flatten() {
        let what = cell(&concern["what"]);
        say(&safe(&match concern["accept"].as_str() {
            Some(word) if !word.is_empty() => {
                format!("activating it needs --accept {word}: {what}")
            }
            _ => format!("it cannot be activated: {what}"),
        }));
    }
}
