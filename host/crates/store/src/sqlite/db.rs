//! One SQLite file, with the thread that writes to it and the few that read.

use std::fs::File;
use std::time::Instant;

use super::commits::Commits;
use super::connections::{self, SqliteOptions};
use super::single_host::SingleHost;
use super::threads::{self, End, JobLength, Steps, StoreThreads, ending};
use crate::high_water_mark::HighWaterMark;
use crate::prelude::*;
use crate::sql::steps;
use leadhost_domain::backlog::LogUsage;
use leadhost_domain::clock::SharedClock;

/// The database in one SQLite file. On a server, `postgres::Db` takes its place, and `Database` is
/// either of them.
pub struct Db {
    options: SqliteOptions,
    writing: StoreThreads,
    reading: StoreThreads,
    high_water_mark: Arc<HighWaterMark>,
    commits: Arc<Commits>,
    alone: SingleHost,
    /// While this lock is held, no other process opens the file.
    _lock: File,
}

impl Db {
    /// The first write opens the file, and creates it if it does not exist.
    pub fn open(
        file: &Path,
        lock: File,
        clock: SharedClock,
        high_water_mark: Arc<HighWaterMark>,
    ) -> Self {
        let options = SqliteOptions::to_write(file.to_owned(), Arc::clone(&clock));
        let to_read = SqliteOptions::to_read(file.to_owned(), clock);
        let commits = Arc::new(Commits::default());
        Self {
            writing: StoreThreads::writer(options.clone(), Arc::clone(&commits)),
            reading: StoreThreads::readers(to_read),
            options,
            high_water_mark,
            commits,
            alone: SingleHost::default(),
            _lock: lock,
        }
    }

    /// Reads in one snapshot, which the steps undo.
    pub async fn read(&self, length: JobLength, steps: Steps) -> Result<(), StoreError> {
        self.reading.run(length, steps).await
    }

    /// Writes in one transaction. It sees all earlier writes, and a clock that it reads
    /// is later than any that an earlier transaction read.
    pub async fn write(&self, steps: Steps) -> Result<(), StoreError> {
        self.high_water_mark.opens().await;
        if self.commits.is_full() {
            return Err(StoreError::Full);
        }
        self.writing.run(JobLength::Short, steps).await
    }

    pub fn high_water_mark(&self) -> &HighWaterMark {
        &self.high_water_mark
    }

    pub fn alone(&self) -> &SingleHost {
        &self.alone
    }

    pub(super) fn options(&self) -> &SqliteOptions {
        &self.options
    }

    /// Limits the pages of the file, as a full disk would. For tests. 0 lifts the limit.
    pub async fn limit_pages(&self, pages: u32) {
        self.options.note_bound(pages);
        let (bound, _) = ending(
            steps!(|tx| connections::bound(threads::connection(tx)?, pages)),
            // The limit belongs to the connection, and outlives the rollback.
            End::Undo,
        );
        if let Err(error) = self.writing.run(JobLength::Short, bound).await {
            tracing::warn!(%error, "page limit not applied until the file is opened again");
        }
    }

    pub fn commits(&self) -> u64 {
        self.commits.count()
    }

    pub fn log(&self) -> LogUsage {
        let file = std::fs::metadata(self.options.log());
        LogUsage {
            bytes: file.map_or(0, |file| file.len()),
            held_seconds: self
                .commits
                .log_held(Instant::now())
                .map(|held| held.as_secs()),
        }
    }

    pub(super) fn counted(&self) -> &Arc<Commits> {
        &self.commits
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        self.commits.close();
    }
}
