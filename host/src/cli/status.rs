//! `leadhost status`: what the running service does and what waits.

use clap::Args;
use serde_json::Value;

use super::client::Reach;
use super::failure::Failure;
use super::output::say;
use super::table::{cell, short, table, time};

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    reach: Reach,
}

impl Status {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let status = client.get("/admin/v1/status").await?;
        client.print(&status, show);
        Ok(())
    }
}

fn show(status: &Value) {
    let backlog = &status["backlog"];
    say(&format!(
        "leadhost {}, {}",
        cell(&status["version"]),
        if status["draining"] == true {
            "stopping"
        } else {
            "serving"
        }
    ));
    say(&format!(
        "waiting: {} to convert, {} to fetch (oldest {}); failed {}, parked {}, quarantined {}",
        backlog["queued"],
        backlog["fetches"],
        time(&backlog["oldestWaiting"]),
        backlog["failed"],
        backlog["parked"],
        backlog["quarantined"],
    ));
    say(&format!("sealing key {}\n", cell(&status["sealingKey"])));
    let plugins: Vec<Vec<String>> = status["plugins"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|plugin| {
            vec![
                cell(&plugin["name"]),
                cell(&plugin["version"]),
                short(&plugin["digest"]),
                cell(&plugin["generation"]),
            ]
        })
        .collect();
    if plugins.is_empty() {
        say("No plugin is active: `leadhost plugin activate FILE`.");
    } else {
        say(&table(
            &["PLUGIN", "VERSION", "DIGEST", "GENERATION"],
            &plugins,
        ));
    }
}
