//! The store, and its roles: a trait and its implementation for each.

mod administration;
mod analytics;
pub mod database_store;
mod deals;
mod feeds;
mod fleet;
mod intake;
mod messaging;

use async_trait::async_trait;
use uuid::Uuid;

pub use self::administration::AdministrationStore;
pub use self::analytics::AnalyticsStore;
use self::database_store::DatabaseStore;
pub use self::deals::DealStore;
pub use self::feeds::FeedStore;
pub use self::fleet::FleetStore;
pub use self::intake::IntakeStore;
pub use self::messaging::MessagingStore;
use super::database::{self, Database};
use super::operations::probe;
use super::{Outage, PoolUsage, StoreError, postgres, sqlite};
use leadhost_domain::limits;

/// A store: all its roles, and its own properties. It is shared as an `Arc<dyn Store>`.
///
/// # Errors
///
/// [`StoreError`], with the variants that [`IntakeStore`] names.
#[async_trait]
pub trait Store:
    IntakeStore
    + MessagingStore
    + DealStore
    + FeedStore
    + AnalyticsStore
    + AdministrationStore
    + FleetStore
{
    /// The store's id, assigned at its creation and kept when it moves. Cursors contain
    /// it.
    fn id(&self) -> Uuid;

    /// Returns whether other hosts may use the same store.
    fn is_shared(&self) -> bool;

    /// Returns whether a read may see an older state than an earlier read, as on a
    /// replica. If not, an older state means that the store was restored.
    fn may_lag(&self) -> bool {
        false
    }

    /// The maximum number of writes of one connection in a commit while others write too.
    fn writes_of_one(&self) -> usize {
        if self.is_shared() {
            limits::WRITES_OF_ONE
        } else {
            limits::WRITES_OF_ONE_ALONE
        }
    }

    /// The outage, while the store is known not to answer.
    fn outage(&self) -> Option<Outage>;

    /// Waits until the store is known not to answer, and returns the error that
    /// operations get.
    async fn lost(&self) -> StoreError;

    /// The state of the pool, if the store has connections.
    fn pool(&self) -> Option<PoolUsage>;

    /// Checks that the store can be read.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Commits a minimal write, to check that the store can be written to.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if there is no space to write, and [`StoreError`] if the database
    /// fails.
    async fn try_write(&self) -> Result<(), StoreError>;

    /// Records in the data folder how far the store is, as it is recorded from time to time, so
    /// that a restore of an older copy is noticed at the next start.
    async fn note_newest(&self) -> Result<(), StoreError>;
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
