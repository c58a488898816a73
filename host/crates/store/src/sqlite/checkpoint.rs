//! Moves committed pages from the log into the file, on a thread and a connection of its
//! own. The writer does not wait for checkpoints unless the log has grown past a limit.
//! Nothing is done while nothing is written.

use std::thread;
use std::time::Instant;

use rusqlite::Connection;

use super::commits::Commits;
use super::connections::SqliteOptions;
use super::db::Db;
use super::reserve::Reserve;
use super::threads::beside;
use crate::prelude::*;

const PASSIVE: &str = "pragma wal_checkpoint(passive)";
const RESTART: &str = "pragma wal_checkpoint(restart)";
const TRUNCATE: &str = "pragma wal_checkpoint(truncate)";
const PAGE_BYTES: &str = "pragma page_size";

/// How long a checkpoint waits for other connections. The longer ones wait while holding
/// the write lock, so a long read such as a backup's would hold up the writer.
const PATIENCE: Duration = Duration::from_millis(10);

/// The interval between log lines about checkpoints that keep failing.
const LOGGED_EVERY: Duration = Duration::from_secs(60);

/// Starts moving commits into the file. The thread ends with the store.
pub fn start(db: &Db, reserve: Option<Reserve>) {
    let (options, commits) = (db.options().clone(), Arc::clone(db.counted()));
    thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn(move || keep_moving(&options, &commits, reserve.as_ref()))
        .expect("the operating system gives a thread");
}

fn keep_moving(options: &SqliteOptions, commits: &Commits, reserve: Option<&Reserve>) {
    let log = options.log();
    let mut mover: Option<Mover> = None;
    let mut logged: Option<Instant> = None;
    let mut seen = 0;
    let mut rest = limits::CHECKPOINT_EVERY;
    // A log that stayed large is truncated even without a further commit, and so is every one while the disk is
    // full.
    while (is_large(&log) || commits.is_full() || commits.past(seen)) && commits.rest(rest) {
        let began = Instant::now();
        if let (true, Some(reserve)) = (commits.has_lacked_room(), reserve) {
            reserve.release_if_full(commits);
        }
        let now = commits.count();
        let done = Mover::running(&mut mover, options).and_then(|mover| {
            if now == seen {
                // Truncating a large file takes a while, so it is not done while there
                // are writes.
                mover.checkpoint(TRUNCATE)
            } else {
                mover.pass()
            }
        });
        match done {
            Ok(done) => {
                commits.checkpointed(done.pages, done.moved, Instant::now());
                seen = now;
                logged = None;
            }
            Err(error) => {
                // The log grows until a later checkpoint succeeds. No data is lost.
                if logged.is_none_or(|logged| logged.elapsed() >= LOGGED_EVERY) {
                    tracing::warn!(%error, "checkpoint failed, retrying");
                    logged = Some(Instant::now());
                }
                mover = None;
                if let Some(reserve) = reserve
                    && matches!(error, StoreError::Full)
                {
                    reserve.release_if_full(commits);
                }
            }
        }
        if let Some(reserve) = reserve
            && commits.is_full()
        {
            reserve.renew(commits);
        }
        rest = limits::CHECKPOINT_EVERY.saturating_sub(began.elapsed());
    }
}

fn is_large(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|log| log.len() > limits::LOG_BYTES)
}

/// Moves all committed pages into the file and empties the log. If a read is using the
/// log all the time, a later checkpoint does so.
pub async fn empty_log(db: &Db) -> Result<(), StoreError> {
    let options = db.options().clone();
    let mut mover = beside(move || Mover::open(&options)).await?;
    for _ in 0..limits::LOG_EMPTIED_ATTEMPTS {
        let is_busy;
        (mover, is_busy) = beside(move || {
            let is_busy = mover.checkpoint(TRUNCATE)?.is_busy;
            Ok((mover, is_busy))
        })
        .await?;
        if !is_busy {
            break;
        }
        tokio::time::sleep(limits::CHECKPOINT_EVERY).await;
    }
    beside(move || {
        drop(mover);
        Ok(())
    })
    .await
}

struct Checkpoint {
    /// Other connections prevented it from finishing.
    is_busy: bool,
    /// The pages in the log, and how many of them are in the file.
    pages: u64,
    moved: u64,
}

/// A connection that runs checkpoints.
struct Mover {
    connection: Connection,
    page_bytes: u64,
}

impl Mover {
    fn open(options: &SqliteOptions) -> Result<Self, StoreError> {
        let connection = options.open()?;
        connection.busy_timeout(PATIENCE)?;
        let page_bytes: i64 = connection.query_row(PAGE_BYTES, [], |row| row.get(0))?;
        Ok(Self {
            connection,
            page_bytes: u64::try_from(page_bytes).unwrap_or_default(),
        })
    }

    /// Returns the connection, opening one if there is none.
    fn running<'m>(
        mover: &'m mut Option<Self>,
        options: &SqliteOptions,
    ) -> Result<&'m Self, StoreError> {
        match mover {
            Some(mover) => Ok(mover),
            none => Ok(none.insert(Self::open(options)?)),
        }
    }

    fn checkpoint(&self, how: &str) -> Result<Checkpoint, StoreError> {
        let (is_busy, pages, moved): (bool, i64, i64) =
            self.connection
                .query_row(how, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(Checkpoint {
            is_busy,
            pages: u64::try_from(pages).unwrap_or_default(),
            moved: u64::try_from(moved).unwrap_or_default(),
        })
    }

    fn pass(&self) -> Result<Checkpoint, StoreError> {
        let done = self.checkpoint(PASSIVE)?;
        // A log that is always in use is never reused from its start. Past a limit the
        // writer waits once, and then starts over.
        if done.pages * self.page_bytes > limits::LOG_BYTES {
            // A restart waits until everything is moved. Pages that are written during
            // the first pass go in a second one, and so on, so that the wait is short.
            for _ in 0..limits::CHECKPOINT_PASSES {
                self.checkpoint(PASSIVE)?;
            }
            return self.checkpoint(RESTART);
        }
        Ok(done)
    }
}
