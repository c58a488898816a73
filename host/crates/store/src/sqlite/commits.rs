//! The number of commits to the file, for which the thread of checkpoints waits, and whether the disk is full.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts commits, and wakes the thread that waits for the next one.
#[derive(Default)]
pub struct Commits {
    state: Mutex<CommitState>,
    changed: Condvar,
}

#[derive(Default)]
struct CommitState {
    commits: u64,
    /// A thread waits for the next commit. Otherwise a commit wakes none.
    is_awaited: bool,
    is_closed: bool,
    /// A write has found no room since the thread of checkpoints asked last.
    lacked_room: bool,
    /// The disk is full: writes are refused until the thread of checkpoints finds room.
    is_full: bool,
    log: LogState,
}

/// How far the checkpoints are in the log.
#[derive(Default)]
struct LogState {
    /// The pages that the last checkpoint found moved.
    moved: u64,
    /// Since when no checkpoint could move more, although there is more: a reader needs the log.
    held_since: Option<Instant>,
    /// When the last checkpoint ended.
    passed: Option<Instant>,
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

    /// Notes that a write found no room, and wakes the thread that waits.
    pub fn lacks_room(&self) {
        self.state().lacked_room = true;
        self.changed.notify_all();
    }

    /// Returns whether a write has found no room since the last call.
    pub fn has_lacked_room(&self) -> bool {
        std::mem::take(&mut self.state().lacked_room)
    }

    pub fn is_full(&self) -> bool {
        self.state().is_full
    }

    /// Returns whether that was different.
    pub fn set_full(&self, is_full: bool) -> bool {
        std::mem::replace(&mut self.state().is_full, is_full) != is_full
    }

    /// Notes a checkpoint: the pages of the log, and how many of them are moved.
    pub fn checkpointed(&self, pages: u64, moved: u64, now: Instant) {
        let log = &mut self.state().log;
        let is_held = moved < pages && moved == log.moved;
        log.held_since = if is_held {
            log.held_since.or(log.passed)
        } else {
            None
        };
        (log.moved, log.passed) = (moved, Some(now));
    }

    /// Returns for how long a reader has kept the log from being emptied.
    pub fn log_held(&self, now: Instant) -> Option<Duration> {
        let since = self.state().log.held_since?;
        Some(now.saturating_duration_since(since))
    }

    /// Notes that the store is closed: no further commits follow.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits for a commit after `seen`, or for a write that finds no room. Returns whether the store is still open.
    pub fn past(&self, seen: u64) -> bool {
        let mut state = self.state();
        state.is_awaited = true;
        let waits = |state: &mut CommitState| {
            !state.is_closed && state.commits == seen && !state.lacked_room
        };
        let state = self.changed.wait_while(state, waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.is_awaited = false;
        !state.is_closed
    }

    /// Waits for this time. Returns whether the store is still open.
    pub fn rest(&self, time: Duration) -> bool {
        let rests = |state: &mut CommitState| !state.is_closed;
        let rested = self.changed.wait_timeout_while(self.state(), time, rests);
        let (state, _) = rested.unwrap_or_else(PoisonError::into_inner);
        !state.is_closed
    }

    fn state(&self) -> MutexGuard<'_, CommitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn a_waiting_thread_is_woken_by_a_commit_and_by_closing() {
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
    fn a_log_is_held_while_no_checkpoint_moves_more_of_it() {
        let (commits, begin) = (Commits::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        // Written meanwhile, and moved by the next checkpoint.
        commits.checkpointed(10, 8, at(0));
        commits.checkpointed(20, 18, at(1));
        assert_eq!(commits.log_held(at(1)), None);
        // A reader that began before the second checkpoint.
        commits.checkpointed(30, 18, at(2));
        commits.checkpointed(40, 18, at(3));
        assert_eq!(commits.log_held(at(31)), Some(Duration::from_secs(30)));
        commits.checkpointed(40, 40, at(32));
        commits.checkpointed(40, 40, at(33));
        assert_eq!(commits.log_held(at(33)), None);
    }

    #[test]
    fn an_unseen_commit_ends_the_wait_at_once() {
        let commits = Commits::default();
        commits.add();
        assert!(commits.past(0));
        assert!(commits.rest(Duration::ZERO));
    }
}
