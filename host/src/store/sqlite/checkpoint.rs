//! Moves committed pages from the log into the file, on a thread and a connection of its
//! own: the writer never waits for the file to be tidied, but where the log grew past a
//! bound. Nothing is done while nothing is written.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connections::Opening;
use super::db::Db;
use super::threads::beside;
use crate::limits;
use crate::store::StoreError;

const PASSIVE: &str = "pragma wal_checkpoint(passive)";
const RESTART: &str = "pragma wal_checkpoint(restart)";
const TRUNCATE: &str = "pragma wal_checkpoint(truncate)";
const PAGE_BYTES: &str = "pragma page_size";

const EVERY: Duration = Duration::from_millis(limits::CHECKPOINT_EVERY_MS);

/// How long a checkpoint waits for others. The longer ones wait with the write lock in
/// hand: for a long read, as a backup's, it would hold up the writer.
const PATIENCE: Duration = Duration::from_millis(10);

/// Between two words about checkpoints that fail for the same reason again and again.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Counts commits, and wakes who waits for the next one.
#[derive(Default)]
pub struct Commits {
    state: Mutex<Counted>,
    changed: Condvar,
}

#[derive(Default)]
struct Counted {
    commits: u64,
    /// Somebody sleeps until the next one: only then a commit wakes anybody.
    is_awaited: bool,
    is_closed: bool,
}

impl Commits {
    pub fn count(&self) -> u64 {
        self.state().commits
    }

    pub fn add(&self) {
        let mut state = self.state();
        state.commits += 1;
        if state.is_awaited {
            self.changed.notify_one();
        }
    }

    /// The store is closed: there is none any more.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Sleeps until there is one past these. Whether the store is open still.
    fn past(&self, seen: u64) -> bool {
        let mut state = self.state();
        state.is_awaited = true;
        let waits = |state: &mut Counted| !state.is_closed && state.commits == seen;
        let state = self.changed.wait_while(state, waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.is_awaited = false;
        !state.is_closed
    }

    /// Sleeps for so long. Whether the store is open still.
    fn rest(&self, time: Duration) -> bool {
        let rests = |state: &mut Counted| !state.is_closed;
        let rested = self.changed.wait_timeout_while(self.state(), time, rests);
        let (state, _) = rested.unwrap_or_else(PoisonError::into_inner);
        !state.is_closed
    }

    fn state(&self) -> MutexGuard<'_, Counted> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins to move what is committed. It ends with the store.
pub fn start(db: &Db) {
    let (opening, commits) = (db.opening().clone(), Arc::clone(db.counted()));
    thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn(move || keep_moving(&opening, &commits))
        .expect("the operating system gives a thread");
}

fn keep_moving(opening: &Opening, commits: &Commits) {
    let log = opening.log();
    let mut mover: Option<Mover> = None;
    let mut told: Option<Instant> = None;
    let mut seen = 0;
    let mut rest = EVERY;
    // A log that stayed large is shortened without a further commit.
    while (is_large(&log) || commits.past(seen)) && commits.rest(rest) {
        let began = Instant::now();
        let now = commits.count();
        let done = Mover::of(&mut mover, opening).and_then(|mover| {
            if now == seen {
                // Giving back so much of a file takes a while: not while others write.
                mover.truncate()
            } else {
                mover.pass()
            }
        });
        match done {
            Ok(()) => {
                seen = now;
                told = None;
            }
            Err(error) => {
                // The log grows until a later one gets through; nothing is lost by it.
                if told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
                    tracing::warn!(%error, "a checkpoint did not get through; it is tried again");
                    told = Some(Instant::now());
                }
                mover = None;
            }
        }
        rest = EVERY.saturating_sub(began.elapsed());
    }
}

fn is_large(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|log| log.len() > limits::LOG_BYTES)
}

/// Moves all that is committed into the file, and forgets the log, unless somebody
/// reads it right now: then a later one does.
pub async fn empty_log(db: &Db) -> Result<(), StoreError> {
    let opening = db.opening().clone();
    let mut mover = beside(move || Mover::open(&opening)).await?;
    for _ in 0..limits::LOG_EMPTIED_ATTEMPTS {
        let is_busy;
        (mover, is_busy) = beside(move || {
            let (is_busy, _) = mover.checkpoint(TRUNCATE)?;
            Ok((mover, is_busy))
        })
        .await?;
        if !is_busy {
            break;
        }
        tokio::time::sleep(EVERY).await;
    }
    beside(move || {
        drop(mover);
        Ok(())
    })
    .await
}

/// A connection that moves the log into the file.
struct Mover {
    connection: Connection,
    page_bytes: u64,
}

impl Mover {
    fn open(opening: &Opening) -> Result<Self, StoreError> {
        let connection = opening.open()?;
        connection.busy_timeout(PATIENCE)?;
        let page_bytes: i64 = connection.query_row(PAGE_BYTES, [], |row| row.get(0))?;
        Ok(Self {
            connection,
            page_bytes: u64::try_from(page_bytes).unwrap_or_default(),
        })
    }

    /// The one that is there, or else another.
    fn of<'m>(mover: &'m mut Option<Self>, opening: &Opening) -> Result<&'m Self, StoreError> {
        match mover {
            Some(mover) => Ok(mover),
            none => Ok(none.insert(Self::open(opening)?)),
        }
    }

    /// Whether others were in its way, and how many pages the log has.
    fn checkpoint(&self, how: &str) -> Result<(bool, u64), StoreError> {
        let (is_busy, pages): (bool, i64) = self
            .connection
            .query_row(how, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((is_busy, u64::try_from(pages).unwrap_or_default()))
    }

    fn pass(&self) -> Result<(), StoreError> {
        let (_, pages) = self.checkpoint(PASSIVE)?;
        // A log that never rests is never reused from its start: past a size the
        // writer waits once, and begins anew.
        if pages * self.page_bytes > limits::LOG_BYTES {
            // It waits until all is moved: what was written during the first pass goes in
            // a second one, and so on, so that little is left for which it waits.
            for _ in 0..limits::CHECKPOINT_PASSES {
                self.checkpoint(PASSIVE)?;
            }
            self.checkpoint(RESTART)?;
        }
        Ok(())
    }

    fn truncate(&self) -> Result<(), StoreError> {
        self.checkpoint(TRUNCATE)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_woken_by_a_commit_and_by_the_end() {
        let commits = Arc::new(Commits::default());
        let past = |seen| {
            let commits = Arc::clone(&commits);
            thread::spawn(move || commits.past(seen))
        };
        let waiting = past(0);
        commits.add();
        assert!(waiting.join().expect("it ends"));
        let waiting = past(1);
        commits.close();
        assert!(!waiting.join().expect("it ends"));
        assert!(!commits.rest(Duration::from_secs(3_600)));
    }

    #[test]
    fn what_was_committed_before_is_not_waited_for() {
        let commits = Commits::default();
        commits.add();
        assert!(commits.past(0));
        assert!(commits.rest(Duration::ZERO));
    }
}
