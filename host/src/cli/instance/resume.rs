//! `leadhost instance resume`.

use clap::Args;
use serde_json::json;

use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;

#[derive(Args)]
pub struct Resume {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    reach: Reach,
}

impl Resume {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/instances/{}/resume", encoded(&self.instance));
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |_| {
            say(&format!("{} sends again.", self.instance));
        });
        Ok(())
    }
}
