//! How the service ends: it stops taking work, finishes what it has, and goes.
//!
//! Two moments. When the drain begins, listeners close and workers claim nothing
//! more; what holds a [`Hold`] is waited for. When it has ended, because nothing
//! is held or the time is up, everything else is dropped. The admin surface
//! lives until the end, so that a drain can be watched.

use std::sync::Arc;
use std::time::Duration;

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

/// Begins the drain at the first SIGINT or SIGTERM; a second one ends the process at once.
pub async fn on_signals(shutdown: Shutdown) {
    signal().await;
    tracing::info!("stopping: requests in flight are finished; a second signal ends at once");
    shutdown.begin();
    signal().await;
    tracing::warn!("stopped at once by a second signal");
    std::process::exit(130);
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).expect("SIGTERM can be listened to");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    let _ = tokio::signal::ctrl_c().await;
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
