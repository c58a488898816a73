//! Where operations run: on the threads of a SQLite file, or on connections to a
//! PostgreSQL database. It decides whether a write may begin yet, gives every operation
//! on PostgreSQL its deadline, and refuses at once what a lost database cannot answer.

use std::sync::Arc;
use std::time::Duration;

use super::postgres::Rows;
use super::postgres::reach::Reach;
use super::sql::{Tx, steps};
use super::sqlite::threads::{End, Length, Steps, ending};
use super::{Batch, StoreError, Written, decide, operations, postgres, sqlite};
use crate::clock::SharedClock;
use crate::limits;

/// A store's database.
#[derive(Clone)]
pub enum Database {
    Sqlite(Arc<sqlite::Db>),
    Postgres(Arc<postgres::Db>),
}

impl Database {
    /// Reads in one snapshot what the rows of these workspaces say: few of them, which
    /// an index leads to.
    pub async fn read<T, F>(&self, rows: Rows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        self.read_for(Length::Short, rows, steps).await
    }

    /// The same where many rows are read: it holds up no short read.
    pub async fn read_many<T, F>(&self, rows: Rows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        self.read_for(Length::Long, rows, steps).await
    }

    async fn read_for<T, F>(
        &self,
        length: Length,
        rows: Rows<'_>,
        steps: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.read(length, steps).await,
            Self::Postgres(db) => {
                within(db.reach(), async {
                    // No tenant's rows, and one statement: a transaction says nothing more.
                    if matches!(rows, Rows::Exempt) {
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

    /// Reads what keeps a host among the others: it does not wait behind requests.
    pub async fn aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.read(Length::Short, steps).await,
            Self::Postgres(db) => {
                aside(db.reach(), async {
                    steps(&mut Tx::Postgres(db.alone_aside().await?)).await
                })
                .await
            }
        }
    }

    /// Writes in a transaction that sees the rows of these workspaces. An error undoes it.
    pub async fn write<T, F>(&self, rows: Rows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        self.write_or_undo(rows, ending(steps, End::Commit)).await
    }

    /// The same where the operation says itself whether it is kept.
    pub async fn write_or_undo<T, F>(&self, rows: Rows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, (T, End)> + Send + 'static,
    {
        match self {
            Self::Sqlite(db) => db.write(steps).await,
            Self::Postgres(db) => {
                within(db.reach(), async {
                    let mut tx = Tx::Postgres(db.begin(rows).await?);
                    let (value, how) = steps(&mut tx).await?;
                    end(tx, how).await?;
                    Ok(value)
                })
                .await
            }
        }
    }

    /// Commits a batch: all of it, or nothing.
    pub async fn commit(
        &self,
        clock: &SharedClock,
        batch: Batch,
    ) -> Result<Vec<Written>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        match self {
            Self::Sqlite(db) => {
                let clock = Arc::clone(clock);
                db.write(ending(
                    steps!(|tx| {
                        let needs = decide::needs(&batch, |_| None);
                        operations::batch::run(tx, clock.as_ref(), &batch, needs).await
                    }),
                    End::Commit,
                ))
                .await
            }
            Self::Postgres(db) => {
                // It minds its time itself, so that its outcome is found out also when
                // the database is lost, and is not counted: those who wait for it are.
                db.reach().is_there()?;
                let commit = postgres::commit(db, clock.as_ref(), &batch);
                looked_into(db.reach(), commit.await)
            }
        }
    }

    /// After what was removed has been overwritten: forgets what a log beside the file
    /// holds of it still.
    pub async fn empty_log(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(db) => sqlite::empty_log(db).await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Writes by one statement what tells that the store can be written to: it does not
    /// wait behind requests.
    pub async fn write_aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(_) => self.write(Rows::Exempt, steps).await,
            Self::Postgres(db) => {
                aside(db.reach(), async {
                    steps(&mut Tx::Postgres(db.alone_aside().await?)).await
                })
                .await
            }
        }
    }

    /// Writes by one statement to what belongs to no tenant.
    pub async fn write_alone<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        match self {
            Self::Sqlite(_) => self.write(Rows::Exempt, steps).await,
            Self::Postgres(db) => {
                within(db.reach(), async {
                    steps(&mut Tx::Postgres(db.alone().await?)).await
                })
                .await
            }
        }
    }
}

async fn end(tx: Tx, how: End) -> Result<(), StoreError> {
    match (tx, how) {
        (Tx::Postgres(transaction), End::Commit) => transaction.commit().await,
        (Tx::Postgres(transaction), End::Undo) => transaction.rollback().await,
        (Tx::Sqlite(_), _) => Err(StoreError::Inconsistent {
            what: "a connection of another database".to_owned(),
        }),
    }
}

/// An operation that is refused at once while the database is lost, and given up when
/// it gets lost or takes too long: its connection goes with it.
pub async fn within<T>(
    reach: &Reach,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let _asking = reach.enter()?;
    tokio::select! {
        biased;
        result = in_time(operation) => looked_into(reach, result),
        lost = reach.lost() => Err(lost),
    }
}

/// The same for what tells that this host lives, however many operations are under way.
pub async fn aside<T>(
    reach: &Reach,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        lost = reach.lost() => Err(lost),
        result = in_time(operation) => looked_into(reach, result),
    }
}

/// A failure that the database's end would explain is looked into at once.
pub fn looked_into<T>(reach: &Reach, result: Result<T, StoreError>) -> Result<T, StoreError> {
    if matches!(result, Err(StoreError::Unavailable(_))) {
        reach.doubt();
    }
    result
}

async fn in_time<T>(
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let time = Duration::from_secs(limits::STORE_SECONDS);
    match tokio::time::timeout(time, operation).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::from(sqlx::Error::Io(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            format!("the database did not answer within {} s", time.as_secs()),
        )))),
    }
}
