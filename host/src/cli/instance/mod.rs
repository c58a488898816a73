//! `leadhost instance`: one file a verb.

mod list;
mod pause;
mod resume;
mod show;
mod sync_templates;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Instance {
    /// List instances, their channels and the addresses that providers post to
    List(list::List),
    /// Show one instance with its templates
    Show(show::Show),
    /// Stop its sending; what is to be sent is accepted and waits
    Pause(pause::Pause),
    /// Let its messages go out again
    Resume(resume::Resume),
    /// Ask its provider for its templates now
    SyncTemplates(sync_templates::SyncTemplates),
}

impl Instance {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Pause(command) => command.run().await,
            Self::Resume(command) => command.run().await,
            Self::SyncTemplates(command) => command.run().await,
        }
    }
}
