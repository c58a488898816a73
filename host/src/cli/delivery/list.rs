//! `leadhost delivery list`.

use clap::Args;
use serde_json::Value;

use super::{origin, query};
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::page::{Page, tell_of_more};
use crate::cli::table::{cell, short, table, time};

#[derive(Args)]
pub struct List {
    /// Only deliveries in this state: queued, converted, duplicate, rejected, ignored, failed, parked, unrouted, quarantined
    #[arg(long)]
    status: Option<String>,
    /// Only deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only deliveries of this instance's provider: its number, name or workspace/name
    #[arg(long, value_name = "NAME", conflicts_with = "connection")]
    instance: Option<String>,
    /// Only deliveries received since a date, or a time such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only deliveries received before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only deliveries last converted by this version of their plugin: 1.2.0, or the start of its digest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let mut fields = vec![
            ("status", self.status),
            ("connection", self.connection),
            ("instance", self.instance),
            ("since", self.since),
            ("until", self.until),
            ("version", self.version),
        ];
        fields.extend(self.page.fields());
        let path = format!("/admin/v1/deliveries{}", query(&fields));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["deliveries"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|delivery| {
            let ran = &delivery["ran"];
            vec![
                cell(&delivery["id"]),
                time(&delivery["receivedAt"]),
                origin(delivery),
                cell(&delivery["status"]),
                cell(&delivery["items"]),
                cell(&delivery["bytes"]),
                match ran {
                    Value::Null => "-".to_owned(),
                    ran => format!(
                        "{} {} ({})",
                        cell(&ran["plugin"]),
                        cell(&ran["version"]),
                        short(&ran["digest"])
                    ),
                },
                cell(&delivery["error"]),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "RECEIVED",
            "FROM",
            "STATUS",
            "ITEMS",
            "BYTES",
            "CONVERTED BY",
            "ERROR",
        ],
        &rows,
    ));
    tell_of_more(answer);
}
