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
    /// Why, as lists show it
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
                "The fetches of {} are paused; what comes in is accepted and waits.",
                self.connection
            ));
        });
        Ok(())
    }
}
