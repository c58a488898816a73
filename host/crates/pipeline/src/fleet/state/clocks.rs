//! The clock of this machine beside the clock of the shared database, which the hosts take their time from.
//! Logs and certificates use the machine's clock.

use std::sync::atomic::{AtomicI64, Ordering};

use leadhost_domain::limits;
use leadhost_domain::time::Micros;

/// How far the clock of this machine was ahead of the database's at the last heartbeat, in microseconds.
#[derive(Debug, Default)]
pub struct ClockComparison {
    ahead: AtomicI64,
}

impl ClockComparison {
    /// Notes what both clocks show now, and logs when they begin or cease to differ too much.
    pub fn compare(&self, here: Micros, database: Micros) {
        let ahead = here.0.saturating_sub(database.0);
        let before = self.ahead.swap(ahead, Ordering::Relaxed);
        let ahead_seconds = ahead / 1_000_000;
        match (is_wrong(before), is_wrong(ahead)) {
            (false, true) => {
                tracing::warn!(
                    ahead_seconds,
                    "this machine's clock differs from the database's, synchronise both by NTP"
                );
            }
            (true, false) => {
                tracing::info!(
                    ahead_seconds,
                    "this machine's clock agrees with the database's again"
                );
            }
            _ => {}
        }
    }

    /// Returns how many minutes this machine's clock is ahead; negative if it is behind, and 0 while the
    /// difference is below the warning.
    pub fn wrong_minutes(&self) -> i64 {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if is_wrong(ahead) {
            ahead / 60_000_000
        } else {
            0
        }
    }
}

fn is_wrong(ahead: i64) -> bool {
    u128::from(ahead.unsigned_abs()) > limits::CLOCK_WARNING.as_micros()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Micros = Micros(1_800_000_000_000_000);

    #[test]
    fn a_difference_is_shown_from_a_minute_on() {
        let clocks = ClockComparison::default();
        let second = Duration::from_secs(1);
        for (here, minutes) in [
            (NOW.plus(second * 60), 0),
            (NOW.plus(second * 61), 1),
            (NOW.minus(second * 59), 0),
            (NOW.plus(second * 86_400), 1_440),
            (NOW.minus(second * 86_400), -1_440),
        ] {
            clocks.compare(here, NOW);
            assert_eq!(clocks.wrong_minutes(), minutes, "{here:?}");
        }
    }
}
