//! `leadhost plugin list`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, safe, short, table, time};

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client.get("/admin/v1/plugins").await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["plugins"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|plugin| {
            plugin["versions"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|version| {
                    vec![
                        cell(&plugin["name"]),
                        cell(&version["version"]),
                        short(&version["digest"]),
                        cell(&version["state"]),
                        cell(&version["golden"]),
                        time(&version["storedAt"]),
                        cell(&version["origin"]),
                    ]
                })
        })
        .collect();
    say(&table(
        &[
            "NAME", "VERSION", "DIGEST", "STATE", "GOLDEN", "STORED", "ORIGIN",
        ],
        &rows,
    ));
    let refusals = answer["refusals"].as_array();
    for refusal in refusals.into_iter().flatten().take(10) {
        say(&safe(&format!(
            "refused {} {}: {}",
            time(&refusal["at"]),
            cell(&refusal["origin"]),
            cell(&refusal["reason"])
        )));
    }
}
