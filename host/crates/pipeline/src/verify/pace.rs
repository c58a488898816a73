//! The pace of a verification: beside live traffic it uses a part of a processor, for its whole time limit.
//! Without live traffic it is as fast as it can be.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::live_traffic::LiveTraffic;
use leadhost_domain::limits;
use leadhost_plugin::Plugins;

pub struct Pace<'a> {
    plugins: &'a Plugins,
    until: Instant,
    state: Mutex<PaceState>,
}

struct PaceState {
    left: u32,
    traffic: LiveTraffic,
}

impl<'a> Pace<'a> {
    pub fn new(plugins: &'a Plugins, comparisons: usize, until: Instant) -> Self {
        Self {
            plugins,
            until,
            state: Mutex::new(PaceState {
                left: u32::try_from(comparisons).unwrap_or(u32::MAX),
                traffic: LiveTraffic::new(plugins),
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
        if !state.traffic.is_live(self.plugins, now) || state.left == 0 {
            return Duration::ZERO;
        }
        let took = now - began;
        // The comparisons that are left need their time too.
        let at_once = u32::try_from(limits::VERIFY_AT_ONCE).unwrap_or(u32::MAX);
        let share = self.until.saturating_duration_since(now) * at_once / state.left;
        (took * limits::VERIFY_REST_TIMES).min(share.saturating_sub(took))
    }
}
