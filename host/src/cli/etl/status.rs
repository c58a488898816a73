//! `leadhost etl status`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, table, time};

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    reach: Reach,
}

impl Status {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let status = client.get("/admin/v1/etl").await?;
        client.print(&status, show);
        Ok(())
    }
}

fn show(status: &Value) {
    say(&format!(
        "counted every {} s; time zones {}",
        status["refreshSeconds"],
        cell(&status["tzdata"]),
    ));
    say("");
    let sets = status["metricSets"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let rows: Vec<Vec<String>> = sets
        .iter()
        .map(|set| {
            vec![
                cell(&set["metricSet"]),
                time(&set["asOf"]),
                if set["stale"] == true { "yes" } else { "no" }.to_owned(),
                time(&set["endedAt"]),
                cell(&set["changes"]),
                count(&set["behind"]),
                count(&set["making"]),
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
    list(sets, "behind", &["BEHIND", "METRIC SET", "AS OF"], |one| {
        vec![time(&one["asOf"])]
    });
    list(
        sets,
        "making",
        &["REBUILD", "METRIC SET", "BUILD", "READ TO"],
        |one| vec![cell(&one["build"]), time(&one["readTo"])],
    );
}

/// Prints the workspaces under a key of each set, if there are any.
fn list(sets: &[Value], key: &str, headings: &[&str], rest: impl Fn(&Value) -> Vec<String>) {
    let mut rows = Vec::new();
    for set in sets {
        for one in set[key].as_array().into_iter().flatten() {
            let mut row = vec![cell(&one["workspace"]), cell(&set["metricSet"])];
            row.extend(rest(one));
            rows.push(row);
        }
    }
    if !rows.is_empty() {
        say("");
        say(&table(headings, &rows));
    }
}

fn count(list: &Value) -> String {
    list.as_array().map_or(0, Vec::len).to_string()
}

/// Returns how many zones have days, and how many of them are not complete yet.
fn cubes(set: &Value) -> String {
    match set["cubesMaking"].as_u64() {
        None | Some(0) => cell(&set["cubes"]),
        Some(making) => format!("{} ({making} in progress)", cell(&set["cubes"])),
    }
}
