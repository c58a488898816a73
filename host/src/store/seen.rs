//! What this host has seen of its store, so that stamps never go backwards.
//!
//! A store that was restored, or whose server was replaced by a standby, may have
//! lost its last stamps, and its new server's clock may be behind. Then new rows
//! could be stamped below what a client has read already. So when the store is
//! on another server than last time, or stands before what this host has seen,
//! the first write waits for longer than clocks may differ. Reads go on.
//!
//! What was seen lies in a file of the data folder, which is no part of any backup
//! of the store. It is written when the wait is over, so that a host that ends
//! meanwhile waits again.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use uuid::Uuid;

use super::StoreError;
use crate::domain::time::Micros;
use crate::limits;

const FILE: &str = "store.seen";

/// Which store, where, and up to which stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    pub store: Uuid,
    /// What tells a server from its standby and from a restored one; empty for a file.
    pub server: String,
    /// The newest stamp of any feed.
    pub newest: i64,
}

pub struct Seen {
    /// `None`: nothing outlives the process.
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the file says, or will when writing begins.
    sight: Option<Sight>,
    /// The file does not say it yet.
    unwritten: bool,
    /// Which server the newest connection was to.
    server: Option<String>,
    /// Until then nothing is written.
    opens_at: Option<Instant>,
}

impl Seen {
    /// Remembers nothing beyond this process.
    pub fn nothing() -> Arc<Self> {
        Arc::new(Self {
            file: None,
            state: Mutex::default(),
        })
    }

    /// Remembers in this data folder.
    pub fn in_folder(folder: &Path) -> Result<Arc<Self>, StoreError> {
        let file = folder.join(FILE);
        let fail = |error: &dyn std::fmt::Display| {
            StoreError::Open(format!(
                "cannot read {}, which says what this host saw of its store last: {error}",
                file.display()
            ))
        };
        let sight = match std::fs::read(&file) {
            Ok(bytes) => Some(serde_json::from_slice(&bytes).map_err(|error| fail(&error))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail(&error)),
        };
        Ok(Arc::new(Self {
            file: Some(file),
            state: Mutex::new(State {
                sight,
                ..State::default()
            }),
        }))
    }

    /// The store as it is found at the start. `recorded` is the server that it
    /// says itself it was on last, for hosts that have seen nothing yet.
    pub fn meets(&self, found: Sight, recorded: Option<&str>, now: Micros) {
        let mut state = self.state();
        let known = state
            .sight
            .take()
            .filter(|known| known.store == found.store);
        let server = known
            .as_ref()
            .map(|known| known.server.as_str())
            .or(recorded);
        if server.is_some_and(|server| server != found.server) {
            close(&mut state, "the store is on another server than before", 0);
        } else if let Some(known) = known.filter(|known| known.newest > found.newest) {
            let ahead = known.newest.saturating_sub(now.0);
            close(
                &mut state,
                "the store stands before what this host has seen of it: it was restored",
                ahead,
            );
        }
        state.server = Some(found.server.clone());
        state.sight = Some(found);
        state.unwritten = true;
    }

    /// A connection was made to this server.
    pub fn connected(&self, server: &str) {
        let mut state = self.state();
        let same = state.server.as_deref().is_none_or(|known| known == server);
        state.server = Some(server.to_owned());
        if same {
            return;
        }
        close(
            &mut state,
            "the database is on another server than before",
            0,
        );
        if let Some(sight) = &mut state.sight {
            server.clone_into(&mut sight.server);
            state.unwritten = true;
        }
    }

    /// Which server the newest connection was to.
    pub fn server(&self) -> Option<String> {
        self.state().server.clone()
    }

    /// Whether a write may begin now.
    pub fn is_open(&self) -> bool {
        self.state().opens_at.is_none()
    }

    /// Returns when a write may begin.
    pub async fn opens(&self) {
        loop {
            let opens_at = self.state().opens_at;
            let Some(opens_at) = opens_at else {
                break;
            };
            tokio::time::sleep_until(opens_at).await;
            let mut state = self.state();
            // Another server may have come up meanwhile.
            if state.opens_at == Some(opens_at) {
                state.opens_at = None;
                tracing::info!("writing begins");
                self.write(&mut state);
            }
        }
    }

