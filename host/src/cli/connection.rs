//! `leadhost connection`.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::client::{ServiceAddress, encoded};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::secret::SetSecret;
use crate::cli::table::{day, list, optional, seconds, table};
use leadhost_admin_api::connections::{
    BY_AN_OPERATOR, Bound, ConnectionPaused, ConnectionView, Connections, PauseRequest,
};
use leadhost_domain::connection::{LeadFields, SourceChange};

#[derive(Subcommand)]
pub enum ConnectionCommand {
    /// List connections and the addresses that sources post to
    List(ListConnections),
    /// Pause the fetches of a connection; deliveries are still accepted and wait
    Pause(PauseConnection),
    /// Resume the fetches of a connection
    Resume(ResumeConnection),
    /// Set a secret of a connection to the value read from standard input
    Secret(SetSecret),
}

impl ConnectionCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Pause(command) => command.run().await,
            Self::Resume(command) => command.run().await,
            Self::Secret(command) => command.run("connections").await,
        }
    }
}

#[derive(Args)]
pub struct ListConnections {
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListConnections {
    /// Prints all connections.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let answer = client.get("/admin/v1/connections").await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Connections) {
    let rows: Vec<Vec<String>> = answer
        .connections
        .iter()
        .map(|connection| {
            let state = match &connection.paused {
                _ if connection.retired => "retired".to_owned(),
                None => "running".to_owned(),
                Some(pause) => format!("paused: {}", pause.reason),
            };
            vec![
                connection.name.clone(),
                connection.workspace.clone(),
                connection.plugin.clone(),
                format!("/ingest-lead/{}", connection.id),
                secrets(&connection.bound),
                senders(connection),
                state,
                optional(connection.last_delivery_at.map(seconds)),
                optional(connection.lead_fields.as_ref().map(shares)),
                changed(connection),
            ]
        })
        .collect();
    say(&table(
        &[
            "NAME",
            "WORKSPACE",
            "PLUGIN",
            "SOURCES POST TO",
            "SECRETS",
            "SENDERS",
            "FETCHES",
            "LAST DELIVERY",
            "LEADS WITH",
            "CHANGED",
        ],
        &rows,
    ));
}

/// Returns the names of secrets, each with the day on which it got its value.
pub fn secrets(bound: &Bound) -> String {
    let names = bound.secrets.iter();
    let named = names.map(|name| match bound.secret_set_at(name) {
        Some(at) => format!("{name} ({})", day(at)),
        None => format!("{name} (age unknown)"),
    });
    list(named)
}

/// Returns how many of the last leads have each contact field.
fn shares(fields: &LeadFields) -> String {
    let LeadFields {
        leads,
        name,
        phone,
        email,
        external_id,
        listing,
    } = fields;
    format!(
        "name {name} %, phone {phone} %, email {email} %, external id {external_id} %, listing {listing} % (of {leads})"
    )
}

/// Returns what is unusual about its deliveries.
fn changed(connection: &ConnectionView) -> String {
    optional(connection.source_change.as_ref().map(change))
}

/// Returns a change with the state before and after it.
pub fn change(change: &SourceChange) -> String {
    let SourceChange {
        what,
        before,
        after,
        ..
    } = change;
    format!("{what} ({before} -> {after})")
}

/// Returns who may send, and the secrets that the plugin's replies may contain.
fn senders(connection: &ConnectionView) -> String {
    let senders = connection.senders.as_str();
    let revealed = &connection.bound.reply_secrets;
    if revealed.is_empty() {
        senders.to_owned()
    } else {
        format!("{senders}; replies may contain {}", list(revealed))
    }
}

#[derive(Args)]
pub struct PauseConnection {
    /// The connection: its name, workspace/name or id
    connection: String,
    /// The reason, which lists show
    #[arg(long, value_name = "TEXT", default_value = BY_AN_OPERATOR)]
    reason: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl PauseConnection {
    /// Pauses the fetches of a connection. Its deliveries are still accepted.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/connections/{}/pause", encoded(&self.connection));
        let answer = client
            .post(
                &path,
                &PauseRequest {
                    reason: self.reason,
                },
            )
            .await?;
        client.print(&answer, |_: &ConnectionPaused| {
            say(&format!(
                "The fetches of {} are paused; deliveries are accepted and wait.",
                self.connection
            ));
        });
        Ok(())
    }
}

#[derive(Args)]
pub struct ResumeConnection {
    /// The connection: its name, workspace/name or id
    connection: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ResumeConnection {
    /// Resumes the fetches of a connection.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/connections/{}/resume", encoded(&self.connection));
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |_: &ConnectionPaused| {
            say(&format!("The fetches of {} are resumed.", self.connection));
        });
        Ok(())
    }
}
