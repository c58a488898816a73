//! What the service remembers, behind one trait that has a few roles.
//!
//! The operations are the domain's, each atomic, shaped for batches: slices in,
//! vectors out, "not found" is `None`, `now` is an argument. What belongs to one
//! tenant is reached with a [`Scope`], which only a key that the store knows
//! gives. To add one: a method of a role (`roles`), its statements and steps in a
//! file of `operations`, in `row` what its rows mean, a clause in the conformance suite.
//!
//! Two promises hold for every store. A stamp (`cursor_at`) becomes visible in
//! stamp order within its workspace and entity, and never twice. What `commit`
//! answered `Ok` survives a power cut.

mod analytics;
mod catalogue;
mod database;
mod deals;
pub mod decide;
mod desk;
mod erase;
mod error;
mod fed;
mod fleet;
mod gone;
mod messaging;
mod migrations;
pub mod moving;
pub mod once;
mod operations;
mod parts;
mod plan;
mod plugin;
pub mod postgres;
mod read;
mod roles;
mod row;
#[doc(hidden)]
pub mod schema;
mod scope;
mod seen;
mod sql;
pub mod sqlite;
mod turns;
mod waiting;
mod work;
mod write;
pub mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use uuid::Uuid;

pub use analytics::*;
pub use catalogue::*;
pub use deals::*;
pub use desk::*;
pub use erase::*;
pub use error::{Cause, StoreError};
pub use fleet::{
    Announcement, Beat, Debt, Fence, HostReport, Outage, Pool, Preparation, Price, Proposal,
    SeenHost, Serves,
};
pub use messaging::*;
pub use plan::*;
pub use plugin::*;
pub use read::*;
pub use roles::*;
pub use scope::{Caller, Scope};
pub use turns::{InHand, Turns};
pub use work::*;
pub use write::*;

use self::seen::Seen;
use crate::clock::SharedClock;
use crate::config::{self, StoreUrl};
use crate::domain::time::Micros;
use crate::limits;

/// Where a store is.
#[derive(Clone)]
pub enum Location {
    /// A SQLite file, made if it does not exist.
    File(PathBuf),
    /// A PostgreSQL database, and how many connections to it a host may have.
    Postgres { url: StoreUrl, connections: u32 },
}

impl Location {
    /// What the configuration says.
    pub fn of(config: &config::Store) -> Result<Self, StoreError> {
        let url = config.url.as_str();
        if url.is_empty() {
            return Ok(Self::File(config.data_dir.join(DATABASE_FILE)));
        }
        Self::parse(&config.url, config.connections)
    }

    /// `sqlite:///path` or `postgres://user@host/database`.
    pub fn parse(url: &StoreUrl, connections: u32) -> Result<Self, StoreError> {
        match url.as_str().split_once("://") {
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::File(PathBuf::from(file))),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres {
                url: url.clone(),
                connections,
            }),
            _ => Err(StoreError::Open(format!(
                "store.url is `{url}`: expected sqlite:///path/to/file or postgres://user:password@host/database, or nothing for a file in the data folder"
            ))),
        }
    }
}

const DATABASE_FILE: &str = "leadhost.db";

/// Opens the store, of which nothing was seen before. The one place that knows
/// which stores there are.
pub async fn open(location: &Location, clock: SharedClock) -> Result<Arc<dyn Store>, StoreError> {
    open_seen(location, clock, Seen::nothing()).await
}

/// Opens the store and compares it with what was seen of it last, which lies in
/// this folder: after a restore or a fail-over writing begins later.
pub async fn open_remembered(
    location: &Location,
    clock: SharedClock,
    folder: &Path,
) -> Result<Arc<dyn Store>, StoreError> {
    open_seen(location, clock, Seen::in_folder(folder)?).await
}

async fn open_seen(
    location: &Location,
    clock: SharedClock,
    seen: Arc<Seen>,
) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        Location::File(file) => Ok(sqlite::open_seen(file, clock, seen).await?),
        Location::Postgres { url, connections } => {
            Ok(postgres::open_seen(url.as_str(), *connections, clock, seen).await?)
        }
    }
}

/// What a backup copied.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// The store's id.
    pub store: String,
    pub bytes: u64,
    /// How many there are of what people count.
    pub rows: Vec<(&'static str, u64)>,
    /// The newest stamp of any feed: exports up to it are in the copy.
    pub newest: Option<Micros>,
}

/// Copies a store of one file into a new file, whether it is served or not.
/// `progress` hears how many bytes of about how many are written.
pub async fn backup(
    file: &Path,
    to: &Path,
    progress: impl FnMut(u64, u64),
) -> Result<Backup, StoreError> {
    sqlite::backup::backup(file, to, progress).await
}

/// A store: all its roles, and what it says of itself. Who uses it is given an
/// `Arc<dyn Store>`.
///
/// # Errors
///
/// As [`Intake`]'s.
#[async_trait]
pub trait Store: Intake + Messaging + Deals + Feeds + Analytics + Administration + Fleet {
    /// Made once when the store is created, carried along when it moves: cursors name it.
    fn id(&self) -> Uuid;

    /// Whether other hosts may work on the same store.
    fn is_shared(&self) -> bool;

    /// Whether a read may see an older state than an earlier read did, as a
    /// replica's does. Where it may not, such a state was restored.
    fn may_lag(&self) -> bool {
        false
    }

    /// Writes of one connection in one commit while others write too.
    fn writes_of_one(&self) -> usize {
        if self.is_shared() {
            limits::WRITES_OF_ONE
        } else {
            limits::WRITES_OF_ONE_ALONE
        }
    }

    /// Set while the store is known not to answer.
    fn outage(&self) -> Option<Outage>;

    /// Returns when the store is known not to answer, with how an operation hears of it.
    async fn lost(&self) -> StoreError;

    /// Of a store that has connections.
    fn pool(&self) -> Option<Pool>;

    /// Answers when the store can be read.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Commits next to nothing: whether the store can be written to.
    async fn try_write(&self) -> Result<(), StoreError>;
}
