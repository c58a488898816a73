//! `leadhost delivery`: one file a verb.

mod list;
mod replay;
mod show;

use clap::Subcommand;

use super::failure::Failure;

#[derive(Subcommand)]
pub enum Delivery {
    /// List deliveries, newest first
    List(list::List),
    /// Show one delivery: what came, and what became of it
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

/// Query fields that have a value, as a query with its question mark.
fn query(fields: &[(&str, Option<String>)]) -> String {
    let given: Vec<String> = fields
        .iter()
        .filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("{name}={}", super::client::encoded(value)))
        })
        .collect();
    if given.is_empty() {
        String::new()
    } else {
        format!("?{}", given.join("&"))
    }
}
