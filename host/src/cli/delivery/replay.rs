//! `leadhost delivery replay`: converts stored deliveries again with what is
//! active now. Items that never finished are accepted as usual; finished ones
//! show what would change, and `--apply` writes it, save what a person edited.
//! Many are replayed a page at a time, so that a replay can be interrupted.

use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use super::show::items;
use crate::cli::client::{Client, Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::{complain, say, say_json};
use crate::cli::progress::Progress;
use crate::cli::table::{cell, safe, table};

#[derive(Args)]
#[command(group(ArgGroup::new("which").required(true).multiple(true).args(["id", "failed", "since"])))]
pub struct Replay {
    /// The delivery's id
    #[arg(conflicts_with_all = ["failed", "connection", "since"])]
    id: Option<String>,
    /// All failed and parked ones
    #[arg(long)]
    failed: bool,
    /// Only those of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// All, whatever their state, that were received since: a date, or a time as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Write what the new conversion would change
    #[arg(long)]
    apply: bool,
    /// Let a quarantined delivery through: its credential is checked again
    #[arg(long, requires = "id")]
    release: bool,
    #[command(flatten)]
    reach: Reach,
}

impl Replay {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        match &self.id {
            Some(id) => self.one(&client, id).await,
            None => self.many(&client).await,
        }
    }

    async fn one(&self, client: &Client, id: &str) -> Result<(), Failure> {
        let path = format!("/admin/v1/deliveries/{}/replay", encoded(id));
        let options = json!({ "apply": self.apply, "release": self.release });
        let answer = client.post(&path, &options).await?;
        client.print(&answer, |answer| {
            say(&format!(
                "{}: {}",
                cell(&answer["id"]),
                cell(&answer["status"])
            ));
            items(answer);
            differences(answer, self.apply);
        });
        Ok(())
    }

    async fn many(&self, client: &Client) -> Result<(), Failure> {
        let progress = Progress::start("replaying");
        let mut counted = std::collections::BTreeMap::<String, u64>::new();
        let mut before = Value::Null;
        loop {
            let request = json!({
                "failed": self.failed,
                "connection": self.connection,
                "since": self.since,
                "apply": self.apply,
                "before": before,
            });
            let page = client.post("/admin/v1/replay", &request).await?;
            for delivery in page["deliveries"].as_array().into_iter().flatten() {
                let became = delivery["status"].as_str().unwrap_or("skipped");
                *counted.entry(became.to_owned()).or_default() += 1;
                if client.json() {
                    say(&delivery.to_string());
                }
            }
            progress.update(&format!("replayed {}", counted.values().sum::<u64>()));
            before = page["next"].clone();
            if before.is_null() {
                break;
            }
        }
        drop(progress);
        let counts: Vec<String> = counted
            .iter()
            .map(|(status, count)| format!("{count} {status}"))
            .collect();
        if client.json() {
            say_json(&json!(counted));
        } else if counts.is_empty() {
            say("There is nothing to replay.");
        } else {
            say(&format!("Replayed: {}.", counts.join(", ")));
        }
        Ok(())
    }
}

fn differences(answer: &Value, applied: bool) {
    let rows: Vec<Vec<String>> = answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|item| {
            item["diff"].as_array().into_iter().flatten().map(|diff| {
                let what = if diff["applied"] == true {
                    "written"
                } else if diff["editedByPerson"] == true {
                    "kept: edited by a person"
                } else {
                    "differs"
                };
                vec![
                    cell(&item["item"]),
                    cell(&diff["field"]),
                    safe(&diff["before"].to_string()),
                    safe(&diff["after"].to_string()),
                    what.to_owned(),
                ]
            })
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    say("");
    say(&table(&["ITEM", "FIELD", "BEFORE", "AFTER", ""], &rows));
    if !applied {
        complain("Nothing of this was written: --apply writes it.");
    }
}
