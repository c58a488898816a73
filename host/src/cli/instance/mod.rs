//! `leadhost instance`: one file per subcommand.

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
    /// Pause the sending of an instance; messages are still accepted and wait
    Pause(pause::Pause),
    /// Resume the sending of an instance
    Resume(resume::Resume),
    /// Fetch the templates of an instance from its provider now
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
