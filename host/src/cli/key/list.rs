//! `leadhost key list`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, table, time};

#[derive(Args)]
pub struct List {
    /// Only keys of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = match &self.workspace {
            Some(slug) => format!("/admin/v1/keys?workspace={}", encoded(slug)),
            None => "/admin/v1/keys".to_owned(),
        };
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["keys"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|key| {
            vec![
                cell(&key["id"]),
                cell(&key["kind"]),
                cell(&key["workspace"]),
                cell(&key["partner"]),
                cell(&key["label"]),
                cell(&key["hint"]),
                cell(&key["state"]),
                time(&key["lastUsedAt"]),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "KIND",
            "WORKSPACE",
            "PARTNER",
            "LABEL",
            "KEY",
            "STATE",
            "LAST USED",
        ],
        &rows,
    ));
}
