//! `leadhost apply`: sends a workspace file to the service and shows what it changed. It shows
//! new keys and generated secrets once.

use hyper::StatusCode;
use serde::Deserialize as _;

use super::client::ServiceRefusal;
use super::table::list;
use super::workspace_file;
use crate::cli::prelude::*;
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
    pub async fn run(self) -> CommandResult {
        let file = workspace_file::read(&self.file)?;
        let client = self.service.client()?;
        let path = format!("/admin/v1/apply?dryRun={}", self.dry_run);
        let answer = client.try_post(&path, &file).await?;
        let report = answer.map_err(|refusal| explain(&self.file, refusal))?;
        client.print(&report, |report| show(report, client.flags()));
        Ok(())
    }
}

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
    failed!("{file} was not applied:\n  {}", lines.join("\n  "))
        .hint("nothing was changed; correct the file and apply it again")
}

fn show(report: &ApplyReport, flags: &ServiceFlags) {
    let is_dry = report.dry_run;
    let changes = report.changes.iter().map(|change| {
        let (what, kind) = (change.what.to_string(), change.kind.to_string());
        [what, kind, change.name.clone(), fields(report, change)].into()
    });
    if report.changes.is_empty() {
        let workspace = safe(&report.workspace);
        say!("Workspace {workspace} is as declared: no changes.");
    }
    let title = ["Changed:", "Would change (dry run):"][usize::from(is_dry)];
    section(title, &["WHAT", "KIND", "NAME", "FIELDS"], changes);
    let removed = report.changed_connections.iter().flat_map(|one| {
        let secrets = one.removed_secrets.iter();
        secrets.map(|secret| vec![one.kind.to_string(), one.name.clone(), secret.clone()])
    });
    let title = if is_dry {
        "\nSecrets that would be removed, because the file leaves them out:"
    } else {
        "\nSecrets that were removed, because the file leaves them out:"
    };
    section(title, &["KIND", "NAME", "SECRET"], removed);
    if !is_dry {
        let connections = report.connections.iter();
        let connections =
            connections.map(|(name, id)| vec![name.clone(), format!("/ingest-lead/{id}")]);
        section("", &["CONNECTION", "SOURCES POST TO"], connections);
        let channels = report.channels.iter().map(|(name, path)| {
            let id = optional(report.instances.get(name));
            vec![name.clone(), id, path.clone()]
        });
        section("", &["INSTANCE", "ID", "PROVIDER POSTS TO"], channels);
    }
    let keys = report.keys.iter().map(|key| {
        let kind = key.kind.as_str().to_owned();
        vec![kind, key.label.clone(), optional(key.key.as_ref())]
    });
    let title = if is_dry {
        "\nKeys that would be created:"
    } else {
        "\nNew keys, shown only this once:"
    };
    section(title, &["KIND", "LABEL", "KEY"], keys);
    let generated = report.generated.iter();
    let generated = generated.chain(&report.generated_of_instances);
    let generated = generated.flat_map(|(owner, secrets)| {
        let secrets = secrets.iter();
        secrets.map(|(name, value)| vec![owner.clone(), name.clone(), value.clone()])
    });
    let title = "\nNew secrets for sources and providers, shown only this once:";
    section(title, &["FOR", "SECRET", "VALUE"], generated);
    for warning in &report.warnings {
        complain_line!(
            "warning: {}: {}",
            optional(warning.path.as_ref()),
            flags.complete(&warning.message)
        );
    }
}

fn section(title: &str, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        say(title);
        say(&table(headings, &rows));
    }
}

/// Returns the names of the fields that a change concerns. Only changes of connections and channels
/// have them.
fn fields(report: &ApplyReport, change: &ChangeView) -> String {
    let mut changed = report.changed_connections.iter();
    let of_change = changed.find(|one| one.kind == change.kind && one.name == change.name);
    list(of_change.iter().flat_map(|one| &one.fields))
}
