//! The rate limit of a workspace: so many requests a minute, in one burst or spread, over all
//! hosts together. The generic cell rate algorithm keeps one time per workspace, at which its
//! requests so far are paid off. It is stored where all hosts see it. A refused request costs
//! nothing, and a host that got a refusal repeats it without asking until a request would be
//! served again.

use std::sync::{Mutex, PoisonError};

use crate::prelude::*;
use leadhost_domain::time::{micros, whole_seconds};
use leadhost_store::{Debt, Price};

const WINDOW: Duration = Duration::from_mins(1);

/// The refused workspaces that this host knows of.
#[derive(Default)]
pub struct RateLimiter(Mutex<HashMap<WorkspaceId, RememberedDebt>>);

#[derive(Clone, Copy)]
struct RememberedDebt {
    debt: Duration,
    since: Micros,
}

/// The rest of a workspace's quota after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub limit: u32,
    pub remaining: u32,
    /// The time until the debt is paid off. Without a rest: the time until a request would be served,
    /// as in `Retry-After`, since a client waits for it.
    pub reset: Duration,
    /// Set if the request is refused: the time until one would be served, at least a second.
    pub retry_after: Option<Duration>,
}

impl RateLimiter {
    /// Charges a request to the workspace, unless it is refused.
    pub async fn ask(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        limit: u32,
        now: Micros,
    ) -> Result<Quota, StoreError> {
        let price = price(limit);
        if let Some(debt) = self.refused(workspace, price, now) {
            return Ok(quota(limit, price, debt));
        }
        let debt = store.pay(workspace, price, now).await?;
        // Asking a store within this process takes no round trip.
        if debt.refused && store.is_shared() {
            self.remember(workspace, debt, now);
        }
        Ok(quota(limit, price, debt))
    }

    /// Returns the debt while it is too great for another request.
    fn refused(&self, workspace: WorkspaceId, price: Price, now: Micros) -> Option<Debt> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = known.get(&workspace)?;
        let passed = now.since(owed.since);
        let debt = price.pay(owed.debt.saturating_sub(passed));
        // If the clock went backwards, this host knows nothing: ask the store.
        if !debt.refused || now < owed.since {
            known.remove(&workspace);
            return None;
        }
        Some(debt)
    }

    fn remember(&self, workspace: WorkspaceId, debt: Debt, now: Micros) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= limits::RATES_REFUSED {
            known.clear();
        }
        let owed = RememberedDebt {
            debt: debt.owed,
            since: now,
        };
        known.insert(workspace, owed);
    }
}

fn price(limit: u32) -> Price {
    let limit = limit.max(1);
    // Whole microseconds, the precision of stores.
    let each = micros(WINDOW).unsigned_abs() / u64::from(limit);
    let each = Duration::from_micros(each);
    Price {
        each,
        full: each * limit,
    }
}

fn quota(limit: u32, price: Price, debt: Debt) -> Quota {
    let owed = debt.owed.min(price.full);
    let rest = price.full - owed;
    let until_served = (owed + price.each).saturating_sub(price.full);
    let remaining = u32::try_from(rest.as_micros() / price.each.as_micros()).unwrap_or(0);
    Quota {
        limit: limit.max(1),
        remaining,
        reset: if remaining == 0 { until_served } else { owed },
        retry_after: debt
            .refused
            .then(|| until_served.max(Duration::from_secs(1))),
    }
}

impl Quota {
    /// Writes the two headers of the draft, and the three that clients read today.
    pub fn write(&self, headers: &mut HeaderMap) {
        let Self {
            limit,
            remaining,
            reset,
            ..
        } = self;
        let (window, reset) = (WINDOW.as_secs(), whole_seconds(*reset));
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
        headers.insert("ratelimit-reset", HeaderValue::from(reset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for one request at the same moment, starting from this debt.
    fn ask(owed: Duration, limit: u32) -> (Duration, Quota) {
        let price = price(limit);
        let debt = price.pay(owed);
        (debt.owed, quota(limit, price, debt))
    }

    #[test]
    fn a_burst_of_the_whole_limit_is_served_and_no_more() {
        let mut owed = Duration::ZERO;
        for left in (0..120).rev() {
            let quota;
            (owed, quota) = ask(owed, 120);
            assert_eq!((quota.retry_after, quota.remaining), (None, left));
        }
        let (after, refused) = ask(owed, 120);
        assert_eq!(refused.retry_after, Some(Duration::from_secs(1)));
        assert_eq!((refused.remaining, whole_seconds(refused.reset)), (0, 1));
        assert_eq!(after, owed, "a refusal costs nothing");
        let (_, paid) = ask(Duration::from_secs(10), 120);
        assert_eq!(whole_seconds(paid.reset), 11, "the time until it is full");
        // Half a second later one request is served.
        let (after, quota) = ask(owed - Duration::from_millis(500), 120);
        assert_eq!(quota.retry_after, None);
        assert!(ask(after, 120).1.retry_after.is_some());
    }

    #[test]
    fn a_clock_that_is_set_back_costs_a_window_at_most() {
        assert_eq!(ask(60 * WINDOW, 1).0, WINDOW);
    }

    #[test]
    fn a_limit_that_does_not_divide_a_minute_is_granted_in_full() {
        let mut owed = Duration::ZERO;
        let served = (0..200)
            .filter(|_| {
                let quota;
                (owed, quota) = ask(owed, 97);
                quota.retry_after.is_none()
            })
            .count();
        assert_eq!(served, 97);
    }

    #[test]
    fn a_refusal_is_repeated_until_a_request_would_be_served() {
        let rate = RateLimiter::default();
        let workspace = WorkspaceId::new(Micros(0));
        let debt = Debt {
            owed: WINDOW,
            refused: true,
        };
        let refused = |workspace, now| rate.refused(workspace, price(120), Micros(now)).is_some();
        rate.remember(workspace, debt, Micros(0));
        assert!(refused(workspace, 0) && refused(workspace, 499_999));
        assert!(!refused(WorkspaceId::new(Micros(0)), 0));
        assert!(!refused(workspace, 500_000));
        rate.remember(workspace, debt, Micros(5));
        assert!(!refused(workspace, 4), "the clock was set back");
        assert!(rate.0.lock().expect("not poisoned").is_empty());
    }
}
