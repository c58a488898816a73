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
    let rows: Vec<Vec<String>> = plugins(answer)
        .flat_map(|plugin| {
            plugin["versions"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|version| {
                    vec![
                        cell(&plugin["name"]),
                        cell(&version["kind"]),
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
            "NAME", "KIND", "VERSION", "DIGEST", "STATE", "GOLDEN", "STORED", "ORIGIN",
        ],
        &rows,
    ));
    let hosts: Vec<Vec<String>> = plugins(answer).flat_map(on_hosts).collect();
    if !hosts.is_empty() {
        say("");
        say(&table(&["SERVES", "GENERATION", "HOST", "STATE"], &hosts));
    }
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

fn plugins(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["plugins"].as_array().into_iter().flatten()
}

/// A line for each live host of several that share a database.
fn on_hosts(plugin: &Value) -> Vec<Vec<String>> {
    let line = |host: &Value, state: String| {
        vec![
            cell(&plugin["name"]),
            cell(&plugin["generation"]),
            cell(host),
            state,
        ]
    };
    let list = |name: &str| plugin[name].as_array().cloned().unwrap_or_default();
    let serving = list("servedBy")
        .iter()
        .map(|host| line(host, "serves".to_owned()))
        .collect::<Vec<_>>();
    let behind = list("behind");
    let behind = behind.iter().map(|one| {
        line(
            &one["host"],
            safe(&format!("not yet: {}", cell(&one["reason"]))),
        )
    });
    serving.into_iter().chain(behind).collect()
}
