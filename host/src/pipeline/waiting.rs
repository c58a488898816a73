//! How many deliveries wait for conversion, and of whom: past its share a connection
//! is told to come again, and the others are not.
//!
//! The store counts, for all hosts and across restarts; what this host takes in
//! between two counts is added.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::config::Intake;
use crate::domain::id::ConnectionId;

#[derive(Default)]
pub struct Waiting {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: u64,
    of: HashMap<ConnectionId, u64>,
}

impl Waiting {
    pub fn counted(&self, of: HashMap<ConnectionId, u64>) {
        let all = of.values().sum();
        *self.counts.lock().expect("nobody panics holding it") = Counts { all, of };
    }

    pub fn one_more(&self, connection: &ConnectionId) {
        let mut counts = self.counts.lock().expect("nobody panics holding it");
        counts.all += 1;
        *counts.of.entry(connection.clone()).or_default() += 1;
    }

    /// Whether no more of this connection may wait. When too much waits in all, those
    /// still may who have less than an equal part of it: so it is at most doubled.
    pub fn is_full(&self, connection: &ConnectionId, bounds: &Intake) -> bool {
        let counts = self.counts.lock().expect("nobody panics holding it");
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

    const BOUNDS: Intake = Intake {
        connection_rate: 0,
        waiting: 10,
        waiting_of_connection: 8,
    };

    #[test]
    fn a_connection_past_its_share_is_full_and_no_other() {
        let waiting = Waiting::default();
        waiting.counted(HashMap::from([(id('a'), 7)]));
        assert!(!waiting.is_full(&id('a'), &BOUNDS));
        waiting.one_more(&id('a'));
        assert!(waiting.is_full(&id('a'), &BOUNDS));
        assert!(!waiting.is_full(&id('b'), &BOUNDS));
    }

    #[test]
    fn past_the_bound_of_all_those_with_little_still_may() {
        let waiting = Waiting::default();
        waiting.counted(HashMap::from([(id('a'), 6), (id('b'), 4)]));
        assert!(waiting.is_full(&id('a'), &BOUNDS));
        assert!(!waiting.is_full(&id('b'), &BOUNDS));
        waiting.one_more(&id('b'));
        assert!(waiting.is_full(&id('b'), &BOUNDS));
        assert!(!waiting.is_full(&id('c'), &BOUNDS));
    }

    #[test]
    fn a_new_count_takes_the_place_of_what_was_added() {
        let waiting = Waiting::default();
        for _ in 0..9 {
            waiting.one_more(&id('a'));
        }
        assert!(waiting.is_full(&id('a'), &BOUNDS));
        waiting.counted(HashMap::new());
        assert!(!waiting.is_full(&id('a'), &BOUNDS));
    }
}
