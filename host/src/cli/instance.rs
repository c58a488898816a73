//! `leadhost instance`.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::client::{ServiceAddress, encoded};
use crate::cli::connection::{change, secrets};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::secret::SetSecret;
use crate::cli::table::{list, optional, safe, seconds, table};
use leadhost_admin_api::connections::{BY_AN_OPERATOR, PauseRequest};
use leadhost_admin_api::instances::{
    ChannelSettings, InstancePaused, InstanceView, Instances, Templates,
};

#[derive(Subcommand)]
pub enum InstanceCommand {
    /// List instances, their channels and the addresses that providers post to
    List(ListInstances),
    /// Show one instance with its templates
    Show(ShowInstance),
    /// Pause the sending of an instance; messages are still accepted and wait
    Pause(PauseInstance),
    /// Resume the sending of an instance
    Resume(ResumeInstance),
    /// Fetch the templates of an instance from its provider now
    SyncTemplates(SyncTemplates),
    /// Set a secret of an instance to the value read from standard input
    Secret(SetSecret),
}

impl InstanceCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Pause(command) => command.run().await,
            Self::Resume(command) => command.run().await,
            Self::SyncTemplates(command) => command.run().await,
            Self::Secret(command) => command.run("instances").await,
        }
    }
}

#[derive(Args)]
pub struct ListInstances {
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListInstances {
    /// Prints all instances.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let answer = client.get("/admin/v1/instances").await?;
        client.print(&answer, show_all);
        Ok(())
    }
}

fn show_all(answer: &Instances) {
    let rows: Vec<Vec<String>> = answer
        .instances
        .iter()
        .map(|instance| {
            vec![
                instance.id.to_string(),
                instance.name.clone(),
                instance.workspace.clone(),
                optional(instance.number.as_ref()),
                optional(instance.adapter.as_ref()),
                optional(instance.webhook.as_ref()),
                templates(templates_of(instance)),
                state(instance),
                optional(changed(instance)),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "NAME",
            "WORKSPACE",
            "NUMBER",
            "ADAPTER",
            "PROVIDER POSTS TO",
            "TEMPLATES",
            "SENDING",
            "CHANGED",
        ],
        &rows,
    ));
}

/// Returns what is unusual about its webhooks.
fn changed(instance: &InstanceView) -> Option<String> {
    let settings = instance.settings.as_ref()?;
    settings.source_change.as_ref().map(change)
}

fn templates_of(instance: &InstanceView) -> Option<&Templates> {
    instance.settings.as_ref()?.templates.as_ref()
}

/// Returns the number of approved templates as text, such as `2 of 3`.
fn templates(summary: Option<&Templates>) -> String {
    match summary {
        Some(list) if list.unlisted => "not listed".to_owned(),
        Some(list) if list.synced_at.is_some() => {
            let stale = if list.error.is_some() { " (stale)" } else { "" };
            format!("{} of {}{stale}", list.approved, list.count)
        }
        _ => "-".to_owned(),
    }
}

fn state(instance: &InstanceView) -> String {
    match (&instance.adapter, &instance.paused) {
        (None, _) => "-".to_owned(),
        (_, None) => "running".to_owned(),
        (_, Some(pause)) => format!("paused: {}", pause.reason),
    }
}

