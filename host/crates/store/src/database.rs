//! Runs operations on the threads of a SQLite file or on connections to a PostgreSQL
//! database. It decides whether a write may begin yet, gives every operation on PostgreSQL
//! its deadline, and refuses operations at once while the database is lost.

use std::sync::Arc;

use super::StoreError;
use super::postgres::db::{Db as PostgresDb, VisibleRows};
use super::postgres::health::Health;
use super::sql::Tx;
use super::sqlite::checkpoint::empty_log;
use super::sqlite::db::Db as SqliteDb;
use super::sqlite::threads::{End, JobLength, TxSteps, ending};
use leadhost_domain::limits;

/// A store's database.
#[derive(Clone)]
pub enum Database {
    Sqlite(Arc<SqliteDb>),
    Postgres(Arc<PostgresDb>),
}

impl Database {
    /// Reads rows of these workspaces in one snapshot. For few rows that an index leads to.
    pub async fn read<T, F>(&self, rows: VisibleRows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        self.read_for(JobLength::Short, rows, steps).await
    }

    /// Like [`Self::read`], but for many rows: it does not hold up short reads.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::read`].
    pub async fn read_many<T, F>(&self, rows: VisibleRows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        self.read_for(JobLength::Long, rows, steps).await
    }

    async fn read_for<T, F>(
        &self,
        length: JobLength,
        rows: VisibleRows<'_>,
        steps: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.read(length, steps).await,
            Self::Postgres(db) => {
                within(db.health(), async {
                    // One statement that reads no tenant's rows needs no transaction.
                    if matches!(rows, VisibleRows::Exempt) {
                        return steps(&mut Tx::Postgres(db.alone().await?)).await;
                    }
                    let mut tx = Tx::Postgres(db.snapshot(rows).await?);
                    let read = steps(&mut tx).await?;
                    end(tx, End::Undo).await?;
                    Ok(read)
                })
                .await
            }
        }
    }

    /// Reads what keeps a host in the fleet. It does not wait behind requests.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::read`].
    pub async fn aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.read(JobLength::Short, steps).await,
            Self::Postgres(db) => {
                aside(db.health(), async {
                    steps(&mut Tx::Postgres(db.alone_aside().await?)).await
                })
                .await
            }
        }
    }

    /// Writes in a transaction that sees the rows of these workspaces. An error rolls it
    /// back.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::read`], and `Full` if there is no space to write.
    pub async fn write<T, F>(&self, rows: VisibleRows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        self.write_or_undo(rows, ending(steps, End::Commit)).await
    }

    /// Like [`Self::write`], but the operation decides whether to commit or to roll back.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::write`].
    pub async fn write_or_undo<T, F>(
        &self,
        rows: VisibleRows<'_>,
        steps: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, (T, End)> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.write(steps).await,
            Self::Postgres(db) => {
                within(db.health(), async {
                    run(Tx::Postgres(db.begin(rows).await?), steps).await
                })
                .await
            }
        }
    }

    /// Writes what keeps the hosts of a shared store together, like [`Self::write_or_undo`], but not behind
    /// requests.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::write`], but never `Busy` on PostgreSQL.
    pub async fn write_or_undo_aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, (T, End)> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.write(steps).await,
            Self::Postgres(db) => {
                aside(db.health(), async {
                    run(Tx::Postgres(db.begin(VisibleRows::Exempt).await?), steps).await
                })
                .await
            }
        }
    }

    /// After removed data has been overwritten: empties the log beside the file, which may
    /// still hold that data. A no-op for PostgreSQL.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::write`].
    pub async fn empty_log(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(db) => empty_log(db).await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Writes, by one statement, a row that shows that the store can be written to. It does
    /// not wait behind requests.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::write`].
    pub async fn write_aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(_) => self.write(VisibleRows::Exempt, steps).await,
            Self::Postgres(db) => {
                aside(db.health(), async {
                    steps(&mut Tx::Postgres(db.alone_aside().await?)).await
                })
                .await
            }
        }
    }

    /// Writes, by one statement, rows that belong to no tenant.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::write`].
    pub async fn write_alone<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(_) => self.write(VisibleRows::Exempt, steps).await,
            Self::Postgres(db) => {
                within(db.health(), async {
                    steps(&mut Tx::Postgres(db.alone().await?)).await
                })
                .await
            }
        }
    }
}

/// Runs the steps in this transaction, and ends it as they decide.
async fn run<T, F>(mut tx: Tx, steps: F) -> Result<T, StoreError>
where
    F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, (T, End)>,
{
    let (value, how) = steps(&mut tx).await?;
    end(tx, how).await?;
    Ok(value)
}

async fn end(tx: Tx, how: End) -> Result<(), StoreError> {
    match (tx, how) {
        (Tx::Postgres(transaction), End::Commit) => transaction.commit().await,
        (Tx::Postgres(transaction), End::Undo) => transaction.rollback().await,
        (Tx::Sqlite(_), _) => Err(StoreError::Inconsistent {
            what: "the connection is to another kind of database".to_owned(),
        }),
    }
}

/// Runs an operation that is refused at once while the database is lost, and that is given
/// up, together with its connection, if the database gets lost or the operation takes too
/// long.
pub async fn within<T>(
    health: &Health,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let _permit = health.enter()?;
    tokio::select! {
        biased;
        result = in_time(operation) => looked_into(health, result),
        lost = health.lost() => Err(lost),
    }
}

/// Like [`within`], but for operations that show that this host is alive: they run however
/// many other operations are under way.
///
/// # Errors
///
/// [`StoreError`] as for [`within`], but never `Busy`: nothing waits in a queue here.
pub async fn aside<T>(
    health: &Health,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        lost = health.lost() => Err(lost),
        result = in_time(operation) => looked_into(health, result),
    }
}

/// Passes the result on. After a failure that an outage would explain, the database is
/// checked at once.
pub fn looked_into<T>(health: &Health, result: Result<T, StoreError>) -> Result<T, StoreError> {
    if matches!(result, Err(StoreError::Unavailable(_))) {
        health.doubt();
    }
    result
}

async fn in_time<T>(
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let time = limits::STORE_DEADLINE;
    match tokio::time::timeout(time, operation).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::from(sqlx::Error::Io(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            format!("the database did not answer within {} s", time.as_secs()),
        )))),
    }
}
