//! The requests that this host refused with 507 because nothing could be written. Senders that give up
//! have to send again, so operators learn of them after the disk has room again, and of whose deliveries
//! they were.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_pipeline::activity::HOUR;

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

/// The deliveries of one connection that were refused, by the number of the hour and of the slot since 1970,
/// like the activity beside which they are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedSlots {
    pub hours: BTreeMap<i64, u64>,
    /// Only the last two hours.
    pub slots: BTreeMap<i64, u64>,
}

impl RefusedSlots {
    fn add(&mut self, now: Micros) {
        let hour = now.slot(HOUR);
        *self.hours.entry(hour).or_default() += 1;
        *self
            .slots
            .entry(now.slot(limits::ACTIVITY_SLOT))
            .or_default() += 1;
        self.hours
            .retain(|at, _| *at > hour - limits::ACTIVITY_HOURS);
        let first = (hour - 1) * limits::ACTIVITY_SLOTS_PER_HOUR;
        self.slots.retain(|at, _| *at >= first);
    }
}

/// The requests that this host has refused, in memory.
#[derive(Default)]
pub struct RefusedWriteCounter {
    last_outage: Mutex<Option<RefusedWrites>>,
    /// By connection, of as many as an outage counts.
    over_time: Mutex<BTreeMap<ConnectionId, RefusedSlots>>,
}

impl RefusedWriteCounter {
    /// Counts a request: a delivery of this connection's sender, or another one. One long after the last
    /// begins another count.
    pub fn count(&self, sender: Option<&ConnectionId>, now: Micros) {
        if let Some(sender) = sender {
            self.count_over_time(sender, now);
        }
        let mut counted = lock(&self.last_outage);
        let last = counted.take();
        let last = last.filter(|last| last.last_at.is_recent(now, limits::REFUSED_WRITES_REST));
        let mut last = last.unwrap_or_else(|| RefusedWrites::new(now));
        last.add(sender, now);
        *counted = Some(last);
    }

    fn count_over_time(&self, sender: &ConnectionId, now: Micros) {
        let mut counted = lock(&self.over_time);
        if !counted.contains_key(sender) && counted.len() >= limits::REFUSED_WRITES_CONNECTIONS {
            let first = now.slot(HOUR) - limits::ACTIVITY_HOURS;
            counted.retain(|_, of| of.hours.keys().any(|at| *at > first));
            if counted.len() >= limits::REFUSED_WRITES_CONNECTIONS {
                return;
            }
        }
        counted.entry(sender.clone()).or_default().add(now);
    }

    pub fn over_time(&self) -> BTreeMap<ConnectionId, RefusedSlots> {
        lock(&self.over_time).clone()
    }

    pub fn recent(&self, now: Micros) -> Option<RefusedWrites> {
        let counted = lock(&self.last_outage);
        let recent = counted.as_ref();
        recent
            .filter(|one| one.last_at.is_recent(now, limits::REFUSED_WRITES_SHOWN))
            .cloned()
    }
}

fn lock<T>(counted: &Mutex<T>) -> MutexGuard<'_, T> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn deliveries_are_counted_over_a_week_and_the_connections_are_bounded() {
        let counter = RefusedWriteCounter::default();
        let begin = Micros(1_800_000_000_000_000);
        let sender = ConnectionId::generate();
        counter.count(Some(&sender), begin);
        counter.count(Some(&sender), begin);
        counter.count(None, begin);
        let later = begin.plus(Duration::from_hours(30));
        counter.count(Some(&sender), later);
        let counted = counter.over_time();
        assert_eq!(counted.len(), 1);
        let of = &counted[&sender];
        let hours = BTreeMap::from([(begin.slot(HOUR), 2), (later.slot(HOUR), 1)]);
        assert_eq!(of.hours, hours);
        let slots = BTreeMap::from([(later.slot(limits::ACTIVITY_SLOT), 1)]);
        assert_eq!(of.slots, slots);

        for _ in 0..limits::REFUSED_WRITES_CONNECTIONS + 3 {
            counter.count(Some(&ConnectionId::generate()), later);
        }
        let most = limits::REFUSED_WRITES_CONNECTIONS;
        assert_eq!(counter.over_time().len(), most);
        // Those of a past week make room.
        let last = ConnectionId::generate();
        counter.count(Some(&last), later.plus(Duration::from_hours(24 * 8)));
        assert_eq!(counter.over_time().len(), 1);
        assert!(counter.over_time().contains_key(&last));
    }
}
