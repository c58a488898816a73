//! `leadhost delivery replay`: converts stored deliveries again with the active version. Items that
//! never finished are accepted as usual; finished ones show what would change, and `--apply`
//! writes it, except fields that a person edited. Many deliveries are replayed one by one, oldest
//! first, so that a replay can be interrupted.

use std::collections::{BTreeMap, BTreeSet};

use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use super::query;
use super::show::items;
use crate::cli::client::{Client, Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::{complain, say};
use crate::cli::progress::Progress;
use crate::cli::table::{cell, safe, table};

#[derive(Args)]
#[command(group(ArgGroup::new("which").required(true).multiple(true).args(["id", "failed", "since"])))]
pub struct Replay {
    /// The delivery's id
    #[arg(conflicts_with_all = ["failed", "connection", "since"])]
    id: Option<String>,
    /// All failed and parked deliveries
    #[arg(long)]
    failed: bool,
    /// Only deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// All deliveries in any state received since a date, or a time such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// With --since: only deliveries received before this time
    #[arg(long, value_name = "TIME", requires = "since")]
    until: Option<String>,
    /// Only deliveries last converted by this version of their plugin: 1.2.0, or the start of its digest
    #[arg(long, value_name = "VERSION", conflicts_with = "id")]
    version: Option<String>,
    /// Write what the new conversion would change
    #[arg(long)]
    apply: bool,
    /// Release a quarantined delivery; its sender check runs again
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
        let answer: crate::cli::client::Answer<serde_json::Value> =
            client.post(&path, &options).await?;
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
        let progress = Progress::start("finding deliveries");
        let ids = self.find(client).await?;
        let options = json!({ "apply": self.apply, "release": false });
        let mut counted = BTreeMap::<String, u64>::new();
        let mut changes = Changes::default();
        for (index, id) in ids.iter().enumerate() {
            progress.update(&format!("replaying {} of {}", index + 1, ids.len()));
            let path = format!("/admin/v1/deliveries/{}/replay", encoded(id));
            let became = match client
                .try_post::<serde_json::Value>(&path, &options)
                .await?
            {
                Ok(answer) => {
                    if client.json() {
                        say(&answer.to_string());
                    }
                    changes.add(&answer);
                    cell(&answer["status"])
                }
                // Another replay holds it, or it no longer exists. Continue with the others.
                Err(refusal) if refusal.status.is_client_error() => {
                    if client.json() {
                        say(&json!({ "id": id, "error": refusal.message }).to_string());
                    }
                    "not replayed".to_owned()
                }
                Err(refusal) => return Err(refusal.into()),
            };
            *counted.entry(became).or_default() += 1;
        }
        drop(progress);
        if client.json() {
            return Ok(());
        }
        let counts: Vec<String> = counted
            .iter()
            .map(|(became, count)| format!("{count} {became}"))
            .collect();
        if counts.is_empty() {
            say("There is nothing to replay.");
        } else {
            say(&format!("Replayed {}: {}.", ids.len(), counts.join(", ")));
            say(&changes.told(self.apply));
        }
        Ok(())
    }

    /// Returns the ids of the deliveries to replay, oldest first.
    async fn find(&self, client: &Client) -> Result<Vec<String>, Failure> {
        let states: &[Option<&str>] = if self.failed {
            &[Some("failed"), Some("parked")]
        } else {
            &[None]
        };
        let mut ids = Vec::new();
        for status in states {
            let mut before = None;
            loop {
                let path = format!(
                    "/admin/v1/deliveries{}",
                    query(&[
                        ("status", status.map(str::to_owned)),
                        ("connection", self.connection.clone()),
                        ("since", self.since.clone()),
                        ("until", self.until.clone()),
                        ("version", self.version.clone()),
                        ("before", before),
                        ("limit", Some("500".to_owned())),
                    ])
                );
                let page: crate::cli::client::Answer<serde_json::Value> = client.get(&path).await?;
                let found = page["deliveries"].as_array().into_iter().flatten();
                ids.extend(found.map(|delivery| cell(&delivery["id"])));
                before = page["next"].as_str().map(str::to_owned);
                if before.is_none() {
                    break;
                }
            }
        }
        // Ids sort by the time of receipt.
        ids.sort_unstable();
        Ok(ids)
    }
}

/// The changes that a replay of many deliveries made, or would make.
#[derive(Default)]
struct Changes {
    deals: Rows,
    contacts: Rows,
    /// Fields that a person edited, which stay as they are.
    kept: u64,
}

#[derive(Default)]
struct Rows {
    ids: BTreeSet<String>,
    fields: BTreeMap<String, u64>,
}

impl Changes {
    fn add(&mut self, answer: &Value) {
        for item in answer["items"].as_array().into_iter().flatten() {
            for diff in item["diff"].as_array().into_iter().flatten() {
                if diff["editedByPerson"] == true {
                    self.kept += 1;
                    continue;
                }
                let field = diff["field"].as_str().unwrap_or_default();
                let (rows, id, field) = match field.split_once('.') {
                    Some(("contact", field)) => (&mut self.contacts, "contactId", field),
                    Some((_, field)) => (&mut self.deals, "dealId", field),
                    None => (&mut self.deals, "dealId", field),
                };
                rows.ids.insert(cell(&item[id]));
                *rows.fields.entry(field.to_owned()).or_default() += 1;
            }
        }
    }

    fn told(&self, applied: bool) -> String {
        let kept = match self.kept {
            0 => String::new(),
            count => format!(" {count} fields that people edited are kept."),
        };
        if self.deals.ids.is_empty() && self.contacts.ids.is_empty() {
            return format!("No deal or contact differs.{kept}");
        }
        let (deals, contacts) = (self.deals.told("deals"), self.contacts.told("contacts"));
        match applied {
            true => format!("Changed {deals} and {contacts}.{kept}"),
            false => format!("{deals} and {contacts} differ; --apply writes the changes.{kept}"),
        }
    }
}

impl Rows {
    /// Returns a text such as `2 deals (person 2, title 1)`.
    fn told(&self, what: &str) -> String {
        let fields = self.fields.iter();
        let fields: Vec<_> = fields
            .map(|(name, n)| format!("{} {n}", safe(name)))
            .collect();
        match fields.as_slice() {
            [] => format!("{} {what}", self.ids.len()),
            fields => format!("{} {what} ({})", self.ids.len(), fields.join(", ")),
        }
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
        complain("None of these changes was written: --apply writes them.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_by_field() {
        let mut changes = Changes::default();
        assert_eq!(changes.told(true), "No deal or contact differs.");
        let item = |deal: &str, diff: &[(&str, bool)]| {
            let diff = diff
                .iter()
                .map(|(field, edited)| json!({"field": field, "editedByPerson": edited}));
            json!({"dealId": deal, "contactId": "c", "diff": diff.collect::<Vec<_>>()})
        };
        let first = item(
            "a",
            &[("deal.person", false), ("contact.phone_number", false)],
        );
        let second = item("b", &[("deal.person", false), ("deal.title", true)]);
        changes.add(&json!({"items": [first, second]}));
        let told = "2 deals (person 2) and 1 contacts (phone_number 1)";
        let kept = "1 fields that people edited are kept.";
        assert_eq!(changes.told(true), format!("Changed {told}. {kept}"));
        assert_eq!(
            changes.told(false),
            format!("{told} differ; --apply writes the changes. {kept}")
        );
    }
}
