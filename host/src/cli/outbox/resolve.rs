//! `leadhost outbox resolve`: settles a message whose outcome is unknown.

use clap::{ArgGroup, Args};
use serde_json::json;

use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::cell;

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
    reach: Reach,
}

impl Resolve {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/outbox/{}/resolve", encoded(&self.message));
        let verdict = if self.send_again {
            "send-again"
        } else {
            "give-up"
        };
        let answer: crate::cli::client::Answer<serde_json::Value> =
            client.post(&path, &json!({ "verdict": verdict })).await?;
        client.print(&answer, |answer| {
            say(&format!(
                "{} is now {}.",
                cell(&answer["id"]),
                cell(&answer["state"])
            ));
        });
        Ok(())
    }
}
