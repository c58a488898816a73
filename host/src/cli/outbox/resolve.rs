//! `leadhost outbox resolve`: settles a message whose outcome is unknown.

use clap::{ArgGroup, Args};

use crate::admin_api::outbox::{ResolveRequest, Resolved, Verdict};
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;

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
    /// Settles the message: it is sent again with `--send-again`, otherwise given up.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
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
