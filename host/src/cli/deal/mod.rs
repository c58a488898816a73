//! `leadhost deal`: one file per subcommand.

mod remove;
mod show;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Deal {
    /// Show the history of a deal: its changes and the notes of partners
    Show(show::Show),
    /// Remove a deal permanently, with its history and notes
    Remove(remove::Remove),
}

impl Deal {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Show(command) => command.run().await,
            Self::Remove(command) => command.run().await,
        }
    }
}
