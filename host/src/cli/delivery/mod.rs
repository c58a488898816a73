//! `leadhost delivery`: one file per subcommand.

mod list;
mod replay;
mod show;

use clap::Subcommand;
use serde_json::Value;

use super::client::query;
use super::failure::Failure;
use super::table::cell;

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
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Replay(command) => command.run().await,
        }
    }
}

/// Returns the sender: a connection, or an instance's provider.
fn origin(delivery: &Value) -> String {
    let name = cell(&delivery["connection"]);
    if delivery["instanceId"].is_null() {
        name
    } else {
        format!("{name} (instance {})", cell(&delivery["instanceId"]))
    }
}
