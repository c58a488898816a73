//! The persistent state of the service.
//!
//! The operations speak the language of the domain. Each is atomic and shaped for batches: it
//! takes slices and returns vectors, "not found" is `None`, and `now` is an argument. The data
//! of a tenant can only be reached with a [`Scope`], which the store gives for a known key. To
//! add an operation, add a method of [`Store`] beside its statements in a file of
//! `operations`, and a clause to the conformance suite.
//!
//! Every store makes two promises. Stamps (`cursor_at`) become visible in their order
//! within a workspace and entity, and no stamp is used twice. A commit that returned `Ok`
//! survives a power cut.
//!
//! # Order of files
//!
//! Read `store.rs` first: `Store`, whose methods the service calls. Then follow a write or a read down to
//! the database.
//!
//! - What the operations take and return, by area: `scope.rs` (the rights of a key), `write.rs`,
//!   `read.rs`, `work.rs` and `lease.rs` (claimed work), `deals.rs`, `messaging.rs`, `desk.rs`,
//!   `catalogue.rs` (products), `plan.rs` (a declared workspace), `plugin.rs`, `repairs.rs`,
//!   `erase.rs`, `audit.rs`, `analytics.rs`, `fleet.rs`, `examination.rs`, `error.rs`.
//! - A write: `writer.rs` is the group commit and `write_queue.rs` decides whose turn it is;
//!   `parts.rs` divides large conversions. `commit.rs` commits a batch. `operations/` has the
//!   statements and steps, and its `batch/` loads, decides and saves. `decide/` makes the decisions in memory; `change.rs` marks the
//!   changed rows, and `tombstones.rs` stamps the removed ones.
//! - A read: `operations/`; `singleflight.rs` coalesces identical reads. `claim_turns.rs` chooses the
//!   next work.
//! - Rows: `schema/` describes every table with the record of its rows, `fed/` the rows of feeds, `row/` reads columns.
//! - SQL: `sql/` is the layer for both databases, `database.rs` runs an operation on one of them, and
//!   `migrations.rs` lists the files that create the tables.
//! - Each database: `sqlite/` and `postgres/`. `lock_file.rs` keeps a second process away, and
//!   `high_water_mark.rs` recognises a restored store. `moving/` copies a file into a database.

mod analytics;
mod audit;
mod catalogue;
mod change;
mod claim_turns;
mod commit;
mod database;
mod deals;
pub mod decide;
mod desk;
mod erase;
mod error;
mod examination;
mod fed;
mod fleet;
mod high_water_mark;
mod lease;
mod lock_file;
mod messaging;
mod migrations;
pub mod moving;
mod operations;
mod parts;
mod plan;
mod plugin;
pub mod postgres;
mod prelude;
mod read;
mod repairs;
mod row;
#[doc(hidden)]
pub mod schema;
mod scope;
pub mod singleflight;
mod sql;
mod sqlite;
mod store;
mod tombstones;
mod work;
mod write;
mod write_queue;
pub mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use analytics::*;
pub use audit::{AuditExtent, AuditFilter};
pub use catalogue::*;
pub use claim_turns::{ClaimTurns, InHand};
pub use deals::*;
pub use desk::*;
pub use erase::*;
pub use error::{StoreError, StoreErrorCause};
pub use examination::Examination;
pub use fleet::{
    Announcement, Beat, Debt, Fence, HostReport, Outage, PoolUsage, Preparation, Price, Proposal,
    SeenHost, Serves,
};
pub use lease::Lease;
pub use messaging::*;
pub use plan::*;
pub use plugin::*;
pub use read::*;
pub use repairs::*;
pub use scope::{Caller, Scope};
pub use sqlite::backup::BackupSummary;
pub use store::Store;
pub use work::*;
pub use write::*;

use self::database::Database;
use self::high_water_mark::HighWaterMark;
use leadhost_config::{self as config, StoreUrl};
use leadhost_domain::clock::SharedClock;

#[derive(Clone)]
pub enum StoreLocation {
    /// A SQLite file, created if it does not exist.
    File(PathBuf),
    /// A PostgreSQL database, and the maximum number of connections that a host opens to
    /// it.
    Postgres { url: StoreUrl, connections: u32 },
}

impl StoreLocation {
    pub fn from_config(config: &config::StoreSection) -> Result<Self, StoreError> {
        let url = config.url.as_str();
        if url.is_empty() {
            return Ok(Self::File(config.data_dir.join(DATABASE_FILE)));
        }
        Self::parse(&config.url, config.connections)
    }

