//! `leadhost outbox status`: simulates a status webhook of the sandbox's provider.

use clap::Args;

use super::played;
use crate::admin_api::outbox::StatusRequest;
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;

#[derive(Args)]
pub struct Status {
    /// The message's id
    message: String,
    /// sent, delivered, read or failed
    status: String,
    #[command(flatten)]
    reach: Reach,
}

impl Status {
    /// Simulates a status webhook for the message.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/outbox/{}/status", encoded(&self.message));
        let request = StatusRequest {
            status: self.status,
        };
        let answer = client.post(&path, &request).await?;
        client.print(&answer, played);
        Ok(())
    }
}
