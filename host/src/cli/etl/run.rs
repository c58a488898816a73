//! `leadhost etl run`: counts everything that was committed before the command, whichever host does
//! the periodic runs.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::admin_api::etl::EtlRuns;
use crate::cli::client::ServiceAddress;
use crate::cli::failure::Failure;
use crate::cli::output::{count, say};
use crate::cli::progress::Progress;
use crate::cli::table::{list, safe, seconds};

#[derive(Args)]
pub struct Run {
    /// Wait at most this long for the run to end
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    wait_seconds: u64,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Run {
    /// Requests a run and waits for its end, at most `--wait-seconds`.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the run does not end in time or could not count a workspace, or if no
    /// admin key is found, or the service cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
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

fn show(answer: &EtlRuns) {
    for run in &answer.runs {
        say(&format!(
            "{} as of {}: {} read in {:.1} s",
            run.metric_set.as_str(),
            seconds(run.as_of),
            count(run.changes, "change", "changes"),
            run.seconds,
        ));
        if !run.unfinished.is_empty() {
            say(&format!(
                "  continues, with more to read than a run takes: {}",
                safe(&list(&run.unfinished))
            ));
        }
    }
}

/// Returns a failure if a workspace could not be counted.
fn judge(answer: &EtlRuns) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for run in &answer.runs {
        for one in &run.failed {
            failed.push(format!(
                "{} of {}: {}",
                run.metric_set.as_str(),
                one.workspace,
                one.error
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
