//! `leadhost deal show`: shows the history of one deal, newest first.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Reach, encoded, query};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, safe, table, time};

#[derive(Args)]
pub struct Show {
    /// The deal's id
    id: String,
    /// The workspace's slug [default: all workspaces are searched]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

impl Show {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!(
            "/admin/v1/deals/{}{}",
            encoded(&self.id),
            query(&[("workspace", self.workspace)])
        );
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(deal: &Value) {
    say(&format!("deal          {}", safe(&cell(&deal["id"]))));
    say(&format!(
        "workspace     {}",
        safe(&cell(&deal["workspace"]))
    ));
    let made = match deal["deliveryId"].as_str() {
        Some(delivery) => format!(
            "{}, by the source, delivery {delivery}",
            time(&deal["createdAt"])
        ),
        None => time(&deal["createdAt"]),
    };
    say(&format!("created       {}", safe(&made)));
    let changes: Vec<Vec<String>> = rows(&deal["history"])
        .flat_map(|change| {
            rows(&change["changes"]).map(|field| {
                vec![
                    time(&change["at"]),
                    who(change),
                    cell(&field["field"]),
                    cell(&field["before"]),
                    cell(&field["after"]),
                ]
            })
        })
        .collect();
    say("");
    if changes.is_empty() {
        say("It has not been changed.");
    } else {
        say(&table(&["AT", "BY", "FIELD", "BEFORE", "AFTER"], &changes));
    }
    let logs: Vec<Vec<String>> = rows(&deal["logs"])
        .map(|log| {
            vec![
                time(&log["createdAt"]),
                who(log),
                cell(&log["type"]),
                cell(&log["subject"]),
                cell(&log["description"]),
                cell(&log["metadata"]),
            ]
        })
        .collect();
    if !logs.is_empty() {
        say("");
        say(&table(
            &["NOTED", "BY", "TYPE", "SUBJECT", "DESCRIPTION", "METADATA"],
            &logs,
        ));
    }
}

fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the partner and its key by name, or the delivery from the source.
fn who(row: &Value) -> String {
    let name = |name: &str, id: &str| {
        let named = &row[name];
        cell(if named.is_null() { &row[id] } else { named })
    };
    match row["deliveryId"].as_str() {
        Some(delivery) => format!("source, delivery {delivery}"),
        None => format!(
            "{} (key {})",
            name("partner", "partnerId"),
            name("key", "keyId")
        ),
    }
}