#[derive(Args)]
pub struct ShowInstance {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ShowInstance {
    /// Prints one instance.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/instances/{}", encoded(&self.instance));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(instance: &InstanceView) {
    let settings = instance.settings.as_ref();
    let listed = templates_of(instance);
    let after = |seconds: fn(&ChannelSettings) -> u64| {
        let length = settings.map(seconds).map(Duration::from_secs);
        optional(length.map(span))
    };
    let facts = [
        ("instance", instance.id.to_string()),
        ("name", instance.name.clone()),
        ("workspace", instance.workspace.clone()),
        ("number", optional(instance.number.as_ref())),
        ("kind", instance.kind.as_str().to_owned()),
        ("channel", optional(instance.channel.as_ref())),
        ("adapter", optional(instance.adapter.as_ref())),
        ("webhooks", optional(instance.webhook.as_ref())),
        ("routes", optional(settings.and_then(routes))),
        (
            "secrets",
            optional(settings.map(|settings| secrets(&settings.bound))),
        ),
        ("unanswered", after(|one| one.unanswered_after_seconds)),
        ("closes after", after(|one| one.idle_after_seconds)),
        ("keeps for", after(|one| one.keep_for_seconds)),
        ("language", optional(settings.map(|one| &one.language))),
        ("sending", state(instance)),
        ("changed", optional(changed(instance))),
        ("templates", templates(listed)),
        (
            // The time is that of the last attempt, also if it failed.
            match listed.is_some_and(|list| list.error.is_some()) {
                true => "tried at",
                false => "synced at",
            },
            optional(listed.and_then(|list| list.synced_at).map(seconds)),
        ),
        (
            "list error",
            optional(listed.and_then(|list| list.error.as_ref())),
        ),
    ];
    for (name, value) in facts {
        if value != "-" {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    }
    let rows: Vec<Vec<String>> = listed
        .and_then(|list| list.list.as_ref())
        .into_iter()
        .flatten()
        .map(|template| {
            vec![
                template.name.clone(),
                template.language.clone(),
                template.status.clone(),
                template.placeholders.len().to_string(),
                template.text.clone(),
                template.reason.clone(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "TEMPLATE",
                "LANGUAGE",
                "STATUS",
                "PLACEHOLDERS",
                "TEXT",
                "REASON",
            ],
            &rows,
        ));
    }
}

fn routes(settings: &ChannelSettings) -> Option<String> {
    let routes = settings.bound.routes.iter();
    let routes: Vec<_> = routes
        .map(|(name, values)| format!("{name} {}", list(values)))
        .collect();
    (!routes.is_empty()).then(|| routes.join("; "))
}

fn span(length: Duration) -> String {
    let seconds = length.as_secs();
    if seconds.is_multiple_of(86_400) {
        format!("{} d", seconds / 86_400)
    } else if seconds.is_multiple_of(3_600) {
        format!("{} h", seconds / 3_600)
    } else if seconds.is_multiple_of(60) {
        format!("{} min", seconds / 60)
    } else {
        format!("{seconds} s")
    }
}

#[derive(Args)]
pub struct PauseInstance {
    /// The instance: its number, name or workspace/name
    instance: String,
    /// The reason, which lists show
    #[arg(long, value_name = "TEXT", default_value = BY_AN_OPERATOR)]
    reason: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl PauseInstance {
    /// Pauses the sends of an instance. Its messages and webhooks are still accepted.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/instances/{}/pause", encoded(&self.instance));
        let answer = client
            .post(
                &path,
                &PauseRequest {
                    reason: self.reason,
                },
            )
            .await?;
        client.print(&answer, |_: &InstancePaused| {
            say(&format!(
                "{} sends nothing now; messages are accepted and wait, webhooks are accepted.",
                self.instance
            ));
        });
        Ok(())
    }
}

#[derive(Args)]
pub struct ResumeInstance {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ResumeInstance {
    /// Resumes the sends of an instance.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/instances/{}/resume", encoded(&self.instance));
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |_: &InstancePaused| {
            say(&format!("{} sends again.", self.instance));
        });
        Ok(())
    }
}

#[derive(Args)]
pub struct SyncTemplates {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl SyncTemplates {
    /// Renews the list of approved templates from the provider, and prints how many there are.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!(
            "/admin/v1/instances/{}/sync-templates",
            encoded(&self.instance)
        );
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |summary| {
            say(&format!(
                "Approved templates of {}: {}.",
                self.instance,
                templates(Some(summary))
            ));
        });
        Ok(())
    }
}