    /// Parses `sqlite:///path` or `postgres://user@host/database`.
    pub fn parse(url: &StoreUrl, connections: u32) -> Result<Self, StoreError> {
        match url.as_str().split_once("://") {
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::File(PathBuf::from(file))),
            Some(("postgres" | "postgresql", _)) => {
                postgres::read_url(url.as_str())?;
                Ok(Self::Postgres {
                    url: url.clone(),
                    connections,
                })
            }
            _ => Err(StoreError::Open(format!(
                "store.url is `{url}`: expected sqlite:///path/to/file or postgres://user:password@host/database, or an empty value for a file in the data folder"
            ))),
        }
    }
}

const DATABASE_FILE: &str = "leadhost.db";

/// Opens the store without a record of its earlier state. Only this module knows which
/// kinds of store exist.
pub async fn open(location: &StoreLocation, clock: SharedClock) -> Result<Arc<Store>, StoreError> {
    open_with(location, clock, None).await
}

/// Opens the store and compares it with the high-water mark of its last known state in this
/// folder. After a restore or a failover, writing begins later. Beside a file, a reserve keeps room on the disk.
pub async fn open_remembered(
    location: &StoreLocation,
    clock: SharedClock,
    folder: &Path,
) -> Result<Arc<Store>, StoreError> {
    open_with(location, clock, Some(folder)).await
}

async fn open_with(
    location: &StoreLocation,
    clock: SharedClock,
    remembered_in: Option<&Path>,
) -> Result<Arc<Store>, StoreError> {
    let high_water_mark = match remembered_in {
        Some(folder) => HighWaterMark::in_folder(folder)?,
        None => HighWaterMark::in_memory(),
    };
    let (database, id) = match location {
        StoreLocation::File(file) => {
            let (db, id) =
                sqlite::open(file, &clock, high_water_mark, remembered_in.is_some()).await?;
            (Database::Sqlite(db), id)
        }
        StoreLocation::Postgres { url, connections } => {
            let opened = postgres::open(url.as_str(), *connections, &clock, high_water_mark);
            let (db, id) = opened.await?;
            (Database::Postgres(db), id)
        }
    };
    Ok(Store::new(database, clock, id))
}

/// Opens the store in this SQLite file, and creates it if it does not exist. The log and a
/// lock file, which keeps other processes out, lie beside it.
pub async fn open_sqlite(path: &Path, clock: SharedClock) -> Result<Arc<Store>, StoreError> {
    let (db, id) = sqlite::open(path, &clock, HighWaterMark::in_memory(), false).await?;
    Ok(Store::new(Database::Sqlite(db), clock, id))
}

/// Opens the store in the PostgreSQL database of this URL, and creates what is missing there.
/// Uses at most this many connections.
pub async fn open_postgres(
    url: &str,
    connections: u32,
    clock: SharedClock,
) -> Result<Arc<Store>, StoreError> {
    let (db, id) = postgres::open(url, connections, &clock, HighWaterMark::in_memory()).await?;
    Ok(Store::new(Database::Postgres(db), clock, id))
}

/// Locks the data folder of a service for as long as the returned file is open. `None` if
/// the store in the folder has the same lock, which is taken when it is opened.
pub fn lock_folder(folder: &Path, location: &StoreLocation) -> Result<Option<File>, StoreError> {
    let path = lock_file::beside(&folder.join(DATABASE_FILE));
    if let StoreLocation::File(file) = location
        && lock_file::is_same(&lock_file::beside(file), &path)
    {
        return Ok(None);
    }
    let what = format!("the data folder {}", folder.display());
    lock_file::hold(&path, what).map(Some)
}

/// Returns whether a service holds the lock of this data folder.
pub fn is_folder_locked(folder: &Path) -> bool {
    let lock = File::open(lock_file::beside(&folder.join(DATABASE_FILE)));
    lock.is_ok_and(|lock| lock.try_lock_shared().is_err())
}

/// Copies a store of one file into a new file, whether a service is running on it or not.
/// `progress` receives the bytes written and the approximate total.
pub async fn backup(
    file: &Path,
    to: &Path,
    progress: impl FnMut(u64, u64),
) -> Result<BackupSummary, StoreError> {
    sqlite::backup::backup(file, to, progress).await
}

/// Looks at a store without changing it, whether a service is running on it or not. `None` if it is a
/// file that does not exist yet.
pub async fn examine(location: &StoreLocation) -> Result<Option<Examination>, StoreError> {
    match location {
        StoreLocation::File(file) => sqlite::examine::examine(file).await,
        StoreLocation::Postgres { url, .. } => {
            postgres::examine::examine(url.as_str()).await.map(Some)
        }
    }
}
