//! `leadhost owner`: one file per subcommand.

mod add;
mod list;

use clap::{Args, Subcommand};

use super::client::encoded;
use super::failure::Failure;

#[derive(Subcommand)]
pub enum Owner {
    /// List the people of a workspace who own deals and answer tickets
    List(list::List),
    /// Add an owner, or rename an existing one
    Add(add::Add),
}

impl Owner {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Add(command) => command.run().await,
        }
    }
}

/// The workspace of the owners.
#[derive(Args)]
struct Of {
    /// The workspace's slug
    #[arg(long, value_name = "SLUG")]
    workspace: String,
}

impl Of {
    fn path(&self) -> String {
        format!("/admin/v1/workspaces/{}/owners", encoded(&self.workspace))
    }
}
