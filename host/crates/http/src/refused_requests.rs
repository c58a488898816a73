//! The requests that this host refused with 429, 503 or 507, by reason. Senders that give up have to send
//! again, so operators learn of them after the cause has gone, and of whose deliveries they were. A flood of
//! refusals is one line of the log a second.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;

/// Requests that were refused for one reason, without a long pause between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequests {
    /// All of them.
    pub requests: u64,
    /// The deliveries of senders among them, by connection.
    pub deliveries: BTreeMap<ConnectionId, u64>,
    /// The deliveries for which there was no room in `deliveries`.
    pub more_deliveries: u64,
    pub first_at: Micros,
    pub last_at: Micros,
    /// When the log got a line, and the requests since then.
    logged: Option<(Micros, u64)>,
}

impl RefusedRequests {
    fn new(now: Micros) -> Self {
        Self {
            requests: 0,
            deliveries: BTreeMap::new(),
            more_deliveries: 0,
            first_at: now,
            last_at: now,
            logged: None,
        }
    }

    fn add(&mut self, sender: Option<&ConnectionId>, now: Micros) {
        self.requests += 1;
        self.last_at = now;
        let Some(sender) = sender else {
            return;
        };
        let has_room = self.deliveries.len() < limits::REFUSED_CONNECTIONS;
        if let Some(count) = self.deliveries.get_mut(sender) {
            *count += 1;
        } else if has_room {
            self.deliveries.insert(sender.clone(), 1);
        } else {
            self.more_deliveries += 1;
        }
    }

    /// Returns the requests since the last line of the log, if the next one is due.
    fn logs(&mut self, now: Micros, every: Duration) -> Option<u64> {
        match &mut self.logged {
            Some((at, more)) if at.is_recent(now, every) => {
                *more += 1;
                None
            }
            logged => {
                let more = logged.map_or(0, |(_, more)| more);
                *logged = Some((now, 0));
                Some(more)
            }
        }
    }
}

/// The requests that this host has refused, in memory.
#[derive(Default)]
pub struct RefusedRequestCounter(Mutex<BTreeMap<Shed, RefusedRequests>>);

impl RefusedRequestCounter {
    /// Counts a request: a delivery of this connection's sender, or another one. One long after the last
    /// begins another count. Returns the requests since the last line of the log, if the next one is due.
    fn count(&self, shed: Shed, sender: Option<&ConnectionId>, now: Micros) -> Option<u64> {
        let mut counted = self.counted();
        let last = counted
            .entry(shed)
            .or_insert_with(|| RefusedRequests::new(now));
        if !last.last_at.is_recent(now, limits::REFUSED_REST) {
            *last = RefusedRequests::new(now);
        }
        last.add(sender, now);
        last.logs(now, every(shed))
    }

    pub fn recent(&self, now: Micros) -> Vec<(Shed, RefusedRequests)> {
        let counted = self.counted();
        let recent = counted
            .iter()
            .filter(|(shed, one)| one.last_at.is_recent(now, shown(**shed)));
        recent.map(|(shed, one)| (*shed, one.clone())).collect()
    }

    fn counted(&self) -> MutexGuard<'_, BTreeMap<Shed, RefusedRequests>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Http {
    /// Counts a refused request in the metrics and for operators, and logs the first of each second.
    pub fn count_refused(&self, shed: Shed, sender: Option<&ConnectionId>) {
        self.core.metrics.http.shed(shed);
        let now = self.core.clock.now();
        if let Some(more) = self.refused_requests.count(shed, sender, now) {
            tracing::warn!(
                reason = shed.as_str(),
                refused_since_last_line = more,
                "request refused"
            );
        }
    }
}

/// Without room every write is refused, perhaps for hours.
fn every(shed: Shed) -> Duration {
    Duration::from_secs(if shed == Shed::Full { 60 } else { 1 })
}

/// Nothing is left of what was refused for want of room, so those who come in the morning learn of it.
fn shown(shed: Shed) -> Duration {
    match shed {
        Shed::Full => limits::REFUSED_WRITES_SHOWN,
        _ => limits::REFUSED_REST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(recent: Vec<(Shed, RefusedRequests)>) -> Option<RefusedRequests> {
        assert!(recent.len() < 2, "{recent:?}");
        recent.into_iter().next().map(|(_, one)| one)
    }

    #[test]
    fn refusals_are_counted_by_reason_and_those_without_room_are_shown_for_a_day() {
        let counter = RefusedRequestCounter::default();
        let begin = Micros(1_800_000_000_000_000);
        let after = |time| begin.plus(time);
        assert_eq!(counter.recent(begin), []);
        let sender = ConnectionId::generate();
        counter.count(Shed::Full, Some(&sender), begin);
        counter.count(Shed::Full, None, after(Duration::from_mins(10)));
        counter.count(Shed::Writes, None, begin);
        assert_eq!(counter.recent(after(Duration::from_mins(10))).len(), 2);
        let full = only(counter.recent(after(Duration::from_hours(20)))).expect("a count");
        assert_eq!((full.requests, full.more_deliveries), (2, 0));
        assert_eq!(full.deliveries, BTreeMap::from([(sender, 1)]));
        assert_eq!(
            (full.first_at, full.last_at),
            (begin, after(Duration::from_mins(10)))
        );
        let later = after(Duration::from_hours(30));
        assert_eq!(counter.recent(later), []);
        counter.count(Shed::Full, None, later);
        let again = only(counter.recent(later)).expect("a count");
        assert_eq!((again.requests, again.first_at), (1, later));
    }

    #[test]
    fn the_connections_are_bounded_and_the_deliveries_of_others_are_a_number() {
        let counter = RefusedRequestCounter::default();
        let now = Micros(1_800_000_000_000_000);
        let many = limits::REFUSED_CONNECTIONS + 3;
        let senders: Vec<_> = (0..many).map(|_| ConnectionId::generate()).collect();
        for sender in senders.iter().chain(&senders) {
            counter.count(Shed::Writes, Some(sender), now);
        }
        let counted = only(counter.recent(now)).expect("a count");
        assert_eq!(counted.requests, 2 * many as u64);
        assert_eq!(counted.deliveries.len(), limits::REFUSED_CONNECTIONS);
        assert!(counted.deliveries.values().all(|count| *count == 2));
        assert_eq!(counted.more_deliveries, 6);
    }

    #[test]
    fn refusals_of_one_reason_are_a_line_a_second_with_a_count() {
        let counter = RefusedRequestCounter::default();
        let begin = Micros(1_800_000_000_000_000);
        let refuse =
            |shed, seconds: i64| counter.count(shed, None, Micros(begin.0 + seconds * 1_000_000));
        let rate = Shed::RateOfOneConnection;
        assert_eq!(refuse(rate, 0), Some(0));
        for _ in 0..9 {
            assert_eq!(refuse(rate, 0), None);
        }
        assert_eq!(
            refuse(Shed::Writes, 0),
            Some(0),
            "another reason has its own line"
        );
        assert_eq!(refuse(rate, 1), Some(9));
        assert_eq!(refuse(Shed::Full, 1), Some(0));
        assert_eq!(refuse(Shed::Full, 50), None);
    }
}
