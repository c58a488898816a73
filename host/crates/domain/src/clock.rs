//! Time as an argument. Only this file reads the system clock; tests move a manual clock
//! instead of sleeping. Hosts that share a database take their time from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::time::{Micros, micros};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Micros;

    /// Notes the time of the database that hosts share, which it sent within `took`. Only a clock that
    /// takes its time from the database changes by it.
    fn follow(&self, _database: Micros, _took: Duration) {}
}

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

/// The clock of a host that shares its database: the database's time at the last heartbeat, counted on
/// by the time since the machine booted. A date of the machine that is wrong, or that jumps, changes
/// nothing. The default shows the machine's date until the database's time is known.
#[derive(Debug)]
pub struct DatabaseClock {
    /// The time at which the machine booted.
    booted: AtomicI64,
}

/// A difference to the database's time that stays: less than matters to any deadline.
const TOLERANCE: Duration = Duration::from_millis(100);

impl Default for DatabaseClock {
    fn default() -> Self {
        let booted = SystemClock.now().minus(boot());
        Self {
            booted: AtomicI64::new(booted.0),
        }
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Micros {
        Micros(self.booted.load(Ordering::Relaxed)).plus(boot())
    }

    fn follow(&self, database: Micros, took: Duration) {
        let differs = Duration::from_micros(database.0.abs_diff(self.now().0));
        // A slow answer has the time at which the database sent it.
        if differs > took + TOLERANCE {
            let booted = database.minus(boot());
            self.booted.store(booted.0, Ordering::Relaxed);
        }
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

    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(micros(span), Ordering::SeqCst);
    }

    /// Moves by seconds that may be negative.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub fn set(&self, now: Micros) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_takes_the_time_of_its_database_whatever_its_own_date() {
        let clock = DatabaseClock::default();
        let (day, second) = (Duration::from_hours(24), Duration::from_secs(1));
        for database in [
            SystemClock.now().plus(day * 3),
            SystemClock.now().minus(day * 3),
        ] {
            clock.follow(database, Duration::ZERO);
            let now = clock.now();
            assert!(
                now >= database && now < database.plus(second * 60),
                "{now:?}"
            );
        }
    }

    #[test]
    fn a_difference_that_the_way_of_the_answer_explains_stays() {
        let clock = DatabaseClock::default();
        let second = Duration::from_secs(1);
        let before = clock.booted.load(Ordering::Relaxed);
        clock.follow(clock.now().minus(second * 5), second * 5);
        assert_eq!(clock.booted.load(Ordering::Relaxed), before);
        clock.follow(clock.now().minus(second * 6), second * 5);
        assert_ne!(clock.booted.load(Ordering::Relaxed), before);
    }
}
