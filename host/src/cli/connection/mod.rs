//! `leadhost connection`: one file per subcommand.

mod list;
mod pause;
mod resume;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Connection {
    /// List connections and the addresses that sources post to
    List(list::List),
    /// Pause the fetches of a connection; deliveries are still accepted and wait
    Pause(pause::Pause),
    /// Resume the fetches of a connection
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
