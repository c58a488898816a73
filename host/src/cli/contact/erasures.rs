//! `leadhost contact erasures`: lists erasures, newest first. They contain no personal data.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Reach, query};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::page::{Page, tell_of_more};
use crate::cli::table::{cell, table, time};

#[derive(Args)]
pub struct Erasures {
    /// Only erasures of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    reach: Reach,
}

impl Erasures {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let [before, limit] = self.page.fields();
        let fields = [("workspace", self.workspace), before, limit];
        let answer = client
            .get(&format!("/admin/v1/erasures{}", query(&fields)))
            .await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["erasures"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|erasure| {
            let count = |kind: &str| cell(&erasure["erased"][kind]);
            vec![
                time(&erasure["beganAt"]),
                if erasure["doneAt"].is_null() {
                    "not yet".to_owned()
                } else {
                    time(&erasure["doneAt"])
                },
                cell(&erasure["contactId"]),
                cell(&erasure["foundBy"]),
                count("deals"),
                count("messages"),
                count("deliveries"),
                left(&erasure["remaining"]),
                cell(&erasure["id"]),
            ]
        })
        .collect();
    say(&table(
        &[
            "BEGAN",
            "DONE",
            "CONTACT",
            "FOUND BY",
            "DEALS",
            "MESSAGES",
            "DELIVERIES",
            "REMAINING",
            "ERASURE",
        ],
        &rows,
    ));
    tell_of_more(answer);
}

/// Returns the number of deliveries that were left and still exist.
fn left(remaining: &Value) -> String {
    let named = remaining["deliveries"].as_array().map_or(0, Vec::len);
    let more = remaining["moreDeliveries"].as_u64().unwrap_or_default();
    more.saturating_add(named as u64).to_string()
}
