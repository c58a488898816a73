//! `leadhost connection list`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, table};

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client.get("/admin/v1/connections").await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["connections"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|connection| {
            let state = match &connection["paused"] {
                Value::Null => "running".to_owned(),
                pause => format!("paused: {}", cell(&pause["reason"])),
            };
            vec![
                cell(&connection["name"]),
                cell(&connection["workspace"]),
                cell(&connection["plugin"]),
                format!("/ingest-lead/{}", cell(&connection["id"])),
                cell(&connection["secrets"]),
                senders(connection),
                state,
            ]
        })
        .collect();
    say(&table(
        &[
            "NAME",
            "WORKSPACE",
            "PLUGIN",
            "SOURCES POST TO",
            "SECRETS",
            "SENDERS",
            "FETCHES",
        ],
        &rows,
    ));
}

/// Returns who may send, and the secrets that the plugin's replies may contain.
fn senders(connection: &Value) -> String {
    let senders = cell(&connection["senders"]);
    match connection["replySecrets"].as_array() {
        Some(told) if !told.is_empty() => format!(
            "{senders}; replies may contain {}",
            cell(&connection["replySecrets"])
        ),
        _ => senders,
    }
}
