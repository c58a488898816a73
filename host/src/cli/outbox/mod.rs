//! `leadhost outbox`. Without a subcommand it lists messages. `list.rs` has the list.

mod list;

use clap::{ArgGroup, Args, Subcommand};

use crate::admin_api::outbox::{
    Played, ReplyRequest, ResolveRequest, Resolved, StatusRequest, Verdict,
};
use crate::cli::client::{ServiceAddress, encoded};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;

use list::List;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Outbox {
    #[command(subcommand)]
    verb: Option<OutboxVerb>,
    #[command(flatten)]
    list: List,
}

#[derive(Subcommand)]
enum OutboxVerb {
    /// List messages, newest first
    List(List),
    /// Write as a contact, to an instance with the sandbox adapter
    Reply(Reply),
    /// Report the status of a sandbox message, as its provider would
    Status(Status),
    /// Settle a message that waits or whose outcome is unknown
    Resolve(Resolve),
}

impl Outbox {
    /// Runs the subcommand, or lists messages without one.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] of the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self.verb {
            None => self.list.run().await,
            Some(OutboxVerb::List(command)) => command.run().await,
            Some(OutboxVerb::Reply(command)) => command.run().await,
            Some(OutboxVerb::Status(command)) => command.run().await,
            Some(OutboxVerb::Resolve(command)) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct Reply {
    /// A message of the conversation, or the contact's phone
    #[arg(value_name = "MESSAGE|PHONE", allow_hyphen_values = true)]
    to: String,
    /// The text that the contact writes
    text: String,
    /// The instance that a phone writes to: its number, name or workspace/name
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Reply {
    /// Simulates a message from a contact of the sandbox.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let body = ReplyRequest {
            to: self.to,
            text: self.text,
            instance: self.instance,
        };
        let answer = client.post("/admin/v1/outbox/reply", &body).await?;
        client.print(&answer, played);
        Ok(())
    }
}

#[derive(Args)]
pub struct Status {
    /// The message's id
    message: String,
    /// The new status: sent, delivered, read or failed
    status: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Status {
    /// Simulates a status webhook for the message.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/outbox/{}/status", encoded(&self.message));
        let request = StatusRequest {
            status: self.status,
        };
        let answer = client.post(&path, &request).await?;
        client.print(&answer, played);
        Ok(())
    }
}

/// Prints the result of a simulated webhook.
fn played(answer: &Played) {
    say(&format!(
        "Received as delivery {}: {}.",
        answer.delivery,
        answer.status.as_str()
    ));
}

#[derive(Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["send_again", "give_up"])))]
pub struct Resolve {
    /// The message's id
    message: String,
    /// The message was not sent: send it again
    #[arg(long)]
    send_again: bool,
    /// Count the message as failed
    #[arg(long)]
    give_up: bool,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Resolve {
    /// Settles the message: it is sent again with `--send-again`, otherwise given up.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/outbox/{}/resolve", encoded(&self.message));
        let verdict = if self.send_again {
            Verdict::SendAgain
        } else {
            Verdict::GiveUp
        };
        let answer = client.post(&path, &ResolveRequest { verdict }).await?;
        client.print(&answer, |answer: &Resolved| {
            say(&format!("{} is now {}.", answer.id, answer.state.as_str()));
        });
        Ok(())
    }
}
