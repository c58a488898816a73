//! One SQLite file: the thread that writes to it, and the few that read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::alone::Alone;
use super::checkpoint::Commits;
use super::connections::{self, Opening};
use super::threads::{self, End, Length, Steps, Threads, ending};
use crate::clock::SharedClock;
use crate::store::StoreError;
use crate::store::seen::Seen;
use crate::store::sql::{Tx, steps};

pub struct Db {
    opening: Opening,
    writing: Threads,
    reading: Threads,
    seen: Arc<Seen>,
    commits: Arc<Commits>,
    alone: Alone,
    /// Nobody else opens the file as long as this is held.
    _lock: File,
}

impl Db {
    /// The file is opened, and made where there is none, by the first that writes.
    pub fn open(file: &Path, lock: File, clock: SharedClock, seen: Arc<Seen>) -> Self {
        let opening = Opening::to_write(file.to_owned(), Arc::clone(&clock));
        let to_read = Opening::to_read(file.to_owned(), clock);
        let commits = Arc::new(Commits::default());
        Self {
            writing: Threads::writer(opening.clone(), Arc::clone(&commits)),
            reading: Threads::readers(to_read),
            opening,
            seen,
            commits,
            alone: Alone::default(),
            _lock: lock,
        }
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
        self.writing.run(Length::Short, steps).await
    }

    /// What the one host says that a file has.
    pub fn alone(&self) -> &Alone {
        &self.alone
    }

    /// How its connections are opened.
    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Bounds the file, as a full disk would. For tests; 0 lifts the bound.
    pub async fn limit_pages(&self, pages: u32) {
        self.opening.note_bound(pages);
        let bounded = self.writing.run(
            Length::Short,
            ending(
                steps!(|tx| connections::bound(threads::connection(tx)?, pages)),
                // The bound is the connection's, and stays.
                End::Undo,
            ),
        );
        if let Err(error) = bounded.await {
            tracing::warn!(%error, "the file has its bound only when it is opened again");
        }
    }

    /// How many commits there were since it was opened.
    pub fn commits(&self) -> u64 {
        self.commits.count()
    }

    /// Who counts them, and wakes whom a commit concerns.
    pub(super) fn counted(&self) -> &Arc<Commits> {
        &self.commits
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        self.commits.close();
    }
}
