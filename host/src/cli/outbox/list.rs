use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::prelude::*;
use leadhost_admin_api::instances::Instances;
use leadhost_admin_api::outbox::{ListedMessage, MessageView, Messages};

#[derive(Args, Serialize)]
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
    #[serde(flatten)]
    page: PageFlags,
}

impl ServiceCommand for ListMessages {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/outbox{}", query_of(&self));
        let answer = client.get::<Messages>(&path).await?;
        let instances = if answer.messages.iter().any(MessageView::waits_for_instance) {
            Some(client.get("/admin/v1/instances").await?.content)
        } else {
            None
        };
        client.print(&answer, |answer| show(answer, instances.as_ref()));
        Ok(())
    }
}

/// Prints the messages. `instances` are given if a message waits for one.
fn show(answer: &Messages, instances: Option<&Instances>) {
    let messages = answer.messages.iter();
    let rows = messages.map(|message| ListedMessage { message, instances });
    let rows: Vec<ListedMessage<'_>> = rows.collect();
    if rows.is_empty() {
        return say("No messages.");
    }
    say_rows(&rows);
    show_next_page(answer.next);
}
