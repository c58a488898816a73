//! The requests that this host refused with 507 because nothing could be written. Senders that give up
//! have to send again, so operators learn of them after the disk has room again, and of whose deliveries
//! they were.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;

/// Refused requests of one outage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedWrites {
    /// All of them.
    pub requests: u64,
    /// The deliveries of senders among them, by connection.
    pub deliveries: BTreeMap<ConnectionId, u64>,
    /// The deliveries for which there was no room in `deliveries`.
    pub more_deliveries: u64,
    pub first_at: Micros,
    pub last_at: Micros,
}

impl RefusedWrites {
    fn new(now: Micros) -> Self {
        Self {
            requests: 0,
            deliveries: BTreeMap::new(),
            more_deliveries: 0,
            first_at: now,
            last_at: now,
        }
    }

    fn add(&mut self, sender: Option<&ConnectionId>, now: Micros) {
        self.requests += 1;
        self.last_at = now;
        let Some(sender) = sender else {
            return;
        };
        let has_room = self.deliveries.len() < limits::REFUSED_WRITES_CONNECTIONS;
        if let Some(count) = self.deliveries.get_mut(sender) {
            *count += 1;
        } else if has_room {
            self.deliveries.insert(sender.clone(), 1);
        } else {
            self.more_deliveries += 1;
        }
    }
}

/// The requests that this host has refused, in memory.
#[derive(Default)]
pub struct RefusedWriteCounter(Mutex<Option<RefusedWrites>>);

impl RefusedWriteCounter {
    /// Counts a request: a delivery of this connection's sender, or another one. One long after the last
    /// begins another count.
    pub fn count(&self, sender: Option<&ConnectionId>, now: Micros) {
        let mut counted = self.last_outage();
        let last = counted.take();
        let last = last.filter(|last| last.last_at.is_recent(now, limits::REFUSED_WRITES_REST));
        let mut last = last.unwrap_or_else(|| RefusedWrites::new(now));
        last.add(sender, now);
        *counted = Some(last);
    }

    pub fn recent(&self, now: Micros) -> Option<RefusedWrites> {
        let counted = self.last_outage();
        let recent = counted.as_ref();
        recent
            .filter(|one| one.last_at.is_recent(now, limits::REFUSED_WRITES_SHOWN))
            .cloned()
    }

    fn last_outage(&self) -> MutexGuard<'_, Option<RefusedWrites>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_one_outage_are_counted_and_shown_for_a_day() {
        let counter = RefusedWriteCounter::default();
        let begin = Micros(1_800_000_000_000_000);
        let after = |time| begin.plus(time);
        assert_eq!(counter.recent(begin), None);
        let sender = ConnectionId::generate();
        counter.count(Some(&sender), begin);
        counter.count(None, after(Duration::from_mins(10)));
        let expect = RefusedWrites {
            requests: 2,
            deliveries: BTreeMap::from([(sender, 1)]),
            more_deliveries: 0,
            first_at: begin,
            last_at: after(Duration::from_mins(10)),
        };
        assert_eq!(
            counter.recent(after(Duration::from_hours(20))),
            Some(expect)
        );
        assert_eq!(counter.recent(after(Duration::from_hours(30))), None);
        counter.count(None, after(Duration::from_hours(30)));
        let again = counter.recent(after(Duration::from_hours(30)));
        assert_eq!(
            again,
            Some(RefusedWrites {
                requests: 1,
                ..RefusedWrites::new(after(Duration::from_hours(30)))
            })
        );
    }

    #[test]
    fn the_connections_are_bounded_and_the_deliveries_of_others_are_a_number() {
        let counter = RefusedWriteCounter::default();
        let now = Micros(1_800_000_000_000_000);
        let many = limits::REFUSED_WRITES_CONNECTIONS + 3;
        let senders: Vec<_> = (0..many).map(|_| ConnectionId::generate()).collect();
        for sender in senders.iter().chain(&senders) {
            counter.count(Some(sender), now);
        }
        let counted = counter.recent(now).expect("a count");
        assert_eq!(counted.requests, 2 * many as u64);
        assert_eq!(counted.deliveries.len(), limits::REFUSED_WRITES_CONNECTIONS);
        assert!(counted.deliveries.values().all(|count| *count == 2));
        assert_eq!(counted.more_deliveries, 6);
    }
}
