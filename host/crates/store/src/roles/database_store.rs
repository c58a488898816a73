//! The store, backed by a database.

use std::sync::Arc;

use uuid::Uuid;

use super::super::database::Database;
use leadhost_domain::clock::SharedClock;

/// The store, backed by a database.
pub struct DatabaseStore {
    pub database: Database,
    pub clock: SharedClock,
    pub id: Uuid,
}

impl DatabaseStore {
    /// Creates the store on this database. `id` is the id of the store.
    pub fn new(database: Database, clock: SharedClock, id: Uuid) -> Arc<Self> {
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
