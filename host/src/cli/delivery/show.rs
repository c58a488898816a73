//! `leadhost delivery show`: shows one delivery as received, with its secrets masked, and the
//! result of each item.

use clap::Args;

use super::origin;
use crate::admin_api::deliveries::{DeliveryDetailView, ItemView};
use crate::cli::client::{ServiceAddress, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::{count, say};
use crate::cli::table::{optional, safe, seconds, table};

#[derive(Args)]
pub struct Show {
    /// The delivery's id
    id: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Show {
    /// Prints the delivery and the result of each item.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/deliveries/{}", encoded(&self.id));
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(delivery: &DeliveryDetailView) {
    let facts = &delivery.facts;
    let ran = facts.ran.as_ref().map(|ran| {
        format!(
            "{} {} ({}), configuration {}",
            ran.plugin,
            ran.version,
            ran.digest.short(),
            ran.config_version
        )
    });
    let lines = [
        ("delivery", facts.id.to_string()),
        ("status", facts.status.as_str().to_owned()),
        ("from", origin(facts)),
        ("received", seconds(facts.received_at)),
        ("attempts", facts.attempts.to_string()),
        (
            "next attempt",
            optional(delivery.next_attempt_at.map(seconds)),
        ),
        ("error", optional(facts.error.as_ref())),
        ("converted by", optional(ran)),
    ];
    for (name, value) in lines {
        if value != "-" {
            say(&format!("{name:<13} {}", safe(&value)));
        }
    }
    let request = &delivery.request;
    say(&format!(
        "\n{} {}",
        safe(&request.method),
        safe(&request.path)
    ));
    for (name, value) in &request.headers {
        say(&safe(&format!("{name}: {value}")));
    }
    say("");
    match &request.body {
        Some(body) => body.lines().for_each(|line| say(&safe(line))),
        None => say(&format!(
            "({} of binary data)",
            count(facts.bytes, "byte", "bytes")
        )),
    }
    items(&delivery.items);
    for note in &delivery.notes {
        say(&safe(&format!("note: {note}")));
    }
}

/// Prints a table of the result of each item.
pub fn items(items: &[ItemView]) {
    let rows: Vec<Vec<String>> = items
        .iter()
        .map(|item| {
            vec![
                item.item.to_string(),
                item.status.as_str().to_owned(),
                optional(item.external_id.as_ref()),
                optional(item.deal_id),
                optional(item.contact_id),
                optional(item.message.as_ref()),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "ITEM",
                "STATUS",
                "EXTERNAL ID",
                "DEAL",
                "CONTACT",
                "MESSAGE",
            ],
            &rows,
        ));
    }
}
