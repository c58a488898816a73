//! `leadhost outbox`: one file a verb; without a verb it lists.

mod list;
mod reply;
mod resolve;
mod status;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::failure::Failure;
use super::output::say;
use super::table::cell;

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
    /// Tell how far a message of the sandbox is
    Status(status::Status),
    /// Say what became of a message of which nobody knows whether it went out
    Resolve(resolve::Resolve),
}

impl Outbox {
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

/// What became of something that was played.
fn played(answer: &Value) {
    say(&format!(
        "It came in as delivery {}: {}.",
        cell(&answer["delivery"]),
        cell(&answer["status"])
    ));
}
