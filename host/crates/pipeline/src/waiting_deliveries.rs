//! Counts the deliveries that wait for conversion, by connection. A connection that is past
//! its share is refused for now, and the others are not.
//!
//! The store counts for all hosts and across restarts; deliveries that this host takes in
//! between two counts are added.

use std::collections::HashMap;
use std::sync::Mutex;

use leadhost_config::IntakeSection;
use leadhost_domain::id::ConnectionId;

#[derive(Default)]
pub struct WaitingDeliveries {
    counts: Mutex<WaitingCounts>,
}

#[derive(Default)]
struct WaitingCounts {
    all: u64,
    of: HashMap<ConnectionId, u64>,
}

impl WaitingDeliveries {
    pub fn counted(&self, of: HashMap<ConnectionId, u64>) {
        let all = of.values().sum();
        *self.counts.lock().expect("the lock is not poisoned") = WaitingCounts { all, of };
    }

    /// Adds a delivery that this host has taken in since the last count.
    pub fn one_more(&self, connection: &ConnectionId) {
        let mut counts = self.counts.lock().expect("the lock is not poisoned");
        counts.all += 1;
        *counts.of.entry(connection.clone()).or_default() += 1;
    }

    /// Returns whether no more deliveries of this connection may wait. If too many wait in
    /// all, connections with less than an equal share may still add some, so that the total
    /// at most doubles.
    pub fn is_full(&self, connection: &ConnectionId, bounds: &IntakeSection) -> bool {
        let counts = self.counts.lock().expect("the lock is not poisoned");
        let own = counts.of.get(connection).copied().unwrap_or(0);
        let waiting = u64::try_from(counts.of.len()).unwrap_or(u64::MAX).max(1);
        own >= bounds.waiting_of_connection
            || (counts.all >= bounds.waiting && own.saturating_mul(waiting) >= bounds.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: char) -> ConnectionId {
        let text: String = std::iter::repeat_n(letter, 22).collect();
        text.parse().expect("22 characters")
    }

    const BOUNDS: IntakeSection = IntakeSection {
        connection_rate: 0,
        waiting: 10,
        waiting_of_connection: 8,
    };

    #[test]
    fn a_connection_past_its_share_is_full_and_no_other() {
        let waiting = WaitingDeliveries::default();
        waiting.counted(HashMap::from([(id('a'), 7)]));
        assert!(!waiting.is_full(&id('a'), &BOUNDS));
        waiting.one_more(&id('a'));
        assert!(waiting.is_full(&id('a'), &BOUNDS));
        assert!(!waiting.is_full(&id('b'), &BOUNDS));
    }

    #[test]
    fn past_the_total_bound_connections_with_few_deliveries_may_still_add() {
        let waiting = WaitingDeliveries::default();
        waiting.counted(HashMap::from([(id('a'), 6), (id('b'), 4)]));
        assert!(waiting.is_full(&id('a'), &BOUNDS));
        assert!(!waiting.is_full(&id('b'), &BOUNDS));
        waiting.one_more(&id('b'));
        assert!(waiting.is_full(&id('b'), &BOUNDS));
        assert!(!waiting.is_full(&id('c'), &BOUNDS));
    }

    #[test]
    fn a_new_count_replaces_the_added_deliveries() {
        let waiting = WaitingDeliveries::default();
        for _ in 0..9 {
            waiting.one_more(&id('a'));
        }
        assert!(waiting.is_full(&id('a'), &BOUNDS));
        waiting.counted(HashMap::new());
        assert!(!waiting.is_full(&id('a'), &BOUNDS));
    }
}
