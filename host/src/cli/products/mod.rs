//! `leadhost products`: one file per subcommand.

mod import;
mod remove;
mod send;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Products {
    /// Create, change and remove products as a catalogue lists them
    Import(import::Import),
    /// Remove single products permanently
    Remove(remove::Remove),
}

impl Products {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Import(command) => command.run().await,
            Self::Remove(command) => command.run().await,
        }
    }
}
