//! `leadhost instance show`: shows an instance as declared, and its templates.

use clap::Args;
use serde_json::Value;

use super::list::{state, templates};
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, safe, table, time};

#[derive(Args)]
pub struct Show {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    reach: Reach,
}

impl Show {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/instances/{}", encoded(&self.instance));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(instance: &Value) {
    let list = &instance["templates"];
    let facts = [
        ("instance", cell(&instance["id"])),
        ("name", cell(&instance["name"])),
        ("workspace", cell(&instance["workspace"])),
        ("number", cell(&instance["number"])),
        ("kind", cell(&instance["kind"])),
        ("channel", cell(&instance["channel"])),
        ("adapter", cell(&instance["adapter"])),
        ("webhooks", cell(&instance["webhook"])),
        ("routes", routes(&instance["routes"])),
        ("secrets", cell(&instance["secrets"])),
        ("unanswered", seconds(&instance["unansweredAfterSeconds"])),
        ("closes after", seconds(&instance["idleAfterSeconds"])),
        ("keeps for", seconds(&instance["keepForSeconds"])),
        ("language", cell(&instance["language"])),
        ("sending", state(instance)),
        ("templates", templates(list)),
        ("synced at", time(&list["syncedAt"])),
        ("list error", cell(&list["error"])),
    ];
    for (name, value) in facts {
        if value != "-" {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    }
    let rows: Vec<Vec<String>> = list["list"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|template| {
            vec![
                cell(&template["name"]),
                cell(&template["language"]),
                cell(&template["status"]),
                template["placeholders"]
                    .as_array()
                    .map_or(0, Vec::len)
                    .to_string(),
                cell(&template["text"]),
                cell(&template["reason"]),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "TEMPLATE",
                "LANGUAGE",
                "STATUS",
                "PLACEHOLDERS",
                "TEXT",
                "REASON",
            ],
            &rows,
        ));
    }
}

fn routes(routes: &Value) -> String {
    let routes: Vec<_> = routes
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, values)| format!("{name} {}", cell(values)))
        .collect();
    if routes.is_empty() {
        "-".to_owned()
    } else {
        routes.join("; ")
    }
}

fn seconds(value: &Value) -> String {
    match value.as_i64() {
        Some(seconds) if seconds % 86_400 == 0 => format!("{} d", seconds / 86_400),
        Some(seconds) if seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        Some(seconds) => format!("{seconds} s"),
        None => "-".to_owned(),
    }
}
