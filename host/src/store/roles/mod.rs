//! The store's roles: a trait and its implementation for each.

mod administration;
mod analytics;
mod deals;
mod feeds;
mod fleet;
mod intake;
mod messaging;

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

pub use self::administration::AdministrationStore;
pub use self::analytics::AnalyticsStore;
pub use self::deals::DealStore;
pub use self::feeds::FeedStore;
pub use self::fleet::FleetStore;
pub use self::intake::IntakeStore;
pub use self::messaging::MessagingStore;
use super::database::{self, Database};
use super::operations::probe;
use super::{Outage, PoolUsage, Store, StoreError, postgres, sqlite};
use crate::clock::SharedClock;

/// The store, backed by a database.
pub struct DatabaseStore {
    database: Database,
    clock: SharedClock,
    id: Uuid,
}

impl DatabaseStore {
    /// Creates the store on this database. `id` is the id of the store.
    pub(super) fn new(database: Database, clock: SharedClock, id: Uuid) -> Arc<Self> {
        Arc::new(Self {
            database,
            clock,
            id,
        })
    }

    /// Limits a SQLite file to this many pages, to simulate a full disk in tests. 0 removes the
    /// limit.
    pub async fn limit_pages(&self, pages: u32) {
        if let Database::Sqlite(db) = &self.database {
            db.limit_pages(pages).await;
        }
    }
}

#[async_trait]
impl Store for DatabaseStore {
    fn id(&self) -> Uuid {
        self.id
    }

    fn is_shared(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    fn outage(&self) -> Option<Outage> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(db) => db.health().outage(),
        }
    }

    async fn lost(&self) -> StoreError {
        match &self.database {
            Database::Sqlite(_) => std::future::pending().await,
            Database::Postgres(db) => db.health().lost().await,
        }
    }

    fn pool(&self) -> Option<PoolUsage> {
        match &self.database {
            Database::Sqlite(_) => None,
            Database::Postgres(db) => Some(db.use_of_pool()),
        }
    }

    async fn ping(&self) -> Result<(), StoreError> {
        probe::ping(&self.database).await
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        probe::try_write(&self.database, self.clock.now()).await
    }

    async fn note_newest(&self) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => sqlite::note_newest(db).await,
            Database::Postgres(db) => database::aside(db.health(), postgres::note_newest(db)).await,
        }
    }
}
