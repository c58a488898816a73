//! `leadhost deal remove`: removes a deal permanently, after a confirmation. Rows that refer to the
//! deal keep no reference to it.

use clap::Args;

use crate::admin_api::deals::DealRemoved;
use crate::cli::client::{ServiceAddress, encoded, query};
use crate::cli::confirm::confirm;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::safe;

#[derive(Args)]
pub struct Remove {
    /// The deal's id
    id: String,
    /// The workspace's slug [default: all workspaces are searched]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Remove {
    /// Removes the deal after a confirmation.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the user does not confirm, or if no admin key is found, or the service
    /// cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        if !self.yes {
            confirm(&format!(
                "Remove deal {} permanently, with its history and notes?",
                safe(&self.id)
            ))?;
        }
        let path = format!(
            "/admin/v1/deals/{}{}",
            encoded(&self.id),
            query(&[("workspace", self.workspace)])
        );
        let answer = client.delete(&path).await?;
        client.print(&answer, |_: &DealRemoved| {
            say(&format!(
                "Removed deal {}. Its contact and its lead's dedupe key stay.",
                safe(&self.id)
            ));
        });
        Ok(())
    }
}
