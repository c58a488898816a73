//! What most commands use.

pub use std::collections::BTreeMap;
pub use std::path::{Path, PathBuf};
pub use std::sync::Arc;
pub use std::time::Duration;

pub use clap::{Args, Subcommand};
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Value, json};

pub use super::client::{
    AdminAnswer, AdminClient, ServiceAddress, block_on, encoded, query, query_of,
};
pub use super::command::ServiceFlags;
pub use super::failure::CommandFailure;
pub(crate) use super::lines::{complain, complain_line, failed, failed_line, say, say_line};
pub use super::output::{complain, count, say, say_json};
pub use super::progress::ProgressLine;
pub use super::table::{optional, safe, say_facts, say_more_rows, say_rows, seconds, table};
pub(crate) use super::verbs::{ServiceCommand, verbs};
pub use leadhost_config::Config;
pub use leadhost_domain::clock::SystemClock;
pub use leadhost_domain::limits;
pub use leadhost_domain::plugin::{Digest, PluginKind};
pub use leadhost_domain::size;
pub use leadhost_domain::text::quoted;
pub use leadhost_domain::time::Micros;

pub type CommandResult<T = ()> = Result<T, CommandFailure>;
