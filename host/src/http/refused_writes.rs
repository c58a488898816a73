//! The requests that this host refused with 507 because nothing could be written. Senders that give up
//! have to send again, so operators learn of them after the disk has room again.

use std::sync::{Mutex, PoisonError};

use crate::domain::time::Micros;
use crate::limits;

/// Refused requests of one outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedWrites {
    pub requests: u64,
    pub first_at: Micros,
    pub last_at: Micros,
}

/// The last outage of this host, in memory.
#[derive(Default)]
pub struct RefusedWriteCounter(Mutex<Option<RefusedWrites>>);

impl RefusedWriteCounter {
    /// Counts a request. One long after the last begins another count.
    pub fn count(&self, now: Micros) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counted.as_mut() {
            Some(last) if last.last_at.is_recent(now, limits::REFUSED_WRITES_REST) => {
                last.requests += 1;
                last.last_at = now;
            }
            _ => {
                *counted = Some(RefusedWrites {
                    requests: 1,
                    first_at: now,
                    last_at: now,
                });
            }
        }
    }

    /// Returns the count while operators should know of it.
    pub fn recent(&self, now: Micros) -> Option<RefusedWrites> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.filter(|one| one.last_at.is_recent(now, limits::REFUSED_WRITES_SHOWN))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn refusals_of_one_outage_are_counted_and_shown_for_a_day() {
        let counter = RefusedWriteCounter::default();
        let begin = Micros(1_800_000_000_000_000);
        let after = |time| begin.plus(time);
        assert_eq!(counter.recent(begin), None);
        counter.count(begin);
        counter.count(after(Duration::from_mins(10)));
        let expect = RefusedWrites {
            requests: 2,
            first_at: begin,
            last_at: after(Duration::from_mins(10)),
        };
        assert_eq!(
            counter.recent(after(Duration::from_hours(20))),
            Some(expect)
        );
        assert_eq!(counter.recent(after(Duration::from_hours(30))), None);
        counter.count(after(Duration::from_hours(30)));
        let again = counter.recent(after(Duration::from_hours(30)));
        assert_eq!(again.map(|one| one.requests), Some(1));
    }
}
