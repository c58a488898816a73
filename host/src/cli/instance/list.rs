//! `leadhost instance list`.

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
        let answer = client.get("/admin/v1/instances").await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["instances"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|instance| {
            vec![
                cell(&instance["id"]),
                cell(&instance["name"]),
                cell(&instance["workspace"]),
                cell(&instance["number"]),
                cell(&instance["adapter"]),
                cell(&instance["webhook"]),
                templates(&instance["templates"]),
                state(instance),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "NAME",
            "WORKSPACE",
            "NUMBER",
            "ADAPTER",
            "PROVIDER POSTS TO",
            "TEMPLATES",
            "SENDING",
        ],
        &rows,
    ));
}

/// Returns the number of approved templates as text, such as `2 of 3`.
pub fn templates(summary: &Value) -> String {
    if summary["unlisted"] == true {
        "not listed".to_owned()
    } else if summary["syncedAt"].is_null() {
        "-".to_owned()
    } else {
        let counted = format!("{} of {}", summary["approved"], summary["count"]);
        match summary["error"].as_str() {
            Some(_) => format!("{counted} (stale)"),
            None => counted,
        }
    }
}

pub fn state(instance: &Value) -> String {
    match (&instance["adapter"], &instance["paused"]) {
        (Value::Null, _) => "-".to_owned(),
        (_, Value::Null) => "running".to_owned(),
        (_, pause) => format!("paused: {}", cell(&pause["reason"])),
    }
}
