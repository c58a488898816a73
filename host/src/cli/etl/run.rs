//! `leadhost etl run`: counts everything that was committed before the command, whichever host does
//! the periodic runs.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::progress::Progress;
use crate::cli::table::{cell, safe, time};

#[derive(Args)]
pub struct Run {
    /// Wait at most this long for the run to end
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    wait_seconds: u64,
    #[command(flatten)]
    reach: Reach,
}

impl Run {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let progress = Progress::start("counting");
        let body = json!({});
        let asking = client.post("/admin/v1/etl/runs", &body);
        let patience = Duration::from_secs(self.wait_seconds);
        let answer = tokio::time::timeout(patience, asking).await;
        drop(progress);
        let answer = answer.map_err(|_| {
            let seconds = self.wait_seconds;
            Failure::new(format!(
                "the run has not ended after {seconds} s; it continues"
            ))
            .hint("`leadhost etl status` shows when the last run ended; wait longer with --wait-seconds")
        })??;
        client.print(&answer, show);
        judge(&answer)
    }
}

fn runs(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["runs"].as_array().into_iter().flatten()
}

fn show(answer: &Value) {
    for run in runs(answer) {
        let seconds = run["seconds"].as_f64().unwrap_or(0.0);
        say(&format!(
            "{} as of {}: {} changes read in {seconds:.1} s",
            cell(&run["metricSet"]),
            time(&run["asOf"]),
            run["changes"],
        ));
        if run["unfinished"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
        {
            say(&format!(
                "  continues, with more to read than a run takes: {}",
                safe(&cell(&run["unfinished"]))
            ));
        }
    }
}

/// Returns a failure if a workspace could not be counted.
fn judge(answer: &Value) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for run in runs(answer) {
        for one in run["failed"].as_array().into_iter().flatten() {
            failed.push(format!(
                "{} of {}: {}",
                cell(&run["metricSet"]),
                cell(&one["workspace"]),
                cell(&one["error"])
            ));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let message = format!("could not be counted: {}", safe(&failed.join("; ")));
    Err(Failure::new(message).hint(
        "these workspaces keep their previous counts, the others are counted; if the cause is gone or cannot be found, run `leadhost etl rebuild --workspace SLUG`",
    ))
}
