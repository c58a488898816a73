//! `leadhost outbox`: one file per subcommand. Without a subcommand it lists messages.

mod list;
mod reply;
mod resolve;
mod status;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::say;
use crate::admin_api::outbox::Played;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Outbox {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Subcommand)]
enum Verb {
    /// List messages, newest first
    List(list::List),
    /// Write as a contact, to an instance with the sandbox adapter
    Reply(reply::Reply),
    /// Report the status of a sandbox message, as its provider would
    Status(status::Status),
    /// Settle a message whose outcome is unknown
    Resolve(resolve::Resolve),
}

impl Outbox {
    /// Runs the subcommand, or lists messages without one.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self.verb {
            None => self.list.run().await,
            Some(Verb::List(command)) => command.run().await,
            Some(Verb::Reply(command)) => command.run().await,
            Some(Verb::Status(command)) => command.run().await,
            Some(Verb::Resolve(command)) => command.run().await,
        }
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
