//! `leadhost delivery list`.

use clap::Args;
use serde_json::Value;

use super::query;
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::{complain, say};
use crate::cli::table::{cell, table, time};

#[derive(Args)]
pub struct List {
    /// Only those in this state: queued, converted, duplicate, rejected, ignored, failed, parked, unrouted, quarantined
    #[arg(long)]
    status: Option<String>,
    /// Only those of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME")]
    connection: Option<String>,
    /// Only those received since: a date, or a time as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only those older than this one: for the next page
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// How many
    #[arg(long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!(
            "/admin/v1/deliveries{}",
            query(&[
                ("status", self.status),
                ("connection", self.connection),
                ("since", self.since),
                ("before", self.before),
                ("limit", Some(self.limit.to_string())),
            ])
        );
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
                cell(&delivery["connection"]),
                cell(&delivery["status"]),
                cell(&delivery["items"]),
                cell(&delivery["bytes"]),
                match ran {
                    Value::Null => "-".to_owned(),
                    ran => format!("{} {}", cell(&ran["plugin"]), cell(&ran["version"])),
                },
                cell(&delivery["error"]),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "RECEIVED",
            "CONNECTION",
            "STATUS",
            "ITEMS",
            "BYTES",
            "CONVERTED BY",
            "ERROR",
        ],
        &rows,
    ));
    if let Some(next) = answer["next"].as_str() {
        complain(&format!("There are more: --before {next}"));
    }
}
