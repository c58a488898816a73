//! `leadhost outbox status`: plays a status webhook of the sandbox's provider.

use clap::Args;
use serde_json::json;

use super::played;
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
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/outbox/{}/status", encoded(&self.message));
        let answer = client
            .post(&path, &json!({ "status": self.status }))
            .await?;
        client.print(&answer, played);
        Ok(())
    }
}
