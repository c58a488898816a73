//! Whether live traffic uses this host now. Background work gives way to it, and otherwise takes what the machine
//! has left.

use std::time::Duration;

use tokio::time::Instant;

use leadhost_plugin::Plugins;

/// How long traffic counts as live after a call of a plugin.
const LIVE: Duration = Duration::from_millis(100);

pub struct LiveTraffic {
    /// The live calls at the last look, and when they were more than before it.
    calls: u64,
    live_at: Option<Instant>,
}

impl LiveTraffic {
    pub fn new(plugins: &Plugins) -> Self {
        Self {
            calls: plugins.live_calls(),
            live_at: None,
        }
    }

    pub fn is_live(&mut self, plugins: &Plugins, now: Instant) -> bool {
        self.look(plugins.live_calls(), now)
    }

    fn look(&mut self, calls: u64, now: Instant) -> bool {
        if calls != self.calls {
            self.calls = calls;
            self.live_at = Some(now);
        }
        self.live_at.is_some_and(|at| now - at < LIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_live_for_a_moment_after_a_call() {
        let (begin, mut traffic) = (
            Instant::now(),
            LiveTraffic {
                calls: 7,
                live_at: None,
            },
        );
        assert!(!traffic.look(7, begin));
        assert!(traffic.look(8, begin));
        assert!(traffic.look(8, begin + LIVE / 2));
        assert!(!traffic.look(8, begin + LIVE));
    }
}
