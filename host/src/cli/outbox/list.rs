//! `leadhost outbox`.

use clap::Args;

use crate::admin_api::instances::Instances;
use crate::admin_api::outbox::{MessageView, Messages};
use crate::cli::client::{ServiceAddress, query};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::table::{optional, seconds, table};
use crate::domain::message::{Actor, MessageState};

#[derive(Args)]
pub struct List {
    /// Only messages of this instance: its number, name or workspace/name
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Only messages in this state: waiting, sending, unknown, accepted, sent, delivered, read, failed, received
    #[arg(long)]
    state: Option<String>,
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

impl List {
    /// Prints a page of messages that match the filters.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let mut fields = vec![("instance", self.instance), ("state", self.state)];
        fields.extend(self.page.fields());
        let path = format!("/admin/v1/outbox{}", query(&fields));
        let answer = client.get::<Messages>(&path).await?;
        let instances = match answer.messages.iter().any(waits) {
            true => Some(client.get("/admin/v1/instances").await?.content),
            false => None,
        };
        client.print(&answer, |answer| show(answer, instances.as_ref()));
        Ok(())
    }
}

/// Returns whether the message waits for its instance, and not for a reason of its own.
fn waits(message: &MessageView) -> bool {
    let metadata = &message.metadata;
    metadata.status == MessageState::Waiting.as_str()
        && metadata.reason.is_none()
        && metadata.errors.is_empty()
}

/// Prints the messages. `instances` are given if a message waits for one.
fn show(answer: &Messages, instances: Option<&Instances>) {
    let rows: Vec<Vec<String>> = answer
        .messages
        .iter()
        .map(|message| {
            vec![
                message.id.to_string(),
                seconds(message.created_at),
                optional(message.instance_id),
                direction(message),
                message.metadata.status.clone(),
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
    show_next_page(answer.next);
}

/// Returns the recipient or the sender.
fn direction(message: &MessageView) -> String {
    let arrow = match message.actor {
        Actor::Contact => "from",
        Actor::Agent | Actor::Human | Actor::System => "to",
    };
    let who = message
        .phone_number
        .as_ref()
        .or(message.contact_name.as_ref());
    let who = who.map_or("a contact without a number", String::as_str);
    format!("{arrow} {who}")
}

fn said(message: &MessageView) -> String {
    match (&message.content, &message.metadata.template) {
        (Some(content), _) => content.chars().take(60).collect(),
        (None, Some(template)) => format!("template {}", template.name),
        (None, None) => message.kind.clone(),
    }
}

/// Returns why the message waits or failed.
fn why(message: &MessageView, instances: Option<&Instances>) -> String {
    if waits(message) {
        let mut all = instances.iter().flat_map(|all| &all.instances);
        let own = all.find(|instance| Some(instance.id) == message.instance_id);
        return match own.and_then(|instance| instance.paused.as_ref()) {
            Some(pause) => format!("its instance is paused: {}", pause.reason),
            None => "waits for earlier messages of its instance".to_owned(),
        };
    }
    let metadata = &message.metadata;
    let last_error = metadata.errors.last().map(|error| {
        let description = Some(&error.description).filter(|text| !text.is_empty());
        format!("{} {}", error.code, optional(description))
    });
    match (&metadata.reason, last_error) {
        (Some(reason), _) => reason.clone(),
        (None, Some(error)) => error,
        // The provider's own word for the accepted message, until a status follows.
        (None, None) if metadata.status == MessageState::Accepted.as_str() => {
            match &metadata.channel_status {
                None => String::new(),
                Some(word) => format!("accepted by its provider as {word}"),
            }
        }
        (None, None) => String::new(),
    }
}
