//! `leadhost instance`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{cell, safe, table, time};

#[derive(Subcommand)]
pub enum Instance {
    /// List instances, their channels and the addresses that providers post to
    List(List),
    /// Show one instance with its templates
    Show(Show),
    /// Pause the sending of an instance; messages are still accepted and wait
    Pause(Pause),
    /// Resume the sending of an instance
    Resume(Resume),
    /// Fetch the templates of an instance from its provider now
    SyncTemplates(SyncTemplates),
}

impl Instance {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Pause(command) => command.run().await,
            Self::Resume(command) => command.run().await,
            Self::SyncTemplates(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client.get("/admin/v1/instances").await?;
        client.print(&answer, show_all);
        Ok(())
    }
}

fn show_all(answer: &Value) {
    let rows: Vec<Vec<String>> = answer["instances"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|instance| {
            vec![
                cell(&instance["id"]),
                cell(&instance["name"]),
                cell(&instance["workspace"]),
                cell(&instance["number"]),
                cell(&instance["adapter"]),
                cell(&instance["webhook"]),
                templates(&instance["templates"]),
                state(instance),
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
        ],
        &rows,
    ));
}

/// Returns the number of approved templates as text, such as `2 of 3`.
fn templates(summary: &Value) -> String {
    if summary["unlisted"] == true {
        "not listed".to_owned()
    } else if summary["syncedAt"].is_null() {
        "-".to_owned()
    } else {
        let counted = format!("{} of {}", summary["approved"], summary["count"]);
        match summary["error"].as_str() {
            Some(_) => format!("{counted} (stale)"),
            None => counted,
        }
    }
}

fn state(instance: &Value) -> String {
    match (&instance["adapter"], &instance["paused"]) {
        (Value::Null, _) => "-".to_owned(),
        (_, Value::Null) => "running".to_owned(),
        (_, pause) => format!("paused: {}", cell(&pause["reason"])),
    }
}

#[derive(Args)]
pub struct Show {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    reach: Reach,
}

impl Show {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/instances/{}", encoded(&self.instance));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(instance: &Value) {
    let list = &instance["templates"];
    let facts = [
        ("instance", cell(&instance["id"])),
        ("name", cell(&instance["name"])),
        ("workspace", cell(&instance["workspace"])),
        ("number", cell(&instance["number"])),
        ("kind", cell(&instance["kind"])),
        ("channel", cell(&instance["channel"])),
        ("adapter", cell(&instance["adapter"])),
        ("webhooks", cell(&instance["webhook"])),
        ("routes", routes(&instance["routes"])),
        ("secrets", cell(&instance["secrets"])),
        ("unanswered", seconds(&instance["unansweredAfterSeconds"])),
        ("closes after", seconds(&instance["idleAfterSeconds"])),
        ("keeps for", seconds(&instance["keepForSeconds"])),
        ("language", cell(&instance["language"])),
        ("sending", state(instance)),
        ("templates", templates(list)),
        ("synced at", time(&list["syncedAt"])),
        ("list error", cell(&list["error"])),
    ];
    for (name, value) in facts {
        if value != "-" {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    }
    let rows: Vec<Vec<String>> = list["list"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|template| {
            vec![
                cell(&template["name"]),
                cell(&template["language"]),
                cell(&template["status"]),
                template["placeholders"]
                    .as_array()
                    .map_or(0, Vec::len)
                    .to_string(),
                cell(&template["text"]),
                cell(&template["reason"]),
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

fn routes(routes: &Value) -> String {
    let routes: Vec<_> = routes
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, values)| format!("{name} {}", cell(values)))
        .collect();
    if routes.is_empty() {
        "-".to_owned()
    } else {
        routes.join("; ")
    }
}

fn seconds(value: &Value) -> String {
    match value.as_i64() {
        Some(seconds) if seconds % 86_400 == 0 => format!("{} d", seconds / 86_400),
        Some(seconds) if seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        Some(seconds) => format!("{seconds} s"),
        None => "-".to_owned(),
    }
}

#[derive(Args)]
pub struct Pause {
    /// The instance: its number, name or workspace/name
    instance: String,
    /// The reason, which lists show
    #[arg(long, value_name = "TEXT", default_value = "by an operator")]
    reason: String,
    #[command(flatten)]
    reach: Reach,
}

impl Pause {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/instances/{}/pause", encoded(&self.instance));
        let answer = client
            .post(&path, &json!({ "reason": self.reason }))
            .await?;
        client.print(&answer, |_| {
            say(&format!(
                "{} sends nothing now; messages are accepted and wait, webhooks are accepted.",
                self.instance
            ));
        });
        Ok(())
    }
}

#[derive(Args)]
pub struct Resume {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    reach: Reach,
}

impl Resume {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/instances/{}/resume", encoded(&self.instance));
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |_| {
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
    reach: Reach,
}

impl SyncTemplates {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!(
            "/admin/v1/instances/{}/sync-templates",
            encoded(&self.instance)
        );
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |summary| {
            say(&format!(
                "Approved templates of {}: {}.",
                self.instance,
                templates(summary)
            ));
        });
        Ok(())
    }
}
