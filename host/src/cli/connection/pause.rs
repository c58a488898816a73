//! `leadhost connection pause`.

use clap::Args;
use serde_json::json;

use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;

#[derive(Args)]
pub struct Pause {
    /// The connection: its name, workspace/name or id
    connection: String,
    /// The reason, which lists show
    #[arg(long, value_name = "TEXT", default_value = "by an operator")]
    reason: String,
    #[command(flatten)]
    reach: Reach,
}

impl Pause {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!("/admin/v1/connections/{}/pause", encoded(&self.connection));
        let answer = client
            .post(&path, &json!({ "reason": self.reason }))
            .await?;
        client.print(&answer, |_| {
            say(&format!(
                "The fetches of {} are paused; deliveries are accepted and wait.",
                self.connection
            ));
        });
        Ok(())
    }
}
