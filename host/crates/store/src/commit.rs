//! Commits a batch of writes on either database.

use std::sync::Arc;

use super::database::{Database, looked_into};
use super::sql::steps;
use super::sqlite::threads::{End, ending};
use super::{Batch, StoreError, WriteOutcome, decide, operations, postgres};
use leadhost_domain::clock::SharedClock;

/// Commits a batch, completely or not at all.
///
/// # Errors
///
/// [`StoreError`] as for [`Database::write`], and `Contended` if other transactions changed the same rows on
/// every attempt.
pub async fn commit(
    database: &Database,
    clock: &SharedClock,
    batch: Batch,
) -> Result<Vec<WriteOutcome>, StoreError> {
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    match database {
        Database::Sqlite(db) => {
            let clock = Arc::clone(clock);
            db.write(ending(
                steps!(|tx| {
                    let read_set = decide::read_set(&batch, |_| None);
                    operations::batch::run(tx, clock.as_ref(), &batch, read_set).await
                }),
                End::Commit,
            ))
            .await
        }
        Database::Postgres(db) => {
            // A batch has its own deadline, so that its commit status is looked up even
            // if the database is lost. It does not count as an operation.
            db.health().is_there()?;
            let commit = postgres::commit(db, clock.as_ref(), &batch);
            looked_into(db.health(), commit.await)
        }
    }
}
