//! `leadhost etl status`.

use clap::Args;

use crate::admin_api::etl::{EtlStatus, MetricSetView};
use crate::cli::client::ServiceAddress;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{optional, seconds, table};

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    service: ServiceAddress,
}

impl Status {
    /// Prints the state of the counts.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        let status = client.get("/admin/v1/etl").await?;
        client.print(&status, show);
        Ok(())
    }
}

fn show(status: &EtlStatus) {
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
    list(&["BEHIND", "METRIC SET", "AS OF"], &behind);
    list(&["REBUILD", "METRIC SET", "BUILD", "READ TO"], &making);
}

fn name(set: &MetricSetView) -> String {
    set.freshness.metric_set.as_str().to_owned()
}

/// Prints the rows, if there are any.
fn list(headings: &[&str], rows: &[Vec<String>]) {
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
