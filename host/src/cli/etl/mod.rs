//! `leadhost etl`. `rebuild.rs` has the rebuild.

mod rebuild;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::client::ServiceAddress;
use crate::cli::command::ServiceFlags;
use crate::cli::failure::CommandFailure;
use crate::cli::output::{count, say};
use crate::cli::progress::ProgressLine;
use crate::cli::table::{list, optional, safe, seconds, table};
use leadhost_admin_api::etl::{EtlRuns, EtlStatus, MetricSetView};

#[derive(Subcommand)]
pub enum EtlCommand {
    /// Show the progress of each metric set, workspaces that are behind, and rebuilds
    Status(ShowEtlStatus),
    /// Count now, and wait until all rows committed before this command are counted
    Run(RunEtl),
    /// Count again from the beginning, beside the current counts
    Rebuild(rebuild::RebuildCounts),
}

impl EtlCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::Status(command) => command.run().await,
            Self::Run(command) => command.run().await,
            Self::Rebuild(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct ShowEtlStatus {
    #[command(flatten)]
    service: ServiceAddress,
}

impl ShowEtlStatus {
    /// Prints the state of the counts.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let status = client.get("/admin/v1/etl").await?;
        client.print(&status, show_status);
        Ok(())
    }
}

fn show_status(status: &EtlStatus) {
    say(&format!(
        "counted every {} s; time zones {}",
        status.refresh_seconds, status.tzdata,
    ));
    say("");
    let rows: Vec<Vec<String>> = status
        .metric_sets
        .iter()
        .map(|set| {
            vec![
                name(set),
                optional(set.freshness.as_of.map(seconds)),
                if set.freshness.stale { "yes" } else { "no" }.to_owned(),
                optional(set.ended_at.map(seconds)),
                set.changes.to_string(),
                set.behind.len().to_string(),
                set.making.len().to_string(),
                cubes(set),
            ]
        })
        .collect();
    say(&table(
        &[
            "METRIC SET",
            "AS OF",
            "STALE",
            "RUN ENDED",
            "CHANGES",
            "BEHIND",
            "REBUILDS",
            "ZONES WITH DAYS",
        ],
        &rows,
    ));
    let (mut behind, mut making) = (Vec::new(), Vec::new());
    for set in &status.metric_sets {
        for one in &set.behind {
            let as_of = optional(one.as_of.map(seconds));
            behind.push(vec![one.workspace.clone(), name(set), as_of]);
        }
        for one in &set.making {
            let read_to = optional(one.read_to.map(seconds));
            let build = one.build.to_string();
            making.push(vec![one.workspace.clone(), name(set), build, read_to]);
        }
    }
    say_table(&["BEHIND", "METRIC SET", "AS OF"], &behind);
    say_table(&["REBUILD", "METRIC SET", "BUILD", "READ TO"], &making);
}

fn name(set: &MetricSetView) -> String {
    set.freshness.metric_set.as_str().to_owned()
}

/// Prints the rows, if there are any.
fn say_table(headings: &[&str], rows: &[Vec<String>]) {
    if !rows.is_empty() {
        say("");
        say(&table(headings, rows));
    }
}

/// Returns how many zones have days, and how many of them are not complete yet.
fn cubes(set: &MetricSetView) -> String {
    match set.cubes_making {
        0 => set.cubes.to_string(),
        making => format!("{} ({making} in progress)", set.cubes),
    }
}

#[derive(Args)]
pub struct RunEtl {
    /// Wait at most this long for the run to end
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    wait_seconds: u64,
    #[command(flatten)]
    service: ServiceAddress,
}

impl RunEtl {
    /// Requests a run, which counts everything that was committed before, and waits for its end, at
    /// most `--wait-seconds`. It does not matter which host does the periodic runs.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let progress = ProgressLine::start("counting");
        let body = json!({});
        let asking = client.post("/admin/v1/etl/runs", &body);
        let patience = Duration::from_secs(self.wait_seconds);
        let answer = tokio::time::timeout(patience, asking).await;
        drop(progress);
        let answer = answer.map_err(|_| {
            let seconds = self.wait_seconds;
            CommandFailure::new(format!(
                "the run has not ended after {seconds} s; it continues"
            ))
            .hint(format!(
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
fn judge(answer: &EtlRuns, flags: &ServiceFlags) -> Result<(), CommandFailure> {
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
