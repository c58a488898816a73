//! How long to wait between attempts.

/// Returns the wait after this many attempts, in the unit of `first`: it doubles with every
/// attempt, up to `longest`.
pub fn doubled(first: i64, longest: i64, attempts: u32) -> i64 {
    let doublings = attempts.saturating_sub(1).min(20);
    first.saturating_mul(1 << doublings).min(longest)
}
