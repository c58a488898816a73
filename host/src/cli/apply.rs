//! `leadhost apply`: sends a workspace file to the service and shows what it changed. It shows
//! new keys and generated secrets once.

use std::path::PathBuf;

use clap::Args;
use hyper::StatusCode;
use serde_json::Value;

use super::client::Reach;
use super::failure::Failure;
use super::output::{complain, say};
use super::table::{cell, safe, table};
use super::workspace_file;

#[derive(Args)]
pub struct Apply {
    /// The workspace file
    file: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    reach: Reach,
}

impl Apply {
    pub async fn run(self) -> Result<(), Failure> {
        let file = workspace_file::read(&self.file)?;
        let client = self.reach.client()?;
        let path = format!("/admin/v1/apply?dryRun={}", self.dry_run);
        let report = match client.try_post(&path, &file).await? {
            Ok(report) => report,
            Err(refusal) if refusal.status == StatusCode::UNPROCESSABLE_ENTITY => {
                return Err(problems(&self.file.display().to_string(), &refusal.body));
            }
            Err(refusal) => return Err(refusal.into()),
        };
        client.print(&report, show);
        Ok(())
    }
}

/// Returns a failure with every problem of the file, one per line.
fn problems(file: &str, body: &Value) -> Failure {
    let lines: Vec<String> = body["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|problem| {
            format!(
                "{}: {}",
                safe(&cell(&problem["path"])),
                safe(&cell(&problem["message"]))
            )
        })
        .collect();
    Failure::new(format!("{file} was not applied:\n  {}", lines.join("\n  ")))
        .hint("nothing was changed; correct the file and apply it again")
}

fn show(report: &Value) {
    let dry = report["dryRun"] == true;
    let changes: Vec<Vec<String>> = report["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|change| {
            vec![
                cell(&change["what"]),
                cell(&change["kind"]),
                cell(&change["name"]),
            ]
        })
        .collect();
    let workspace = safe(&cell(&report["workspace"]));
    if changes.is_empty() {
        say(&format!(
            "Workspace {workspace} is as declared: no changes."
        ));
    } else {
        say(if dry {
            "Would change (dry run):"
        } else {
            "Changed:"
        });
        say(&table(&["WHAT", "KIND", "NAME"], &changes));
    }
    let connections: Vec<Vec<String>> = report["connections"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, id)| vec![name.clone(), format!("/ingest-lead/{}", cell(id))])
        .collect();
    if !dry && !connections.is_empty() {
        say("");
        say(&table(&["CONNECTION", "SOURCES POST TO"], &connections));
    }
    let channels: Vec<Vec<String>> = report["channels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, path)| vec![name.clone(), cell(&report["instances"][name]), cell(path)])
        .collect();
    if !dry && !channels.is_empty() {
        say("");
        say(&table(&["INSTANCE", "ID", "PROVIDER POSTS TO"], &channels));
    }
    show_made(report);
    for warning in report["warnings"].as_array().into_iter().flatten() {
        complain(&safe(&format!(
            "warning: {}: {}",
            cell(&warning["path"]),
            cell(&warning["message"])
        )));
    }
}

fn show_made(report: &Value) {
    let keys: Vec<Vec<String>> = report["keys"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|key| vec![cell(&key["kind"]), cell(&key["label"]), cell(&key["key"])])
        .collect();
    if !keys.is_empty() {
        let dry_run = report["dryRun"].as_bool() == Some(true);
        say(if dry_run {
            "\nKeys that would be created:"
        } else {
            "\nNew keys, shown only this once:"
        });
        say(&table(&["KIND", "LABEL", "KEY"], &keys));
    }
    let generated: Vec<Vec<String>> = ["generated", "generatedOfInstances"]
        .into_iter()
        .filter_map(|made| report[made].as_object())
        .flatten()
        .flat_map(|(connection, secrets)| {
            secrets
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, value)| vec![connection.clone(), name.clone(), cell(value)])
        })
        .collect();
    if !generated.is_empty() {
        say("\nNew secrets for sources and providers, shown only this once:");
        say(&table(&["FOR", "SECRET", "VALUE"], &generated));
    }
}
