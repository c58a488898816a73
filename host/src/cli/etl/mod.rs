//! `leadhost etl`: one file per subcommand.

mod rebuild;
mod run;
mod status;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Etl {
    /// Show the progress of each metric set, workspaces that are behind, and rebuilds
    Status(status::Status),
    /// Count now, and wait until everything committed before is counted
    Run(run::Run),
    /// Count again from the beginning, beside the current counts
    Rebuild(rebuild::Rebuild),
}

impl Etl {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Status(command) => command.run().await,
            Self::Run(command) => command.run().await,
            Self::Rebuild(command) => command.run().await,
        }
    }
}
