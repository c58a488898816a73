//! The pace of a verification: beside live traffic it uses a part of a processor, for its whole time limit.
//! Without live traffic it is as fast as it can be.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use leadhost_domain::limits;
use leadhost_plugin::Plugins;

/// How long traffic counts as live after a call of a plugin.
const LIVE: Duration = Duration::from_millis(100);

pub struct Pace<'a> {
    plugins: &'a Plugins,
    until: Instant,
    state: Mutex<PaceState>,
}

struct PaceState {
    left: u32,
    /// The live calls at the last look, and when they were more than before it.
    calls: u64,
    live_at: Option<Instant>,
}

impl<'a> Pace<'a> {
    pub fn new(plugins: &'a Plugins, comparisons: usize, until: Instant) -> Self {
        Self {
            plugins,
            until,
            state: Mutex::new(PaceState {
                left: u32::try_from(comparisons).unwrap_or(u32::MAX),
                calls: plugins.live_calls(),
                live_at: None,
            }),
        }
    }

    /// Gives way to live traffic after a comparison that began at `began`.
    pub async fn give_way(&self, began: Instant) {
        let rest = self.rest(began, Instant::now());
        if !rest.is_zero() {
            tokio::time::sleep(rest).await;
        }
    }

    fn rest(&self, began: Instant, now: Instant) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left = state.left.saturating_sub(1);
        let calls = self.plugins.live_calls();
        if calls != state.calls {
            state.calls = calls;
            state.live_at = Some(now);
        }
        let is_live = state.live_at.is_some_and(|at| now - at < LIVE);
        if !is_live || state.left == 0 {
            return Duration::ZERO;
        }
        let took = now - began;
        // The comparisons that are left need their time too.
        let at_once = u32::try_from(limits::VERIFY_AT_ONCE).unwrap_or(u32::MAX);
        let share = self.until.saturating_duration_since(now) * at_once / state.left;
        (took * limits::VERIFY_REST_TIMES).min(share.saturating_sub(took))
    }
}
