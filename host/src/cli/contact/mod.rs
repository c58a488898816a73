//! `leadhost contact`: one file per subcommand.

mod erase;
mod erasures;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Contact {
    /// Remove a person and all data about the person permanently
    Erase(erase::Erase),
    /// List erasures, newest first
    Erasures(erasures::Erasures),
}

impl Contact {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Erase(command) => command.run().await,
            Self::Erasures(command) => command.run().await,
        }
    }
}
