//! `leadhost deal`.

use std::fmt::Display;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::client::{ServiceAddress, encoded, query};
use crate::cli::confirm::confirm;
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::table::{cell, optional, safe, seconds, table};
use leadhost_admin_api::deals::{DealChangeView, DealDetail, DealRemoved};

#[derive(Subcommand)]
pub enum DealCommand {
    /// Show a deal with its history: its changes and the notes of partners
    Show(ShowDeal),
    /// Remove a deal permanently, with its history and notes
    Remove(RemoveDeal),
}

impl DealCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::Show(command) => command.run().await,
            Self::Remove(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct ShowDeal {
    /// The deal's id
    id: String,
    /// The workspace's slug [default: all workspaces are searched]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ShowDeal {
    /// Prints the deal and its history.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!(
            "/admin/v1/deals/{}{}",
            encoded(&self.id),
            query(&[("workspace", self.workspace)])
        );
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(deal: &DealDetail) {
    let facts = &deal.facts;
    say(&format!("deal          {}", facts.id));
    say(&format!("workspace     {}", safe(&facts.workspace)));
    let line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    };
    line("title", facts.title.clone());
    line("status", Some(format!("{}, {}", facts.status, facts.stage)));
    let contact = &facts.contact;
    let names = [&contact.name, &contact.phone_number, &contact.email];
    let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
    line(
        "contact",
        Some(format!("{} {}", contact.id, names.join(", "))),
    );
    let owner = facts.owner.as_ref();
    line(
        "owner",
        owner.and_then(|one| one.name.clone().or(one.email.clone())),
    );
    let product = facts.product.as_ref();
    line("product", product.and_then(|one| one.name.clone()));
    line("source", facts.source.clone());
    line("external id", facts.external_id.clone());
    let created = seconds(facts.created_at);
    let made = match deal.delivery_id {
        Some(delivery) => format!("{created}, by the source, delivery {delivery}"),
        None => created,
    };
    say(&format!("created       {made}"));
    let changes: Vec<Vec<String>> = deal
        .history
        .iter()
        .flat_map(|change| {
            change.changes.iter().map(|field| {
                vec![
                    seconds(change.at),
                    who(change),
                    field.field.clone(),
                    field_value(&field.before, field.before_name.as_ref()),
                    field_value(&field.after, field.after_name.as_ref()),
                ]
            })
        })
        .collect();
    say("");
    if changes.is_empty() {
        say("It has not been changed.");
    } else {
        say(&table(&["AT", "BY", "FIELD", "BEFORE", "AFTER"], &changes));
    }
    let logs: Vec<Vec<String>> = deal
        .logs
        .iter()
        .map(|log| {
            vec![
                seconds(log.created_at),
                partner(
                    named(log.partner.as_ref(), Some(log.partner_id)),
                    named(log.key.as_ref(), Some(log.key_id)),
                ),
                log.kind.clone(),
                log.subject.clone(),
                optional(log.description.as_ref()),
                Value::Object(log.metadata.clone()).to_string(),
            ]
        })
        .collect();
    if !logs.is_empty() {
        say("");
        say(&table(
            &["NOTED", "BY", "TYPE", "SUBJECT", "DESCRIPTION", "METADATA"],
            &logs,
        ));
    }
}

/// Returns the name of what a value is the id of, or the value.
fn field_value(value: &Value, name: Option<&String>) -> String {
    name.map_or_else(|| cell(value), |name| safe(name))
}

/// Returns the partner and its key by name, the delivery from the source with the repair that converted
/// it again, or the undone repair.
fn who(change: &DealChangeView) -> String {
    match (change.delivery_id, change.repair_id) {
        (Some(delivery), None) => format!("source, delivery {delivery}"),
        (Some(delivery), Some(repair)) => {
            format!("source, delivery {delivery} in repair {repair}")
        }
        (None, Some(repair)) => format!("undo of repair {repair}"),
        (None, None) => partner(
            named(change.partner.as_ref(), change.partner_id),
            named(change.key.as_ref(), change.key_id),
        ),
    }
}

fn partner(partner: String, key: String) -> String {
    format!("{partner} (key {key})")
}

/// Returns the name, or the id of what no longer exists.
fn named(name: Option<&String>, id: Option<impl Display>) -> String {
    name.map_or_else(|| optional(id), String::clone)
}

#[derive(Args)]
pub struct RemoveDeal {
    /// The deal's id
    id: String,
    /// The workspace's slug [default: all workspaces are searched]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    service: ServiceAddress,
}

impl RemoveDeal {
    /// Removes the deal after a confirmation. Rows that refer to the deal keep no reference to it.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        if !self.yes {
            confirm(&format!(
                "Remove deal {} permanently, with its history and notes?",
                safe(&self.id)
            ))?;
        }
        let path = format!(
            "/admin/v1/deals/{}{}",
            encoded(&self.id),
            query(&[("workspace", self.workspace)])
        );
        let answer = client.delete(&path).await?;
        client.print(&answer, |_: &DealRemoved| {
            say(&format!(
                "Removed deal {}. Its contact and its lead's dedupe key stay.",
                safe(&self.id)
            ));
        });
        Ok(())
    }
}
