//! Rate limits of this host: a rate with a burst, by the generic cell rate algorithm as in
//! `rate`. They protect this host alone, so they are kept in its memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Micros;
use crate::limits;

pub struct Pace<K> {
    /// The microseconds that a request costs. 0: there is no bound.
    each: i64,
    /// The greatest debt, in microseconds.
    burst: i64,
    /// When the debt of each is paid off.
    paid: Mutex<HashMap<K, Micros>>,
}

impl<K: Hash + Eq + Clone> Pace<K> {
    /// Allows `many` requests per `time` microseconds, in one burst or spread. 0: there is no
    /// bound.
    pub fn new(many: u32, time: i64) -> Self {
        let each = time
            .checked_div(i64::from(many))
            .map_or(0, |each| each.max(1));
        Self {
            each,
            burst: each * i64::from(many),
            paid: Mutex::default(),
        }
    }

    /// Charges one request. A refused request costs nothing.
    ///
    /// # Errors
    ///
    /// The seconds after which `who` may try again.
    pub fn ask(&self, who: &K, now: Micros) -> Result<(), u64> {
        if self.each == 0 {
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
        let owed = until.0 - now.0 + self.each;
        if owed > self.burst {
            let wait = u64::try_from(owed - self.burst).unwrap_or(0);
            return Err(wait.div_ceil(1_000_000).max(1));
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
        let pace = Pace::new(10, Micros::SECOND);
        for _ in 0..10 {
            assert_eq!(pace.ask(&1, Micros(0)), Ok(()));
        }
        assert_eq!(pace.ask(&1, Micros(0)), Err(1));
        assert_eq!(pace.ask(&2, Micros(0)), Ok(()), "another one");
        assert_eq!(pace.ask(&1, Micros(99_999)), Err(1));
        assert_eq!(pace.ask(&1, Micros(100_000)), Ok(()));
        assert_eq!(pace.ask(&1, Micros(100_000)), Err(1));
    }

    #[test]
    fn without_a_rate_every_request_is_admitted() {
        let pace = Pace::new(0, Micros::MINUTE);
        for _ in 0..1_000 {
            assert_eq!(pace.ask(&1, Micros(0)), Ok(()));
        }
    }

    #[test]
    fn a_clock_that_goes_backwards_refuses_no_request() {
        let pace = Pace::new(10, Micros::SECOND);
        let before = Micros(Micros::HOUR);
        for _ in 0..10 {
            assert_eq!(pace.ask(&1, before), Ok(()));
        }
        assert_eq!(pace.ask(&1, before), Err(1));
        for _ in 0..10 {
            assert_eq!(pace.ask(&1, Micros(0)), Ok(()));
        }
        assert_eq!(pace.ask(&1, Micros(0)), Err(1), "the rate holds");
    }

    #[test]
    fn the_remembered_clients_stay_bounded() {
        let pace = Pace::new(1, Micros::SECOND);
        for number in 0..=limits::PACED {
            assert_eq!(pace.ask(&number, Micros(0)), Ok(()));
        }
        assert!(pace.paid.lock().expect("not poisoned").len() <= limits::PACED);
    }
}
