//! The store: its database, and its own properties.

use super::database::{self, Database};
use super::{Outage, PoolUsage, postgres, sqlite};
use crate::prelude::*;
use leadhost_domain::backlog::LogUsage;
use leadhost_domain::clock::SharedClock;

/// A store. Its operations stand beside their statements, in `operations/`.
///
/// [`StoreError::Full`], [`StoreError::Unavailable`], [`StoreError::Lost`], [`StoreError::Busy`]
/// and [`StoreError::Contended`] mean that nothing was done and a retry may succeed.
/// [`StoreError::Refused`] means that a request contradicts the stored data; its text is for the operator.
/// [`StoreError::Inconsistent`] and [`StoreError::Query`] are defects.
pub struct Store {
    pub(crate) database: Database,
    pub(crate) clock: SharedClock,
    id: Uuid,
}

#[leadhost_boxed::boxed]
impl Store {
    pub(crate) fn new(database: Database, clock: SharedClock, id: Uuid) -> Arc<Self> {
        Arc::new(Self {
            database,
            clock,
            id,
        })
    }

    /// The store's id, assigned at its creation and kept when it moves. Cursors contain
    /// it.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Returns whether other hosts may use the same store.
    pub fn is_shared(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    /// The maximum number of writes of one connection in a commit while others write too.
    pub fn writes_of_one(&self) -> usize {
        if self.is_shared() {
            limits::WRITES_OF_ONE
        } else {
            limits::WRITES_OF_ONE_ALONE
        }
    }

    /// The outage, while the store is known not to answer.
    pub fn outage(&self) -> Option<Outage> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(db) => db.health().outage(),
        }
    }

    /// Waits until the store is known not to answer, and returns the error that
    /// operations get.
    pub async fn lost(&self) -> StoreError {
        match &self.database {
            Database::Sqlite(_) => std::future::pending().await,
            Database::Postgres(db) => db.health().lost().await,
        }
    }

    /// The state of the pool, if the store has connections.
    pub fn pool(&self) -> Option<PoolUsage> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(db) => Some(db.use_of_pool()),
        }
    }

    /// The size of the write-ahead log, if the store is a file.
    pub fn log(&self) -> Option<LogUsage> {
        match &self.database {
            Database::Sqlite(db) => Some(db.log()),
            Database::Postgres(_) => None,
        }
    }

    /// Records in the data folder how far the store is, as it is recorded from time to time, so
    /// that a restore of an older copy is noticed at the next start.
    pub async fn note_newest(&self) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => sqlite::note_newest(db).await,
            Database::Postgres(db) => database::aside(db.health(), postgres::note_newest(db)).await,
        }
    }

    /// Limits a SQLite file to this many pages, to simulate a full disk in tests. 0 removes the
    /// limit.
    pub async fn limit_pages(&self, pages: u32) {
        if let Database::Sqlite(db) = &self.database {
            db.limit_pages(pages).await;
        }
    }
}
