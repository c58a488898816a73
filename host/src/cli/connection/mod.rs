//! `leadhost connection`: one file a verb.

mod list;
mod pause;
mod resume;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Connection {
    /// List connections and the addresses that sources post to
    List(list::List),
    /// Stop its fetches; what comes in is still accepted and waits
    Pause(pause::Pause),
    /// Let its fetches go on
    Resume(resume::Resume),
}

impl Connection {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Pause(command) => command.run().await,
            Self::Resume(command) => command.run().await,
        }
    }
}
