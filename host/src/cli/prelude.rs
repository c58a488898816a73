//! What most commands use.

pub use clap::{Args, Subcommand};
pub use serde_json::{Value, json};

pub use super::client::{AdminClient, ServiceAddress, block_on, encoded, query};
pub use super::command::ServiceFlags;
pub use super::failure::CommandFailure;
pub use super::output::{complain, count, say, say_json};
pub use super::progress::ProgressLine;
pub use super::table::{optional, safe, say_facts, say_more_rows, say_rows, seconds, table};
pub use leadhost_domain::limits;
pub use leadhost_domain::text::quoted;

pub type CommandResult<T = ()> = Result<T, CommandFailure>;
