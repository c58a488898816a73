mod rebuild;

use crate::cli::prelude::*;
use crate::cli::table::list;
use leadhost_admin_api::etl::{EtlRuns, EtlStatus, InSet};

verbs! {
    pub enum EtlCommand {
        /// Show the progress of each metric set, workspaces that are behind, and rebuilds
        Status(ShowEtlStatus),
        /// Count now, and wait until all rows committed before this command are counted
        Run(RunEtl),
        /// Count again from the beginning, beside the current counts
        Rebuild(rebuild::RebuildCounts),
    }
}

#[derive(Args)]
pub struct ShowEtlStatus {}

impl ServiceCommand for ShowEtlStatus {
    async fn run(self, client: AdminClient) -> CommandResult {
        client.show("/admin/v1/etl", show_status).await
    }
}

fn show_status(status: &EtlStatus) {
    say!(
        "counted every {} s; time zones {}",
        status.refresh_seconds,
        status.tzdata,
    );
    say("");
    say_rows(&status.metric_sets);
    let (mut behind, mut making) = (Vec::new(), Vec::new());
    for set in &status.metric_sets {
        behind.extend(set.behind.iter().map(|one| InSet { set, one }));
        making.extend(set.making.iter().map(|one| InSet { set, one }));
    }
    say_more_rows(&behind);
    say_more_rows(&making);
}

#[derive(Args)]
pub struct RunEtl {
    /// Wait at most this long for the run to end
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    wait_seconds: u64,
}

impl ServiceCommand for RunEtl {
    async fn run(self, client: AdminClient) -> CommandResult {
        let progress = ProgressLine::start("counting");
        let body = json!({});
        let asking = client.post("/admin/v1/etl/runs", &body);
        let patience = Duration::from_secs(self.wait_seconds);
        let answer = tokio::time::timeout(patience, asking).await;
        drop(progress);
        let answer = answer.map_err(|_| {
            let seconds = self.wait_seconds;
            failed!("the run has not ended after {seconds} s; it continues").hint(format!(
                "`{}` shows when the last run ended; wait longer with --wait-seconds",
                client.flags().command("etl status")
            ))
        })??;
        client.print(&answer, show_runs);
        judge(&answer, client.flags())
    }
}

fn show_runs(answer: &EtlRuns) {
    for run in &answer.runs {
        say!(
            "{} as of {}: {} read in {:.1} s",
            run.metric_set.as_str(),
            seconds(run.as_of),
            count(run.changes, "change", "changes"),
            run.seconds,
        );
        if !run.unfinished.is_empty() {
            say!(
                "  continues, with more to read than a run takes: {}",
                safe(&list(&run.unfinished))
            );
        }
    }
}

fn judge(answer: &EtlRuns, flags: &ServiceFlags) -> CommandResult {
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
    Err(CommandFailure::new(message).hint(format!(
        "these workspaces keep their previous counts, the others are counted; if the cause is gone or cannot be found, run `{}`",
        flags.command("etl rebuild --workspace SLUG")
    )))
}
