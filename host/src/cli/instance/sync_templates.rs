//! `leadhost instance sync-templates`.

use clap::Args;
use serde_json::json;

use super::list::templates;
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;

#[derive(Args)]
pub struct SyncTemplates {
    /// The instance: its number, name or workspace/name
    instance: String,
    #[command(flatten)]
    reach: Reach,
}

impl SyncTemplates {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = format!(
            "/admin/v1/instances/{}/sync-templates",
            encoded(&self.instance)
        );
        let answer = client.post(&path, &json!({})).await?;
        client.print(&answer, |summary| {
            say(&format!(
                "Approved templates of {}: {}.",
                self.instance,
                templates(summary)
            ));
        });
        Ok(())
    }
}
