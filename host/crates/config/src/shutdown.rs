//! How the service stops: it takes no more work, finishes the work in progress, and exits.
//!
//! There are two steps. When the drain begins, listeners close and workers claim no more
//! work; the drain waits for everything that holds a [`DrainGuard`]. The drain ends when nothing
//! is held or the time is up, and everything else is dropped. The admin listener stays open
//! until the end, so that operators can watch a drain. A second signal, or a stop that
//! takes too long, ends the process from a thread of its own.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    Draining,
    Ended,
}

/// The state of the shutdown. Everything that has to stop holds a clone.
#[derive(Clone, Debug)]
pub struct Shutdown {
    phase: Arc<watch::Sender<Phase>>,
    held: Arc<watch::Sender<usize>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    pub fn new() -> Self {
        Self {
            phase: Arc::new(watch::Sender::new(Phase::Serving)),
            held: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Begins the drain. Does not wait.
    pub fn begin(&self) {
        self.advance(Phase::Draining);
    }

    pub fn has_begun(&self) -> bool {
        *self.phase.borrow() >= Phase::Draining
    }

    pub async fn begun(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Returns when the drain has ended and everything still running must be dropped.
    pub async fn ended(&self) {
        self.reached(Phase::Ended).await;
    }

    /// Returns a guard that [`Shutdown::drain`] waits for.
    pub fn hold(&self) -> DrainGuard {
        self.held.send_modify(|held| *held += 1);
        DrainGuard(self.held.clone())
    }

    /// Begins the drain, waits until nothing is held or `limit` has passed, and ends it.
    /// Returns the number of holds that were still in place.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.begin();
        let mut held = self.held.subscribe();
        // The sender lives as long as `self`, so waiting can only fail by the timeout.
        let _ = tokio::time::timeout(limit, held.wait_for(|held| *held == 0)).await;
        let left = *self.held.borrow();
        self.advance(Phase::Ended);
        left
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let later = *phase < to;
            *phase = to.max(*phase);
            later
        });
    }

    async fn reached(&self, wanted: Phase) {
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| *phase >= wanted).await;
    }
}

/// Work that a drain waits for until this guard is dropped.
#[derive(Debug)]
pub struct DrainGuard(Arc<watch::Sender<usize>>);

impl Drop for DrainGuard {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
    }
}

/// Begins the drain at the first SIGINT, SIGTERM or SIGHUP, which a terminal sends when it closes. A
/// second signal ends the process at once, and so does a graceful stop that takes longer than
/// `patience`. Threads of their own watch for both and depend on nothing else in the process, which
/// may be completely busy. `flush_log` returns when the lines of the log are written.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread that does nothing but let time pass"
)]
pub fn on_signals(shutdown: Shutdown, patience: Duration, flush_log: fn()) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    // `nohup` starts a program that is to outlive its terminal.
    if !ignores(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    let watch = move || {
        let mut signals = signals.forever();
        signals.next();
        let stopping = move || {
            tracing::info!(
                "stopping: requests in flight are drained; a second signal stops the service at once"
            );
            shutdown.begin();
            std::thread::sleep(patience);
            tracing::error!(
                seconds = patience.as_secs(),
                "stopped by force: the drain and the steps after it did not finish in time (server.drain_seconds); the next start resumes work in flight"
            );
            end(EXIT_LATE, flush_log);
        };
        let watched = thread("stopping", stopping);
        signals.next();
        tracing::warn!("stopped at once by a second signal");
        end(EXIT_AT_ONCE, flush_log);
        drop(watched);
    };
    thread("signals", watch).map(|_| ())
}

/// The exit code after a second signal, as of a program ended by Ctrl-C.
const EXIT_AT_ONCE: i32 = 130;
/// Exit code after a forced stop; same as `timeout(1)`.
const EXIT_LATE: i32 = 124;

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Ends the process at once, without destructors or exit handlers, which may block.
fn end(code: i32, flush_log: fn()) {
    flush_log();
    signal_hook::low_level::exit(code);
}

/// Returns whether the process was started with this signal ignored. False if the system does not say.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_drain_waits_for_holds() {
        let shutdown = Shutdown::new();
        let hold = shutdown.hold();
        let drain = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.drain(Duration::from_secs(60)).await }
        });
        shutdown.begun().await;
        assert!(!drain.is_finished());
        drop(hold);
        assert_eq!(drain.await.expect("no panic"), 0);
        shutdown.ended().await;
    }

    #[tokio::test]
    async fn a_drain_ends_when_its_time_is_up() {
        let shutdown = Shutdown::new();
        let _hold = shutdown.hold();
        assert_eq!(shutdown.drain(Duration::ZERO).await, 1);
        shutdown.ended().await;
    }
}
