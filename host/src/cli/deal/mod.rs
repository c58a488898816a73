//! `leadhost deal`: one file a verb.

mod remove;
mod show;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Deal {
    /// Show what happened to a deal: who changed what, and what partners noted
    Show(show::Show),
    /// Remove a deal for good, with its history and notes
    Remove(remove::Remove),
}

impl Deal {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Show(command) => command.run().await,
            Self::Remove(command) => command.run().await,
        }
    }
}
