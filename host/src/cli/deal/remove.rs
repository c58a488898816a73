//! `leadhost deal remove`: for good, and asks before. What was about the deal is about none then.

use clap::Args;

use crate::cli::client::{Reach, encoded, query};
use crate::cli::confirm::confirm;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::safe;

#[derive(Args)]
pub struct Remove {
    /// The deal's id
    id: String,
    /// The workspace's slug [default: every workspace is asked]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    reach: Reach,
}

impl Remove {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        if !self.yes {
            confirm(&format!(
                "Remove deal {} for good, with its history and notes?",
                safe(&self.id)
            ))?;
        }
        let path = format!(
            "/admin/v1/deals/{}{}",
            encoded(&self.id),
            query(&[("workspace", self.workspace)])
        );
        let answer = client.delete(&path).await?;
        client.print(&answer, |_| {
            say(&format!(
                "Removed deal {}; its contact and its lead's key stay.",
                safe(&self.id)
            ));
        });
        Ok(())
    }
}
