//! `leadhost etl`: one file a verb.

mod rebuild;
mod run;
mod status;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Etl {
    /// Show how far each metric set is counted, what is behind and what is being made
    Status(status::Status),
    /// Count now, and wait until everything committed before is counted
    Run(run::Run),
    /// Count anew from the beginning, beside what serves
    Rebuild(rebuild::Rebuild),
}

impl Etl {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Status(command) => command.run().await,
            Self::Run(command) => command.run().await,
            Self::Rebuild(command) => command.run().await,
        }
    }
}
