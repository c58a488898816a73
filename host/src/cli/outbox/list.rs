//! `leadhost outbox`.

use clap::Args;

use crate::cli::client::{ServiceAddress, query};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::table::{optional, seconds, table};
use leadhost_admin_api::instances::Instances;
use leadhost_admin_api::outbox::{MessageView, Messages};
use leadhost_domain::message::MessageState;

#[derive(Args)]
pub struct ListMessages {
    /// Only messages of this instance: its number, name or workspace/name
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Only messages in this state: waiting, sending, unknown, accepted, sent, delivered, read, failed, received
    #[arg(long)]
    state: Option<String>,
    /// Only messages to and from this person: a phone, an e-mail address, or the id of a contact
    #[arg(long, value_name = "PERSON")]
    contact: Option<String>,
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListMessages {
    /// Prints a page of messages that match the filters.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let mut fields = vec![
            ("instance", self.instance),
            ("state", self.state),
            ("contact", self.contact),
        ];
        fields.extend(self.page.fields());
        let path = format!("/admin/v1/outbox{}", query(&fields));
        let answer = client.get::<Messages>(&path).await?;
        let instances = match answer.messages.iter().any(MessageView::waits_for_instance) {
            true => Some(client.get("/admin/v1/instances").await?.content),
            false => None,
        };
        client.print(&answer, |answer| show(answer, instances.as_ref()));
        Ok(())
    }
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
                message.why(instances).unwrap_or_default(),
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
    // A channel's own message comes in, too.
    let came_in = message.metadata.status == MessageState::Received.as_str();
    let arrow = if came_in { "from" } else { "to" };
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
