//! `leadhost workspace`.

use clap::{Args, Subcommand};

use crate::cli::client::ServiceAddress;
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::table::table;
use leadhost_admin_api::workspaces::Workspaces;

#[derive(Subcommand)]
pub enum WorkspaceCommand {
    /// List the workspaces
    List(ListWorkspaces),
}

impl WorkspaceCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::List(command) => command.run().await,
        }
    }
}

#[derive(Args)]
pub struct ListWorkspaces {
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListWorkspaces {
    /// Prints all workspaces.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let answer = client.get("/admin/v1/workspaces").await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Workspaces) {
    let rows: Vec<Vec<String>> = answer
        .workspaces
        .iter()
        .map(|workspace| {
            vec![
                workspace.slug.clone(),
                workspace.name.clone(),
                workspace.region.clone(),
                workspace.time_zone.clone(),
                workspace.rate_limit.to_string(),
                workspace.id.to_string(),
            ]
        })
        .collect();
    say(&table(
        &[
            "SLUG",
            "NAME",
            "REGION",
            "TIME ZONE",
            "REQUESTS A MINUTE",
            "ID",
        ],
        &rows,
    ));
}
