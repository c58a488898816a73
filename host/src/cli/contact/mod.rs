//! `leadhost contact`: one file a verb.

mod erase;
mod erasures;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Contact {
    /// Remove a person and all that is known of it, for good
    Erase(erase::Erase),
    /// List what was erased
    Erasures(erasures::Erasures),
}

impl Contact {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Erase(command) => command.run().await,
            Self::Erasures(command) => command.run().await,
        }
    }
}
