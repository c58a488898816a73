//! Runs operations on the threads of a SQLite file or on connections to a PostgreSQL
//! database. It decides whether a write may begin yet, gives every operation on PostgreSQL
//! its deadline, and refuses operations at once while the database is lost.

use std::pin::Pin;

use super::postgres::db::Transaction as PostgresTransaction;
use super::postgres::db::{Db as PostgresDb, VisibleRows};
use super::postgres::health::Health;
use super::sql::{Arg, Sql, owned, steps};
use super::sqlite::checkpoint::empty_log;
use super::sqlite::db::Db as SqliteDb;
use super::sqlite::threads::{End, JobLength, Kept, Steps, TxSteps, deciding, ending};
use crate::prelude::*;

#[derive(Clone)]
pub enum Database {
    Sqlite(Arc<SqliteDb>),
    Postgres(Arc<PostgresDb>),
}

type RowReader<T> = fn(&SqlRow<'_>) -> Result<T, StoreError>;

/// A future of the store. Boxed, because a query's future has tens of kilobytes.
type StoreFuture<'f, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'f>>;

/// What steps run in.
#[derive(Clone, Copy)]
enum Session {
    /// A snapshot for rows that an index leads to, or for many rows.
    Read(JobLength),
    Write,
    /// One statement on PostgreSQL, which needs no transaction.
    WriteOne,
}

impl Database {
    /// Reads rows of these workspaces in one snapshot. For few rows that an index leads to.
    pub async fn read<T, F>(&self, rows: VisibleRows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        let steps = ending(steps, End::Undo);
        self.run(Session::Read(JobLength::Short), rows, steps).await
    }

    /// Like [`Self::read`], but for many rows: it does not hold up short reads.
    pub async fn read_many<T, F>(&self, rows: VisibleRows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        let steps = ending(steps, End::Undo);
        self.run(Session::Read(JobLength::Long), rows, steps).await
    }

    /// Returns the rows of one statement, read like [`Self::read`].
    pub async fn rows<const N: usize, T: Send + 'static>(
        &self,
        rows: VisibleRows<'_>,
        sql: &'static Sql,
        args: [Arg<'_>; N],
        read: RowReader<T>,
    ) -> Result<Vec<T>, StoreError> {
        let args = args.map(owned);
        self.read(rows, steps!(|tx| tx.rows(sql, &args, read).await))
            .await
    }

    /// Returns the first row of one statement, read like [`Self::read`].
    pub async fn row<const N: usize, T: Send + 'static>(
        &self,
        rows: VisibleRows<'_>,
        sql: &'static Sql,
        args: [Arg<'_>; N],
        read: RowReader<T>,
    ) -> Result<Option<T>, StoreError> {
        let args = args.map(owned);
        self.read(rows, steps!(|tx| tx.row(sql, &args, read).await))
            .await
    }

    /// Returns the rows of one statement, read like [`Self::read_many`].
    pub async fn many_rows<const N: usize, T: Send + 'static>(
        &self,
        rows: VisibleRows<'_>,
        sql: &'static Sql,
        args: [Arg<'_>; N],
        read: RowReader<T>,
    ) -> Result<Vec<T>, StoreError> {
        let args = args.map(owned);
        self.read_many(rows, steps!(|tx| tx.rows(sql, &args, read).await))
            .await
    }

    /// Reads what keeps a host in the fleet. It does not wait behind requests.
    pub async fn aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        let steps = ending(steps, End::Undo);
        self.run_aside(Session::Read(JobLength::Short), steps).await
    }

    /// Writes in a transaction that sees the rows of these workspaces. An error rolls it
    /// back.
    pub async fn write<T, F>(&self, rows: VisibleRows<'_>, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        self.run(Session::Write, rows, ending(steps, End::Commit))
            .await
    }

    /// Like [`Self::write`], but the operation decides whether to commit or to roll back.
    pub async fn write_or_undo<T, F>(
        &self,
        rows: VisibleRows<'_>,
        steps: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, (T, End)> + Send + 'static,
    {
        self.run(Session::Write, rows, deciding(steps)).await
    }

    /// Writes what keeps the hosts of a shared store together, like [`Self::write_or_undo`], but not behind
    /// requests.
    pub async fn write_or_undo_aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, (T, End)> + Send + 'static,
    {
        self.run_aside(Session::Write, deciding(steps)).await
    }

    /// Writes, by one statement, a row that shows that the store can be written to. It does
    /// not wait behind requests.
    pub async fn write_aside<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        let steps = ending(steps, End::Commit);
        self.run_aside(Session::WriteOne, steps).await
    }

    /// Writes, by one statement, rows that belong to no tenant.
    pub async fn write_alone<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
    {
        let steps = ending(steps, End::Commit);
        self.run(Session::WriteOne, VisibleRows::Exempt, steps)
            .await
    }

    /// After removed data has been overwritten: empties the log beside the file, which may
    /// still hold that data. A no-op for PostgreSQL.
    pub async fn empty_log(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(db) => empty_log(db).await,
            Self::Postgres(_) => Ok(()),
        }
    }

    async fn run<T: Send + 'static>(
        &self,
        session: Session,
        rows: VisibleRows<'_>,
        (steps, result): (Steps, Kept<T>),
    ) -> Result<T, StoreError> {
        self.run_steps(session, rows, steps).await?;
        result.take()
    }

    async fn run_aside<T: Send + 'static>(
        &self,
        session: Session,
        (steps, result): (Steps, Kept<T>),
    ) -> Result<T, StoreError> {
        self.run_steps_aside(session, steps).await?;
        result.take()
    }

    fn run_steps<'f>(
        &'f self,
        session: Session,
        rows: VisibleRows<'f>,
        steps: Steps,
    ) -> StoreFuture<'f, ()> {
        match self {
            Self::Sqlite(db) => Box::pin(on_sqlite(db, session, steps)),
            Self::Postgres(db) => within(db.health(), async move {
                match session {
                    // One statement that reads no tenant's rows needs no transaction.
                    Session::Read(_) if matches!(rows, VisibleRows::Exempt) => {
                        alone(db.alone().await?, steps).await
                    }
                    Session::Read(_) => in_transaction(db.snapshot(rows).await?, steps).await,
                    Session::Write => in_transaction(db.begin(rows).await?, steps).await,
                    Session::WriteOne => alone(db.alone().await?, steps).await,
                }
            }),
        }
    }

    fn run_steps_aside(&self, session: Session, steps: Steps) -> StoreFuture<'_, ()> {
        match self {
            Self::Sqlite(db) => Box::pin(on_sqlite(db, session, steps)),
            Self::Postgres(db) => aside(db.health(), async move {
                match session {
                    Session::Write => {
                        in_transaction(db.begin(VisibleRows::Exempt).await?, steps).await
                    }
                    Session::Read(_) | Session::WriteOne => {
                        alone(db.alone_aside().await?, steps).await
                    }
                }
            }),
        }
    }
}

