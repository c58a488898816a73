//! `leadhost key`: one file per subcommand.

mod create;
mod list;
mod revoke;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Key {
    /// Create a key and show it once
    Create(create::Create),
    /// List keys, without their text
    List(list::List),
    /// Revoke a key
    Revoke(revoke::Revoke),
}

impl Key {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Revoke(command) => command.run().await,
        }
    }
}
