//! `leadhost workspace`: one file per subcommand.

mod list;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Workspace {
    /// List the workspaces
    List(list::List),
}

impl Workspace {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
        }
    }
}
