//! What the commands that ask a running service have in common: the flags that reach it, and the choice of a
//! command of a group.

use clap::Args;

use super::client::{AdminClient, ServiceAddress};
use super::prelude::CommandResult;

/// A command that asks a running service.
pub trait ServiceCommand: Args {
    async fn run(self, client: AdminClient) -> CommandResult;
}

// A command with the flags that reach the service.
#[derive(Args)]
pub struct Asked<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    service: ServiceAddress,
}

impl<C: ServiceCommand> Asked<C> {
    pub async fn run(self) -> CommandResult {
        let client = self.service.client()?;
        Box::pin(self.command.run(client)).await
    }
}

/// Declares a group of commands that ask the service.
macro_rules! verbs {
    ($(#[$about:meta])* $visible:vis enum $group:ident {
        $($(#[$help:meta])* $verb:ident($command:ty),)+
    }) => {
        $(#[$about])*
        #[derive(clap::Subcommand)]
        $visible enum $group {
            $($(#[$help])* $verb($crate::cli::verbs::Asked<$command>),)+
        }

        impl $group {
            pub async fn run(self) -> $crate::cli::prelude::CommandResult {
                match self {
                    $(Self::$verb(command) => command.run().await,)+
                }
            }
        }
    };
}

pub(crate) use verbs;
