mod list;
mod resolve;

use crate::cli::prelude::*;
use crate::cli::verbs::Asked;
use leadhost_admin_api::outbox::{ReplyRequest, SimulatedEvent, StatusRequest};

use list::ListMessages;
use resolve::ResolveMessages;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OutboxCommand {
    #[command(subcommand)]
    verb: Option<OutboxVerb>,
    #[command(flatten)]
    list: Asked<ListMessages>,
}

verbs! {
    enum OutboxVerb {
        /// List messages, newest first
        List(ListMessages),
        /// Write as a contact, to an instance with the sandbox adapter
        Reply(ReplyAsContact),
        /// Report the status of a sandbox message, as its provider would
        Status(ReportStatus),
        /// Resolve a message that waits or whose outcome is unknown, or all with an unknown outcome
        Resolve(ResolveMessages),
    }
}

impl OutboxCommand {
    pub async fn run(self) -> CommandResult {
        match self.verb {
            None => self.list.run().await,
            Some(verb) => verb.run().await,
        }
    }
}

#[derive(Args)]
pub struct ReplyAsContact {
    /// A message of the conversation, or the contact's phone
    #[arg(value_name = "MESSAGE|PHONE", allow_hyphen_values = true)]
    to: String,
    /// The text that the contact writes
    text: String,
    /// The instance that a phone writes to: its number, name or workspace/name
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
}

impl ServiceCommand for ReplyAsContact {
    async fn run(self, client: AdminClient) -> CommandResult {
        let body = ReplyRequest {
            to: self.to,
            text: self.text,
            instance: self.instance,
        };
        client.act("/admin/v1/outbox/reply", &body, simulated).await
    }
}

#[derive(Args)]
pub struct ReportStatus {
    /// The message's id
    message: String,
    /// The new status: sent, delivered, read or failed
    status: String,
}

impl ServiceCommand for ReportStatus {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/outbox/{}/status", encoded(&self.message));
        let request = StatusRequest {
            status: self.status,
        };
        client.act(&path, &request, simulated).await
    }
}

fn simulated(answer: &SimulatedEvent) {
    say!(
        "Received as delivery {}: {}.",
        answer.delivery,
        answer.status.as_str()
    );
}
