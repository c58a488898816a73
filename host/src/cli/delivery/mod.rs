//! `leadhost delivery`: one file per subcommand.

mod list;
mod replay;
mod show;

use clap::Subcommand;

use super::client::query;
use super::failure::Failure;
use crate::admin_api::deliveries::DeliveryFacts;

#[derive(Subcommand)]
pub enum Delivery {
    /// List deliveries, newest first
    List(list::List),
    /// Show one delivery: its request and its results
    Show(show::Show),
    /// Convert deliveries again, one or many
    Replay(replay::Replay),
}

impl Delivery {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Replay(command) => command.run().await,
        }
    }
}

/// Returns the sender: a connection, or an instance's provider.
fn origin(delivery: &DeliveryFacts) -> String {
    match delivery.instance_id {
        None => delivery.connection.clone(),
        Some(instance) => format!("{} (instance {instance})", delivery.connection),
    }
}
