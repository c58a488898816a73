//! `leadhost connection resume`.

use clap::Args;
use serde_json::json;

use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;

#[derive(Args)]
pub struct Resume {
    /// The connection: its name, workspace/name or id
    connection: String,
    #[command(flatten)]
    reach: Reach,
}

impl Resume {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/connections/{}/resume", encoded(&self.connection));
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |_| {
            say(&format!("The fetches of {} are resumed.", self.connection));
        });
        Ok(())
    }
}
