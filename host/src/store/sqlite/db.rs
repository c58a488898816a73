//! The connections to one SQLite file: one that writes, a few that read.
//!
//! The writing connection is lent to one transaction at a time and comes back
//! only after a commit. A transaction that fails, or whose future is dropped,
//! takes its connection down with it: closing rolls back, so that nothing half
//! done can ever leak into the next one, whatever SQLite or the driver make of
//! an error in the middle.

use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{Mutex, MutexGuard};

use super::threads::{End, Length, Steps, Threads, ending};
use crate::clock::SharedClock;
use crate::limits;
use crate::store::StoreError;
use crate::store::seen::Seen;
use crate::store::sql::Tx;

pub struct Db {
    options: SqliteConnectOptions,
    writer: Mutex<Option<SqliteConnection>>,
    readers: SqlitePool,
    /// Pages that the file may have; 0: as many as the disk has room for.
    max_pages: AtomicU32,
    writing: Threads,
    reading: Threads,
    seen: Arc<Seen>,
    #[cfg(test)]
    file: std::path::PathBuf,
    #[cfg(test)]
    clock: SharedClock,
    /// Counts commits, so that the checkpointer sleeps while nothing is written.
    commits: AtomicU64,
}

const BEGIN: &str = "begin immediate";
const COMMIT: &str = "commit";
const ROLLBACK: &str = "rollback";

impl Db {
    pub async fn open(
        file: &std::path::Path,
        clock: SharedClock,
        seen: Arc<Seen>,
    ) -> Result<Self, StoreError> {
        let url = "sqlite::memory:";
        let options = SqliteConnectOptions::from_str(url)?
            .in_memory(false)
            .shared_cache(false)
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(limits::STORE_BUSY_SECONDS))
            .statement_cache_capacity(200)
            // The checkpointer does it: a commit never waits for the file to be tidied.
            .pragma("wal_autocheckpoint", "0")
            // What is removed is overwritten, so that it is gone from the file too.
            .pragma("secure_delete", "on")
            .pragma("temp_store", "memory")
            .pragma("cache_size", "-16000")
            .disable_statement_logging();
        let writer = options.connect().await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(limits::STORE_READERS)
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options.clone().read_only(true).create_if_missing(false));
        Ok(Self {
            options,
            writer: Mutex::new(Some(writer)),
            readers,
            writing: Threads::writer(file.to_owned(), Arc::clone(&clock)),
            reading: Threads::readers(file.to_owned(), Arc::clone(&clock)),
            seen,
            #[cfg(test)]
            file: file.to_owned(),
            #[cfg(test)]
            clock,
            max_pages: AtomicU32::new(0),
            commits: AtomicU64::new(0),
        })
    }

    pub fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Reads in one snapshot.
    pub async fn read<T, F>(&self, length: Length, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        self.reading.run(length, ending(steps, End::Undo)).await
    }

    /// Writes in one transaction. What is read in it is what it builds on, and a clock
    /// read in it is later than any that an earlier one read.
    pub async fn write<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, (T, End)> + Send + 'static,
    {
        self.seen.opens().await;
        // Who writes on the other connection waits meanwhile.
        let _turn = self.writer.lock().await;
        let written = self.writing.run(Length::Short, steps).await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(written)
    }

    /// A connection for one who asks for it, as a test does.
    #[cfg(test)]
    pub fn connection(&self) -> Result<rusqlite::Connection, StoreError> {
        super::threads::Opening::to_write(self.file.clone(), Arc::clone(&self.clock)).open()
    }

    /// A connection of its own, for work that neither reads for a client nor writes.
    pub async fn another(&self) -> Result<SqliteConnection, StoreError> {
        Ok(self.options.connect().await?)
    }

    /// Waits for its turn, then holds the file's write lock. What is read in it
    /// is what the commit builds on, and a clock read after it is later than
    /// any that an earlier transaction read.
    pub async fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let mut slot = self.writer.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => {
                let pages = self.max_pages.load(Ordering::Relaxed);
                let mut options = self.options.clone();
                if pages > 0 {
                    options = options.pragma("max_page_count", pages.to_string());
                }
                options.connect().await?
            }
        };
        sqlx::query(BEGIN).execute(&mut connection).await?;
        Ok(Transaction {
            connection,
            slot,
            commits: &self.commits,
        })
    }

    /// Bounds the file, as a full disk would. For tests; 0 lifts the bound.
    pub async fn limit_pages(&self, pages: u32) {
        self.max_pages.store(pages, Ordering::Relaxed);
        let old = self.writer.lock().await.take();
        if let Some(connection) = old {
            // A connection that does not close cleanly is closed all the same.
            drop(connection.close().await);
        }
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

/// A write transaction: committed, or as if it had never been.
pub struct Transaction<'a> {
    pub connection: SqliteConnection,
    slot: MutexGuard<'a, Option<SqliteConnection>>,
    commits: &'a AtomicU64,
}

impl Transaction<'_> {
    pub async fn commit(mut self) -> Result<(), StoreError> {
        sqlx::query(COMMIT).execute(&mut self.connection).await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        *self.slot = Some(self.connection);
        Ok(())
    }

    /// Undoes all of it, on purpose.
    pub async fn rollback(mut self) -> Result<(), StoreError> {
        sqlx::query(ROLLBACK).execute(&mut self.connection).await?;
        *self.slot = Some(self.connection);
        Ok(())
    }
}
