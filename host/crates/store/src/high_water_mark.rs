//! The high-water mark of stamps that this host has seen in its store, so that stamps
//! never go backwards.
//!
//! A store that was restored, or whose server was replaced by a standby, may have lost
//! its last stamps, and the clock of its new server may be behind. New rows could then
//! get stamps below those that a client has already read. So if the store is on another
//! server than last time, or is older than the state that this host has seen, the first
//! write waits for longer than clocks may differ. Reads continue.
//!
//! The record is a file in the data folder, which is not part of any backup of the store.
//! It is written after the wait, so that a host that stops during the wait waits again.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{MutexGuard, PoisonError};

use crate::prelude::*;
use tokio::time::Instant;

const FILE: &str = "store.high-water-mark";

/// The store, its server, and its newest stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub store: Uuid,
    /// Distinguishes a server from its standby and from a restored one. Empty for a file.
    pub server: String,
    /// The newest stamp of any feed.
    pub newest: i64,
}

pub struct HighWaterMark {
    /// `None`: nothing is kept beyond the process.
    file: Option<PathBuf>,
    state: Mutex<HighWaterState>,
}

#[derive(Default)]
struct HighWaterState {
    /// The content of the file, or what it will be once writing begins.
    sight: Option<Mark>,
    /// The file is not up to date.
    unwritten: bool,
    /// The server of the newest connection.
    server: Option<String>,
    /// No write begins before this time.
    opens_at: Option<Instant>,
}

impl HighWaterMark {
    /// Returns a mark that does not outlive the process.
    pub fn in_memory() -> Arc<Self> {
        Arc::new(Self {
            file: None,
            state: Mutex::default(),
        })
    }

    pub fn in_folder(folder: &Path) -> Result<Arc<Self>, StoreError> {
        let file = folder.join(FILE);
        let fail = |error: &dyn std::fmt::Display| {
            StoreError::Open(format!(
                "cannot read {}, which records the last known state of this host's store: {error}",
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
            state: Mutex::new(HighWaterState {
                sight,
                ..HighWaterState::default()
            }),
        }))
    }

    /// Compares the store found at the start with the record. `recorded` is the server
    /// that the store itself names as its last one, for hosts without a record.
    pub fn meets(&self, found: Mark, recorded: Option<&str>, now: Micros) {
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
            close(
                &mut state,
                "the store is on another server than before",
                Duration::ZERO,
            );
        } else if let Some(known) = known.filter(|known| known.newest > found.newest) {
            let ahead = Micros(known.newest).since(now);
            close(
                &mut state,
                "the store is older than the state that this host has seen: it was restored",
                ahead,
            );
        }
        state.server = Some(found.server.clone());
        state.sight = Some(found);
        state.unwritten = true;
    }

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
            Duration::ZERO,
        );
        if let Some(sight) = &mut state.sight {
            server.clone_into(&mut sight.server);
            state.unwritten = true;
        }
    }

    pub fn server(&self) -> Option<String> {
        self.state().server.clone()
    }

    pub fn is_open(&self) -> bool {
        self.state().opens_at.is_none()
    }

    pub async fn opens(&self) {
        loop {
            let opens_at = self.state().opens_at;
            let Some(opens_at) = opens_at else {
                break;
            };
            tokio::time::sleep_until(opens_at).await;
            let mut state = self.state();
            // Another server may have appeared in the meantime.
            if state.opens_at == Some(opens_at) {
                state.opens_at = None;
                tracing::info!("writes enabled");
                self.write(&mut state);
            }
        }
    }

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

    fn state(&self) -> MutexGuard<'_, HighWaterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut HighWaterState) {
        let (Some(file), Some(sight), true) = (&self.file, &state.sight, state.unwritten) else {
            return;
        };
        match write(file, sight) {
            Ok(()) => state.unwritten = false,
            // A restore is then detected later, or not at all.
            Err(error) => {
                tracing::warn!(%error, file = %file.display(), "high-water mark not saved")
            }
        }
    }
}