async fn on_sqlite(db: &SqliteDb, session: Session, steps: Steps) -> Result<(), StoreError> {
    match session {
        Session::Read(length) => db.read(length, steps).await,
        Session::Write | Session::WriteOne => db.write(steps).await,
    }
}

/// Runs steps that are one statement.
async fn alone(connection: PostgresTransaction, steps: Steps) -> Result<(), StoreError> {
    steps(&mut Tx::Postgres(connection)).await?;
    Ok(())
}

/// Runs the steps in this transaction, and ends it as they decide.
async fn in_transaction(transaction: PostgresTransaction, steps: Steps) -> Result<(), StoreError> {
    let mut tx = Tx::Postgres(transaction);
    let how = steps(&mut tx).await?;
    end(tx, how).await
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
pub fn within<'f, T: Send + 'f>(
    health: &'f Health,
    operation: impl Future<Output = Result<T, StoreError>> + Send + 'f,
) -> StoreFuture<'f, T> {
    let operation: StoreFuture<'f, T> = Box::pin(operation);
    Box::pin(async move {
        let _permit = health.enter()?;
        tokio::select! {
            biased;
            result = in_time(operation) => looked_into(health, result),
            lost = health.lost() => Err(lost),
        }
    })
}

/// Like [`within`], but for operations that show that this host is alive: they run however
/// many other operations are under way.
pub fn aside<'f, T: Send + 'f>(
    health: &'f Health,
    operation: impl Future<Output = Result<T, StoreError>> + Send + 'f,
) -> StoreFuture<'f, T> {
    let operation: StoreFuture<'f, T> = Box::pin(operation);
    Box::pin(async move {
        tokio::select! {
            biased;
            lost = health.lost() => Err(lost),
            result = in_time(operation) => looked_into(health, result),
        }
    })
}

/// Passes the result on. After a failure that an outage would explain, the database is
/// checked at once.
pub fn looked_into<T>(health: &Health, result: Result<T, StoreError>) -> Result<T, StoreError> {
    if matches!(result, Err(StoreError::Unavailable(_))) {
        health.doubt();
    }
    result
}

async fn in_time<T>(operation: StoreFuture<'_, T>) -> Result<T, StoreError> {
    let time = limits::STORE_DEADLINE;
    match tokio::time::timeout(time, operation).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::from(sqlx::Error::Io(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            format!("the database did not answer within {} s", time.as_secs()),
        )))),
    }
}
