//! `leadhost delivery show`: shows one delivery as received, with its secrets masked, and the
//! result of each item.

use clap::Args;
use serde_json::Value;

use super::origin;
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, safe, short, table, time};

#[derive(Args)]
pub struct Show {
    /// The delivery's id
    id: String,
    #[command(flatten)]
    reach: Reach,
}

impl Show {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/deliveries/{}", encoded(&self.id));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(delivery: &Value) {
    let mut facts = vec![
        ("delivery", cell(&delivery["id"])),
        ("status", cell(&delivery["status"])),
        ("from", origin(delivery)),
        ("received", time(&delivery["receivedAt"])),
        ("attempts", cell(&delivery["attempts"])),
        ("next attempt", time(&delivery["nextAttemptAt"])),
        ("error", cell(&delivery["error"])),
    ];
    let ran = &delivery["ran"];
    if ran.is_object() {
        facts.push((
            "converted by",
            format!(
                "{} {} ({}), configuration {}",
                cell(&ran["plugin"]),
                cell(&ran["version"]),
                short(&ran["digest"]),
                cell(&ran["configVersion"])
            ),
        ));
    }
    for (name, value) in facts {
        if value != "-" {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    }
    let request = &delivery["request"];
    say(&format!(
        "\n{} {}",
        safe(&cell(&request["method"])),
        safe(&cell(&request["path"]))
    ));
    for header in request["headers"].as_array().into_iter().flatten() {
        say(&safe(&format!(
            "{}: {}",
            cell(&header[0]),
            cell(&header[1])
        )));
    }
    say("");
    match request["body"].as_str() {
        Some(body) => body.lines().for_each(|line| say(&safe(line))),
        None => say(&format!(
            "({} bytes of binary data)",
            cell(&delivery["bytes"])
        )),
    }
    items(delivery);
    for note in delivery["notes"].as_array().into_iter().flatten() {
        say(&safe(&format!("note: {}", cell(note))));
    }
}

/// Prints a table of the result of each item.
pub fn items(delivery: &Value) {
    let rows: Vec<Vec<String>> = delivery["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| {
            vec![
                cell(&item["item"]),
                cell(&item["status"]),
                cell(&item["externalId"]),
                cell(&item["dealId"]),
                cell(&item["contactId"]),
                cell(&item["message"]),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "ITEM",
                "STATUS",
                "EXTERNAL ID",
                "DEAL",
                "CONTACT",
                "MESSAGE",
            ],
            &rows,
        ));
    }
}
