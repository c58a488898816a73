//! `leadhost apply`: sends a workspace file to the service and shows what it changed. It shows
//! new keys and generated secrets once.

use std::path::{Path, PathBuf};

use clap::Args;
use hyper::StatusCode;
use serde::Deserialize as _;

use super::client::{ServiceAddress, ServiceRefusal};
use super::command::ServiceFlags;
use super::failure::CommandFailure;
use super::output::{complain, say};
use super::table::{list, optional, safe, table};
use super::workspace_file;
use leadhost_admin_api::apply::{ApplyReport, ChangeView, RefusedFile};

#[derive(Args)]
pub struct Apply {
    /// The workspace file
    file: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Apply {
    /// Sends the workspace file and prints the changes.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let file = workspace_file::read(&self.file)?;
        let client = self.service.client()?;
        let path = format!("/admin/v1/apply?dryRun={}", self.dry_run);
        let answer = client.try_post(&path, &file).await?;
        let report = answer.map_err(|refusal| explain(&self.file, refusal))?;
        client.print(&report, |report| show(report, client.flags()));
        Ok(())
    }
}

/// Returns a failure with every problem of the file, one per line.
fn explain(file: &Path, refusal: ServiceRefusal) -> CommandFailure {
    if refusal.status != StatusCode::UNPROCESSABLE_ENTITY {
        return refusal.into();
    }
    // The store, too, may refuse a file. Then the message is all that there is.
    let Ok(refused) = RefusedFile::deserialize(&refusal.body) else {
        return refusal.into();
    };
    let lines: Vec<String> = refused
        .problems
        .iter()
        .map(|problem| {
            let path = optional(problem.path.as_ref());
            let message = refusal.flags.complete(&problem.message);
            format!("{}: {}", safe(&path), safe(&message))
        })
        .collect();
    let file = file.display();
    CommandFailure::new(format!("{file} was not applied:\n  {}", lines.join("\n  ")))
        .hint("nothing was changed; correct the file and apply it again")
}

fn show(report: &ApplyReport, flags: &ServiceFlags) {
    let changes: Vec<Vec<String>> = report
        .changes
        .iter()
        .map(|change| {
            vec![
                change.what.to_string(),
                change.kind.to_string(),
                change.name.clone(),
                fields(report, change),
            ]
        })
        .collect();
    if changes.is_empty() {
        say(&format!(
            "Workspace {} is as declared: no changes.",
            safe(&report.workspace)
        ));
    } else {
        say(if report.dry_run {
            "Would change (dry run):"
        } else {
            "Changed:"
        });
        say(&table(&["WHAT", "KIND", "NAME", "FIELDS"], &changes));
    }
    show_removed(report);
    let connections: Vec<Vec<String>> = report
        .connections
        .iter()
        .map(|(name, id)| vec![name.clone(), format!("/ingest-lead/{id}")])
        .collect();
    if !report.dry_run && !connections.is_empty() {
        say("");
        say(&table(&["CONNECTION", "SOURCES POST TO"], &connections));
    }
    let channels: Vec<Vec<String>> = report
        .channels
        .iter()
        .map(|(name, path)| {
            let id = optional(report.instances.get(name));
            vec![name.clone(), id, path.clone()]
        })
        .collect();
    if !report.dry_run && !channels.is_empty() {
        say("");
        say(&table(&["INSTANCE", "ID", "PROVIDER POSTS TO"], &channels));
    }
    show_made(report);
    for warning in &report.warnings {
        complain(&safe(&format!(
            "warning: {}: {}",
            optional(warning.path.as_ref()),
            flags.complete(&warning.message)
        )));
    }
}

/// Returns the names of the fields that a change concerns. Only changes of connections and channels
/// have them.
fn fields(report: &ApplyReport, change: &ChangeView) -> String {
    let mut changed = report.changed_connections.iter();
    let of_change = changed.find(|one| one.kind == change.kind && one.name == change.name);
    list(of_change.iter().flat_map(|one| &one.fields))
}

fn show_removed(report: &ApplyReport) {
    let removed: Vec<Vec<String>> = report
        .changed_connections
        .iter()
        .flat_map(|one| {
            one.removed_secrets
                .iter()
                .map(|secret| vec![one.kind.to_string(), one.name.clone(), secret.clone()])
        })
        .collect();
    if !removed.is_empty() {
        say(if report.dry_run {
            "\nSecrets that would be removed, because the file leaves them out:"
        } else {
            "\nSecrets that were removed, because the file leaves them out:"
        });
        say(&table(&["KIND", "NAME", "SECRET"], &removed));
    }
}

fn show_made(report: &ApplyReport) {
    let keys: Vec<Vec<String>> = report
        .keys
        .iter()
        .map(|key| {
            vec![
                key.kind.as_str().to_owned(),
                key.label.clone(),
                optional(key.key.as_ref()),
            ]
        })
        .collect();
    if !keys.is_empty() {
        say(if report.dry_run {
            "\nKeys that would be created:"
        } else {
            "\nNew keys, shown only this once:"
        });
        say(&table(&["KIND", "LABEL", "KEY"], &keys));
    }
    let generated: Vec<Vec<String>> = report
        .generated
        .iter()
        .chain(&report.generated_of_instances)
        .flat_map(|(owner, secrets)| {
            secrets
                .iter()
                .map(|(name, value)| vec![owner.clone(), name.clone(), value.clone()])
        })
        .collect();
    if !generated.is_empty() {
        say("\nNew secrets for sources and providers, shown only this once:");
        say(&table(&["FOR", "SECRET", "VALUE"], &generated));
    }
}