/// Delays writes. `ahead`: the time until the clock reaches the newest stamp.
fn close(state: &mut HighWaterState, why: &str, ahead: Duration) {
    let wait = ahead.clamp(limits::FENCE_LEAST, limits::FENCE_LONGEST);
    if ahead > limits::FENCE_LONGEST {
        tracing::error!(
            seconds = ahead.as_secs(),
            "clock behind the assigned stamps, export clients may miss rows until it catches up"
        );
    }
    tracing::warn!(
        why,
        seconds = wait.as_secs(),
        "writes delayed so that no stamp goes backwards"
    );
    state.opens_at = Some(Instant::now() + wait);
}

fn write(file: &Path, sight: &Mark) -> io::Result<()> {
    let new = file.with_extension("high-water-mark.new");
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

    fn sight(server: &str, newest: i64) -> Mark {
        Mark {
            store: Uuid::nil(),
            server: server.to_owned(),
            newest,
        }
    }

    /// Ends the wait, and returns how many seconds it would have taken.
    async fn pass(seen: &HighWaterMark) -> u64 {
        let opens_at = seen.state().opens_at.take();
        let Some(opens_at) = opens_at else {
            return 0;
        };
        seen.state().opens_at = Some(Instant::now());
        seen.opens().await;
        opens_at.duration_since(Instant::now()).as_secs() + 1
    }

    /// Returns how long a host that saw `before` waits when it finds `after`.
    async fn waits(before: Option<Mark>, recorded: Option<&str>, after: Mark, now: i64) -> u64 {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(before) = before {
            let seen = HighWaterMark::in_folder(folder.path()).expect("nothing yet");
            seen.meets(before, None, Micros(now));
            seen.note(0);
        }
        let seen = HighWaterMark::in_folder(folder.path()).expect("it reads");
        seen.meets(after.clone(), recorded, Micros(now));
        let took = pass(&seen).await;
        assert!(seen.is_open());
        seen.note(after.newest);
        // The next start finds the new record.
        let seen = HighWaterMark::in_folder(folder.path()).expect("it reads");
        seen.meets(after, recorded, Micros(now));
        assert!(seen.is_open());
        took
    }

    #[tokio::test]
    async fn an_unchanged_store_is_writable_at_once() {
        assert_eq!(waits(None, None, sight("a", 5), 9).await, 0);
        assert_eq!(waits(Some(sight("a", 5)), None, sight("a", 5), 9).await, 0);
        assert_eq!(waits(Some(sight("a", 5)), None, sight("a", 7), 9).await, 0);
        assert_eq!(waits(None, Some("a"), sight("a", 7), 9).await, 0);
        let mut other = sight("b", 1);
        other.store = Uuid::max();
        assert_eq!(waits(Some(sight("a", 5)), None, other, 9).await, 0);
    }

    #[tokio::test]
    async fn another_server_or_an_older_state_delays_writes() {
        assert_eq!(waits(Some(sight("a", 5)), None, sight("b", 5), 9).await, 5);
        assert_eq!(waits(Some(sight("a", 5)), None, sight("a", 4), 9).await, 5);
        assert_eq!(waits(None, Some("a"), sight("b", 7), 9).await, 5);
        // Writes wait until the clock has passed the assigned stamps, but no longer than the bound.
        let ahead = async |seconds| {
            let newest = Micros(0).plus(Duration::from_secs(seconds)).0;
            waits(Some(sight("a", newest)), None, sight("a", 4), 0).await
        };
        assert_eq!(ahead(20).await, 20);
        assert_eq!(ahead(100_000).await, limits::FENCE_LONGEST.as_secs());
    }

    #[tokio::test]
    async fn a_change_of_server_is_noticed_and_an_interrupted_wait_starts_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = HighWaterMark::in_folder(folder.path()).expect("nothing yet");
        seen.connected("a");
        seen.meets(sight("a", 5), None, Micros(9));
        seen.note(6);
        seen.connected("a");
        assert!(seen.is_open());
        seen.connected("b");
        assert!(!seen.is_open());
        // The host stopped before the wait was over.
        let next = HighWaterMark::in_folder(folder.path()).expect("it reads");
        next.meets(sight("b", 6), None, Micros(9));
        assert!(!next.is_open());
        assert_eq!(pass(&seen).await, 5);
        let next = HighWaterMark::in_folder(folder.path()).expect("it reads");
        next.meets(sight("b", 6), None, Micros(9));
        assert!(next.is_open());
    }
}
