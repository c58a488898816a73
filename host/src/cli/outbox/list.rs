//! `leadhost outbox`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Reach, query};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::page::{Page, tell_of_more};
use crate::cli::table::{cell, table, time};

#[derive(Args)]
pub struct List {
    /// Only messages of this instance: its number, name or workspace/name
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Only messages in this state: waiting, sending, unknown, accepted, sent, delivered, read, failed, received
    #[arg(long)]
    state: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let mut fields = vec![("instance", self.instance), ("state", self.state)];
        fields.extend(self.page.fields());
        let path = format!("/admin/v1/outbox{}", query(&fields));
        let answer = client.get(&path).await?;
        let instances = match messages(&answer).any(waits) {
            true => client.get::<Value>("/admin/v1/instances").await?.content,
            false => Value::Null,
        };
        client.print(&answer, |answer| show(answer, &instances));
        Ok(())
    }
}

fn messages(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["messages"].as_array().into_iter().flatten()
}

/// Returns whether the message waits for its instance, and not for a reason of its own.
fn waits(message: &Value) -> bool {
    let metadata = &message["metadata"];
    metadata["status"] == "waiting" && metadata["reason"].is_null() && metadata["errors"].is_null()
}

fn show(answer: &Value, instances: &Value) {
    let rows: Vec<Vec<String>> = messages(answer)
        .map(|message| {
            let metadata = &message["metadata"];
            vec![
                cell(&message["id"]),
                time(&message["createdAt"]),
                cell(&message["instanceId"]),
                direction(message),
                cell(&metadata["status"]),
                said(message),
                why(message, instances),
            ]
        })
        .collect();
    if rows.is_empty() {
        return say("No messages.");
    }
    say(&table(
        &[
            "ID", "AT", "INSTANCE", "CONTACT", "STATE", "MESSAGE", "NOTE",
        ],
        &rows,
    ));
    tell_of_more(answer);
}

/// Returns the recipient or the sender.
fn direction(message: &Value) -> String {
    let arrow = if message["actor"] == "contact" {
        "from"
    } else {
        "to"
    };
    let who = ["phoneNumber", "contactName"]
        .into_iter()
        .find_map(|name| message[name].as_str())
        .unwrap_or("a contact without a number");
    format!("{arrow} {who}")
}

fn said(message: &Value) -> String {
    let template = message["metadata"]["template"]["name"].as_str();
    match (message["content"].as_str(), template) {
        (Some(content), _) => content.chars().take(60).collect(),
        (None, Some(template)) => format!("template {template}"),
        (None, None) => cell(&message["type"]),
    }
}

/// Returns why the message waits or failed.
fn why(message: &Value, instances: &Value) -> String {
    if waits(message) {
        let all = instances["instances"].as_array();
        let own = all
            .into_iter()
            .flatten()
            .find(|instance| instance["id"] == message["instanceId"]);
        return match own.and_then(|instance| instance["paused"]["reason"].as_str()) {
            Some(why) => format!("its instance is paused: {why}"),
            None => "waits for earlier messages of its instance".to_owned(),
        };
    }
    let metadata = &message["metadata"];
    let last_error = metadata["errors"]
        .as_array()
        .and_then(|errors| errors.last())
        .map(|error| format!("{} {}", cell(&error["code"]), cell(&error["description"])));
    match (metadata["reason"].as_str(), last_error) {
        (Some(reason), _) => reason.to_owned(),
        (None, Some(error)) => error,
        // The provider's own word for the accepted message, until a status follows.
        (None, None) if metadata["status"] == "accepted" => match &metadata["channelStatus"] {
            Value::Null => String::new(),
            word => format!("accepted by its provider as {}", cell(word)),
        },
        (None, None) => String::new(),
    }
}
