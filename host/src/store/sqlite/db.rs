//! One SQLite file, with the thread that writes to it and the few that read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::checkpoint::Commits;
use super::connections::{self, Opening};
use super::single_host::SingleHost;
use super::threads::{self, End, Length, Steps, Threads, ending};
use crate::clock::SharedClock;
use crate::store::StoreError;
use crate::store::high_water::HighWater;
use crate::store::sql::{Tx, steps};

pub struct Db {
    opening: Opening,
    writing: Threads,
    reading: Threads,
    seen: Arc<HighWater>,
    commits: Arc<Commits>,
    alone: SingleHost,
    /// While this lock is held, no other process opens the file.
    _lock: File,
}

impl Db {
    /// The first write opens the file, and creates it if it does not exist.
    pub fn open(file: &Path, lock: File, clock: SharedClock, seen: Arc<HighWater>) -> Self {
        let opening = Opening::to_write(file.to_owned(), Arc::clone(&clock));
        let to_read = Opening::to_read(file.to_owned(), clock);
        let commits = Arc::new(Commits::default());
        Self {
            writing: Threads::writer(opening.clone(), Arc::clone(&commits)),
            reading: Threads::readers(to_read),
            opening,
            seen,
            commits,
            alone: SingleHost::default(),
            _lock: lock,
        }
    }

    /// Reads in one snapshot.
    ///
    /// # Errors
    ///
    /// `Busy` if too many reads wait, and the errors of `steps`.
    pub async fn read<T, F>(&self, length: Length, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
    {
        self.reading.run(length, ending(steps, End::Undo)).await
    }

    /// Writes in one transaction. It sees all earlier writes, and a clock that it reads
    /// is later than any that an earlier transaction read.
    ///
    /// # Errors
    ///
    /// `Busy` if too many writes wait, `Full` if there is no space, and the errors of
    /// `steps`.
    pub async fn write<T, F>(&self, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, (T, End)> + Send + 'static,
    {
        self.seen.opens().await;
        self.writing.run(Length::Short, steps).await
    }

    /// Returns the record of the store's last known state.
    pub fn seen(&self) -> &HighWater {
        &self.seen
    }

    /// Returns the state that the only host of a file shares.
    pub fn alone(&self) -> &SingleHost {
        &self.alone
    }

    /// Returns how connections are opened.
    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Limits the pages of the file, as a full disk would. For tests. 0 lifts the limit.
    pub async fn limit_pages(&self, pages: u32) {
        self.opening.note_bound(pages);
        let bounded = self.writing.run(
            Length::Short,
            ending(
                steps!(|tx| connections::bound(threads::connection(tx)?, pages)),
                // The limit belongs to the connection, and outlives the rollback.
                End::Undo,
            ),
        );
        if let Err(error) = bounded.await {
            tracing::warn!(%error, "page limit not applied until the file is opened again");
        }
    }

    /// Returns the number of commits since the file was opened.
    pub fn commits(&self) -> u64 {
        self.commits.count()
    }

    /// Returns the counter of commits, which wakes the checkpointer.
    pub(super) fn counted(&self) -> &Arc<Commits> {
        &self.commits
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        self.commits.close();
    }
}
