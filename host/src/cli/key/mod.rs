//! `leadhost key`: one file a verb.

mod create;
mod list;
mod revoke;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Key {
    /// Make a key and show it, once
    Create(create::Create),
    /// List keys, never their text
    List(list::List),
    /// Make a key useless from now on
    Revoke(revoke::Revoke),
}

impl Key {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Revoke(command) => command.run().await,
        }
    }
}
