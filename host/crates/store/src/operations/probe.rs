//! Checks that the store can be read and written to.

use crate::StoreError;
use crate::database::Database;
use crate::row::RowColumns as _;
use crate::sql::{Sql, args, sql, steps};
use leadhost_domain::id::uuid_at;
use leadhost_domain::time::Micros;

static PING: Sql = sql("
select count(*) as stores from store");

/// Succeeds if the store can be read.
pub async fn ping(database: &Database) -> Result<(), StoreError> {
    database
        .aside(steps!(|tx| {
            let _: i64 = tx.only(&PING, &[], |row| row.number("stores")).await?;
            Ok(())
        }))
        .await
}

// On SQLite, skips a lease number, because unchanged pages are not written. On PostgreSQL, inserts
// a marker that belongs to no batch; markers are swept.
static TRY_WRITE: Sql = sql("
update store set last_lease = last_lease + 1         -- sqlite
insert into commit_markers (batch_id) values (:mark) -- postgres
");

/// Commits a minimal write.
///
/// # Errors
///
/// [`StoreError::Full`] if there is no space to write, and [`StoreError`] if the database
/// fails.
pub async fn try_write(database: &Database, now: Micros) -> Result<(), StoreError> {
    let mark = uuid_at(now);
    database
        .write_aside(steps!(|tx| {
            tx.run(&TRY_WRITE, &args! { mark }).await?;
            Ok(())
        }))
        .await
}

pub const SQL: &[&Sql] = &[&PING, &TRY_WRITE];
