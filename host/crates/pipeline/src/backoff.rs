//! The wait between attempts.

use std::time::Duration;

/// Returns the wait after this many attempts: it doubles with every attempt, up to `longest`.
pub fn doubled(first: Duration, longest: Duration, attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(20);
    first.saturating_mul(1 << doublings).min(longest)
}
