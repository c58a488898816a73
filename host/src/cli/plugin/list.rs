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
                        publisher(&version["publisher"]),
                    ]
                })
        })
        .collect();
    say(&table(
        &[
            "NAME",
            "KIND",
            "VERSION",
            "DIGEST",
            "STATE",
            "GOLDEN",
            "STORED",
            "ORIGIN",
            "PUBLISHER",
        ],
        &rows,
    ));
    let hosts: Vec<Vec<String>> = plugins(answer).flat_map(on_hosts).collect();
    if !hosts.is_empty() {
        say("");
        say(&table(&["PLUGIN", "GENERATION", "HOST", "STATE"], &hosts));
    }
    let circuits: Vec<Vec<String>> = plugins(answer).flat_map(open_circuits).collect();
    if !circuits.is_empty() {
        say("");
        say(&table(
            &[
                "CIRCUIT OPEN",
                "DIGEST",
                "CONNECTION",
                "FUNCTION",
                "FAILURES",
                "UNTIL",
                "REASON",
            ],
            &circuits,
        ));
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

/// Returns the publisher, with a key shortened to twelve characters.
fn publisher(publisher: &Value) -> String {
    let text = cell(publisher);
    match text.strip_prefix("ed25519:") {
        Some(key) => format!("ed25519:{}", key.chars().take(12).collect::<String>()),
        None => text,
    }
}

fn plugins(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["plugins"].as_array().into_iter().flatten()
}

/// Returns a row for each open circuit breaker, with the connection that it is open for.
fn open_circuits(plugin: &Value) -> Vec<Vec<String>> {
    let circuits = plugin["circuits"].as_array();
    let line = |circuit: &Value| {
        let function = cell(&circuit["function"]);
        let inline_only = circuit["inlineOnly"] == true;
        vec![
            cell(&plugin["name"]),
            short(&circuit["digest"]),
            cell(
                circuit
                    .get("name")
                    .filter(|name| name.is_string())
                    .unwrap_or(&circuit["connection"]),
            ),
            if inline_only {
                format!("{function} inside requests")
            } else {
                function
            },
            cell(&circuit["failures"]),
            time(&circuit["until"]),
            cell(&circuit["reason"]),
        ]
    };
    circuits.into_iter().flatten().map(line).collect()
}

/// Returns a row for each live host of a fleet.
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
        .map(|host| line(host, "active".to_owned()))
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
