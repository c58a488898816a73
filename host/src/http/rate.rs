//! How often a workspace may ask: so many requests a minute, in one burst or
//! spread. The generic cell rate algorithm keeps one time a workspace, by which
//! what was asked so far is paid off. A refused request pays nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;

/// The window of the limit.
const WINDOW: i64 = Micros::MINUTE;

/// The state of every workspace that asked: one entry each, and only with a valid key.
#[derive(Default)]
pub struct RateLimiter(Mutex<HashMap<WorkspaceId, Micros>>);

/// What is left to a workspace after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub limit: u32,
    pub remaining: u32,
    /// Seconds until everything is paid off.
    pub reset: u64,
    /// The request is refused: seconds until one would be served.
    pub retry_after: Option<u64>,
}

impl RateLimiter {
    pub fn ask(&self, workspace: WorkspaceId, limit: u32, now: Micros) -> Quota {
        let mut paid_off = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = paid_off.entry(workspace).or_insert(now);
        let (next, quota) = ask(*due, limit, now);
        *due = next;
        quota
    }
}

fn ask(due: Micros, limit: u32, now: Micros) -> (Micros, Quota) {
    let limit = limit.max(1);
    let price = WINDOW / i64::from(limit);
    let full = price * i64::from(limit);
    // A clock that was set back does not leave a debt of more than a window.
    let debt = (due.0 - now.0).clamp(0, full);
    let after = debt + price;
    let refused = after > full;
    let debt = if refused { debt } else { after };
    let quota = Quota {
        limit,
        remaining: u32::try_from((full - debt) / price).unwrap_or(0),
        reset: seconds(debt),
        retry_after: refused.then(|| seconds(after - full).max(1)),
    };
    (Micros(now.0 + debt), quota)
}

/// Whole seconds, rounded up.
fn seconds(micros: i64) -> u64 {
    u64::try_from(micros).unwrap_or(0).div_ceil(1_000_000)
}

impl Quota {
    /// The draft's two headers, and the three that clients read today.
    pub fn write(&self, headers: &mut HeaderMap) {
        let Self {
            limit,
            remaining,
            reset,
            ..
        } = self;
        let window = WINDOW / Micros::SECOND;
        let texts = [
            (
                "ratelimit-policy",
                format!("\"workspace\";q={limit};w={window}"),
            ),
            (
                "ratelimit",
                format!("\"workspace\";r={remaining};t={reset}"),
            ),
        ];
        for (name, text) in texts {
            let value = HeaderValue::from_str(&text).expect("digits and plain signs");
            headers.insert(HeaderName::from_static(name), value);
        }
        headers.insert("ratelimit-limit", HeaderValue::from(*limit));
        headers.insert("ratelimit-remaining", HeaderValue::from(*remaining));
        headers.insert("ratelimit-reset", HeaderValue::from(*reset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_the_whole_limit_is_served_and_no_more() {
        let rate = RateLimiter::default();
        let workspace = WorkspaceId::new(Micros(0));
        let now = Micros(1_700_000_000_000_000);
        for left in (0..120).rev() {
            let quota = rate.ask(workspace, 120, now);
            assert_eq!((quota.retry_after, quota.remaining), (None, left));
        }
        let refused = rate.ask(workspace, 120, now);
        assert_eq!(refused.retry_after, Some(1));
        assert_eq!((refused.remaining, refused.reset), (0, 60));
        // Refusals cost nothing: half a second later one is served.
        for _ in 0..1000 {
            rate.ask(workspace, 120, now);
        }
        let later = now.plus(Micros::SECOND / 2);
        assert_eq!(rate.ask(workspace, 120, later).retry_after, None);
        assert!(rate.ask(workspace, 120, later).retry_after.is_some());
    }

    #[test]
    fn a_workspace_does_not_pay_for_another() {
        let rate = RateLimiter::default();
        let ask = |workspace| rate.ask(workspace, 1, Micros(0)).retry_after;
        let (one, other) = (WorkspaceId::new(Micros(0)), WorkspaceId::new(Micros(0)));
        assert_eq!(ask(one), None);
        assert_eq!(ask(one), Some(60));
        assert_eq!(ask(other), None);
    }

    #[test]
    fn a_clock_that_is_set_back_costs_a_window_at_most() {
        let (due, _) = ask(Micros(Micros::HOUR), 1, Micros(0));
        assert_eq!(due, Micros(Micros::MINUTE));
    }

    #[test]
    fn a_limit_that_does_not_divide_a_minute_still_gives_itself() {
        let mut due = Micros(0);
        let served = (0..200)
            .filter(|_| {
                let (next, quota) = ask(due, 97, Micros(0));
                due = next;
                quota.retry_after.is_none()
            })
            .count();
        assert_eq!(served, 97);
    }
}
