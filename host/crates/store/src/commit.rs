//! Commits a batch of writes on either database.

use std::sync::Arc;

use super::database::{Database, looked_into};
use super::sql::steps;
use super::sqlite::threads::{End, ending};
use super::{Batch, Store, StoreError, Write, WriteOutcome, decide, operations, postgres};

#[leadhost_boxed::boxed]
impl Store {
    /// Commits all writes together, in order, or none. Returns the answers in the order of the
    /// writes. A settlement whose lease is no longer held returns [`WriteOutcome::Stale`] and changes
    /// nothing. A delivery for a full quarantine evicts others, or returns [`WriteOutcome::NotKept`].
    /// Fails with [`StoreError::Contended`] if other transactions changed the same rows on every
    /// attempt. After [`StoreError::Unavailable`] the batch may have been committed, if the answer to
    /// the commit was lost.
    pub async fn commit_batch(&self, batch: Batch) -> Result<Vec<WriteOutcome>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        match &self.database {
            Database::Sqlite(db) => {
                let clock = Arc::clone(&self.clock);
                let (steps, outcomes) = ending(
                    steps!(|tx| {
                        let read_set = decide::read_set(&batch, |_| None);
                        operations::batch::run(tx, clock.as_ref(), &batch, read_set).await
                    }),
                    End::Commit,
                );
                db.write(steps).await?;
                outcomes.take()
            }
            Database::Postgres(db) => {
                // A batch has its own deadline, so that its commit status is looked up even
                // if the database is lost. It does not count as an operation.
                db.health().is_there()?;
                let commit = postgres::commit(db, self.clock.as_ref(), &batch);
                looked_into(db.health(), commit.await)
            }
        }
    }

    /// Commits a few writes, which are copied.
    pub async fn commit(&self, writes: &[Write]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.commit_batch(Batch::from(writes.to_vec())).await
    }
}
