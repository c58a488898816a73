//! `leadhost outbox reply`: simulates a contact of the sandbox.

use clap::Args;

use super::played;
use crate::admin_api::outbox::ReplyRequest;
use crate::cli::client::Reach;
use crate::cli::failure::Failure;

#[derive(Args)]
pub struct Reply {
    /// A message of the conversation, or the contact's phone
    #[arg(value_name = "MESSAGE|PHONE", allow_hyphen_values = true)]
    to: String,
    /// What the contact writes
    text: String,
    /// The instance that a phone writes to: its number, name or workspace/name
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

impl Reply {
    /// Simulates a message from a contact of the sandbox.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
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