    /// Remembers how far the store is.
    pub fn note(&self, newest: i64) {
        let mut state = self.state();
        if let Some(sight) = &mut state.sight
            && sight.newest < newest
        {
            sight.newest = newest;
            state.unwritten = true;
        }
        if state.opens_at.is_none() {
            self.write(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut State) {
        let (Some(file), Some(sight), true) = (&self.file, &state.sight, state.unwritten) else {
            return;
        };
        match write(file, sight) {
            Ok(()) => state.unwritten = false,
            // A restore is then noticed later than it could be, or not.
            Err(error) => {
                tracing::warn!(%error, file = %file.display(), "what was seen of the store cannot be written down")
            }
        }
    }
}

/// `ahead`: microseconds until the clock is where stamps already were.
fn close(state: &mut State, why: &str, ahead: i64) {
    let least = i64::try_from(limits::FENCE_SECONDS).unwrap_or(i64::MAX) * Micros::SECOND;
    let most = i64::try_from(limits::FENCE_LONGEST_SECONDS).unwrap_or(i64::MAX) * Micros::SECOND;
    let wait = ahead.clamp(least, most);
    if ahead > most {
        tracing::error!(
            seconds = ahead / Micros::SECOND,
            "this machine's clock is far behind the stamps that were handed out: until it has caught up, clients of the export may miss rows"
        );
    }
    tracing::warn!(
        seconds = wait / Micros::SECOND,
        "{why}: nothing is written for a while, so that no stamp goes backwards"
    );
    state.opens_at = Some(Instant::now() + Duration::from_micros(u64::try_from(wait).unwrap_or(0)));
}

/// Whole or not at all, and on the disk.
fn write(file: &Path, sight: &Sight) -> io::Result<()> {
    let new = file.with_extension("seen.new");
    let mut out = File::create(&new)?;
    serde_json::to_writer(&mut out, sight)?;
    out.write_all(b"\n")?;
    out.sync_all()?;
    std::fs::rename(&new, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(server: &str, newest: i64) -> Sight {
        Sight {
            store: Uuid::nil(),
            server: server.to_owned(),
            newest,
        }
    }

    /// The wait is over: how many seconds it would have been.
    async fn pass(seen: &Seen) -> u64 {
        let opens_at = seen.state().opens_at.take();
        let Some(opens_at) = opens_at else {
            return 0;
        };
        seen.state().opens_at = Some(Instant::now());
        seen.opens().await;
        opens_at.duration_since(Instant::now()).as_secs() + 1
    }

    /// Whether a host that saw `before` waits when it finds `after`, and for how long.
    async fn waits(before: Option<Sight>, recorded: Option<&str>, after: Sight, now: i64) -> u64 {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(before) = before {
            let seen = Seen::in_folder(folder.path()).expect("nothing yet");
            seen.meets(before, None, Micros(now));
            seen.note(0);
        }
        let seen = Seen::in_folder(folder.path()).expect("it reads");
        seen.meets(after.clone(), recorded, Micros(now));
        let took = pass(&seen).await;
        assert!(seen.is_open());
        seen.note(after.newest);
        // The next start finds what it knows.
        let seen = Seen::in_folder(folder.path()).expect("it reads");
        seen.meets(after, recorded, Micros(now));
        assert!(seen.is_open());
        took
    }

    #[tokio::test]
    async fn a_store_that_is_as_it_was_is_written_at_once() {
        assert_eq!(waits(None, None, sight("a", 5), 9).await, 0);
        assert_eq!(waits(Some(sight("a", 5)), None, sight("a", 5), 9).await, 0);
        assert_eq!(waits(Some(sight("a", 5)), None, sight("a", 7), 9).await, 0);
        assert_eq!(waits(None, Some("a"), sight("a", 7), 9).await, 0);
        let mut other = sight("b", 1);
        other.store = Uuid::max();
        assert_eq!(waits(Some(sight("a", 5)), None, other, 9).await, 0);
    }

    #[tokio::test]
    async fn another_server_or_an_older_state_is_written_after_a_while() {
        assert_eq!(waits(Some(sight("a", 5)), None, sight("b", 5), 9).await, 5);
        assert_eq!(waits(Some(sight("a", 5)), None, sight("a", 4), 9).await, 5);
        assert_eq!(waits(None, Some("a"), sight("b", 7), 9).await, 5);
        // Until the clock is past what was handed out, within bounds.
        let second = Micros::SECOND;
        let ahead =
            async |seconds| waits(Some(sight("a", seconds * second)), None, sight("a", 4), 0).await;
        assert_eq!(ahead(20).await, 20);
        assert_eq!(ahead(100_000).await, limits::FENCE_LONGEST_SECONDS);
    }

    #[tokio::test]
    async fn a_server_that_changes_under_way_is_noticed_and_a_cut_off_wait_begins_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = Seen::in_folder(folder.path()).expect("nothing yet");
        seen.connected("a");
        seen.meets(sight("a", 5), None, Micros(9));
        seen.note(6);
        seen.connected("a");
        assert!(seen.is_open());
        seen.connected("b");
        assert!(!seen.is_open());
        // Ended before the wait was over.
        let next = Seen::in_folder(folder.path()).expect("it reads");
        next.meets(sight("b", 6), None, Micros(9));
        assert!(!next.is_open());
        assert_eq!(pass(&seen).await, 5);
        let next = Seen::in_folder(folder.path()).expect("it reads");
        next.meets(sight("b", 6), None, Micros(9));
        assert!(next.is_open());
    }
}
