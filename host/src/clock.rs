//! Time as an argument. Only this file reads the system clock; tests move a manual clock
//! instead of sleeping.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::domain::time::{Micros, micros};

/// A source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time in microseconds since the Unix epoch.
    fn now(&self) -> Micros;
}

/// A clock that many parts share.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's wall clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        let since = wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Returns the time of the machine's wall clock, for what no decision depends on.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// Returns the time since the machine booted, including suspensions. Leases use it, since a
/// host that was suspended must notice. Tests do not move it.
pub fn boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// A clock that stands still until a test moves it.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Returns a clock that shows `now` until a test moves it.
    pub fn at(now: Micros) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(now.0)))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(micros(span), Ordering::SeqCst);
    }

    /// Moves by seconds that may be negative.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// Sets the clock, forward or backward.
    pub fn set(&self, now: Micros) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}
