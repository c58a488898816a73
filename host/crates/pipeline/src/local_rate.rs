//! Rate limits of this host: a rate with a burst, by the generic cell rate algorithm as in
//! `http/rate`. They protect this host alone, so they are kept in its memory.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::prelude::*;
use leadhost_domain::time::micros;

pub struct LocalRateLimiter<K> {
    /// The cost of a request. Zero: there is no bound.
    each: Duration,
    burst: Duration,
    paid: Mutex<HashMap<K, Micros>>,
}

impl<K: Hash + Eq + Clone> LocalRateLimiter<K> {
    /// Allows `many` requests in this time, in one burst or spread. 0: there is no bound.
    pub fn new(many: u32, time: Duration) -> Self {
        // Whole microseconds, like the times that it is added to.
        let each = micros(time)
            .unsigned_abs()
            .checked_div(u64::from(many))
            .map_or(Duration::ZERO, |each| Duration::from_micros(each.max(1)));
        Self {
            each,
            burst: each.saturating_mul(many),
            paid: Mutex::default(),
        }
    }

    /// Charges one request. A refused request costs nothing.
    pub fn ask(&self, who: &K, now: Micros) -> Result<(), Duration> {
        if self.each.is_zero() {
            return Ok(());
        }
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        if paid.len() >= limits::PACED && !paid.contains_key(who) {
            paid.retain(|_, until| until.is_ahead(now, self.burst));
            if paid.len() >= limits::PACED {
                paid.clear();
            }
        }
        let until = match paid.get(who) {
            Some(until) if until.is_ahead(now, self.burst) => *until,
            _ => now,
        };
        let owed = until.since(now).saturating_add(self.each);
        if owed > self.burst {
            return Err(owed.saturating_sub(self.burst));
        }
        match paid.get_mut(who) {
            Some(known) => *known = until.plus(self.each),
            None => drop(paid.insert(who.clone(), until.plus(self.each))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_one_second_is_admitted_and_then_the_rate() {
        let limiter = LocalRateLimiter::new(10, Duration::from_secs(1));
        for _ in 0..10 {
            assert_eq!(limiter.ask(&1, Micros(0)), Ok(()));
        }
        let wait = |micros| Err(Duration::from_micros(micros));
        assert_eq!(limiter.ask(&1, Micros(0)), wait(100_000));
        assert_eq!(limiter.ask(&2, Micros(0)), Ok(()), "another one");
        assert_eq!(limiter.ask(&1, Micros(99_999)), wait(1));
        assert_eq!(limiter.ask(&1, Micros(100_000)), Ok(()));
        assert_eq!(limiter.ask(&1, Micros(100_000)), wait(100_000));
    }

    #[test]
    fn without_a_rate_every_request_is_admitted() {
        let limiter = LocalRateLimiter::new(0, Duration::from_mins(1));
        for _ in 0..1_000 {
            assert_eq!(limiter.ask(&1, Micros(0)), Ok(()));
        }
    }

    #[test]
    fn a_clock_that_goes_backwards_refuses_no_request() {
        let limiter = LocalRateLimiter::new(10, Duration::from_secs(1));
        let before = Micros(0).plus(Duration::from_hours(1));
        for _ in 0..10 {
            assert_eq!(limiter.ask(&1, before), Ok(()));
        }
        assert!(limiter.ask(&1, before).is_err());
        for _ in 0..10 {
            assert_eq!(limiter.ask(&1, Micros(0)), Ok(()));
        }
        assert!(limiter.ask(&1, Micros(0)).is_err(), "the rate holds");
    }

    #[test]
    fn those_that_owe_are_remembered_when_others_make_room() {
        let limiter = LocalRateLimiter::new(1, Duration::from_secs(1));
        for number in 1..limits::PACED {
            assert_eq!(limiter.ask(&number, Micros(0)), Ok(()));
        }
        let later = Micros(0).plus(Duration::from_secs(1));
        for number in [0, limits::PACED] {
            assert_eq!(limiter.ask(&number, later), Ok(()));
        }
        assert!(limiter.ask(&0, later).is_err());
    }

    #[test]
    fn the_remembered_clients_stay_bounded() {
        let limiter = LocalRateLimiter::new(1, Duration::from_secs(1));
        for number in 0..=limits::PACED {
            assert_eq!(limiter.ask(&number, Micros(0)), Ok(()));
        }
        assert!(limiter.paid.lock().expect("not poisoned").len() <= limits::PACED);
    }
}
