//! How the service ends: it stops taking work, finishes what it has, and goes.
//!
//! Two moments. When the drain begins, listeners close and workers claim nothing
//! more; what holds a [`Hold`] is waited for. When it has ended, because nothing
//! is held or the time is up, everything else is dropped. The admin surface
//! lives until the end, so that a drain can be watched. Whoever asks twice, or an
//! end that takes too long, ends the process from a thread that nothing occupies.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    Draining,
    Ended,
}

/// Shared by everything that has to know when to stop.
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

    /// Stops the intake of work. Waits for nothing.
    pub fn begin(&self) {
        self.advance(Phase::Draining);
    }

    pub fn has_begun(&self) -> bool {
        *self.phase.borrow() >= Phase::Draining
    }

    /// Returns when the drain begins.
    pub async fn begun(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Returns when what is still running has to be dropped.
    pub async fn ended(&self) {
        self.reached(Phase::Ended).await;
    }

    /// What holds this is waited for by [`Shutdown::drain`].
    pub fn hold(&self) -> Hold {
        self.held.send_modify(|held| *held += 1);
        Hold(self.held.clone())
    }

    /// Begins, waits until nothing is held or `limit` is over, and ends. The
    /// number that was dropped.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.begin();
        let mut held = self.held.subscribe();
        // The sender lives as long as self, so waiting fails by time only.
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

/// Work that a drain waits for, until it is dropped.
#[derive(Debug)]
pub struct Hold(Arc<watch::Sender<usize>>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
    }
}

/// Begins the drain at the first SIGINT or SIGTERM. A second one ends the process
/// at once, and so does `patience`: how long an orderly end may take. Both are
/// watched by threads of their own and ask nothing of the rest of the process,
/// which may be occupied altogether.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread that does nothing but let time pass"
)]
pub fn on_signals(shutdown: Shutdown, patience: Duration) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let watch = move || {
        let mut signals = signals.forever();
        signals.next();
        let stopping = move || {
            tell(|| {
                tracing::info!(
                    "stopping: requests in flight are finished; a second signal ends at once"
                );
            });
            shutdown.begin();
            std::thread::sleep(patience);
            end(EXIT_LATE, move || {
                tracing::error!(
                    seconds = patience.as_secs(),
                    "stopped by force: the drain and what follows it did not end in time (server.drain_seconds); work in flight is taken up at the next start"
                );
            });
        };
        let watched = thread("stopping", stopping);
        signals.next();
        end(EXIT_AT_ONCE, || {
            tracing::warn!("stopped at once by a second signal");
        });
        drop(watched);
    };
    thread("signals", watch).map(|_| ())
}

/// The exit code after a second signal: that of a program that Ctrl-C ended.
const EXIT_AT_ONCE: i32 = 130;
/// The exit code where an orderly end took too long: that of the command `timeout`.
const EXIT_LATE: i32 = 124;

/// So long a line of the log is waited for: whoever reads the log may be what
/// stands still.
const TOLD: Duration = Duration::from_millis(500);

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

fn tell(say: impl FnOnce() + Send + 'static) {
    let (done, told) = mpsc::channel();
    let saying = thread("last-words", move || {
        say();
        let _ = done.send(());
    });
    if saying.is_ok() {
        let _ = told.recv_timeout(TOLD);
    }
}

/// Ends the process whatever it does: without destructors or what else is
/// registered to run at its end, any of which may wait for somebody.
fn end(code: i32, say: impl FnOnce() + Send + 'static) {
    tell(say);
    signal_hook::low_level::exit(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_drain_waits_for_what_is_held() {
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
