//! The last conversions of a connection, each delivery once: whether its deliveries keep failing.

use crate::prelude::*;
use std::collections::VecDeque;

/// How the conversion of a delivery by a version ended, as far as it says something about the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedConversion {
    Converted,
    Refused,
    /// The version is at fault, or was not called because it keeps failing.
    Failed,
    /// The host could not call it, or it will be called again with more time.
    Unknown,
}

impl ObservedConversion {
    pub fn fails(self) -> bool {
        matches!(self, Self::Refused | Self::Failed)
    }
}

#[derive(Debug, Default)]
pub struct LastConversions(VecDeque<(DeliveryId, Digest, ObservedConversion)>);

const IN_A_ROW: usize = limits::BREAKER_FAILURES as usize;
const WORKS: usize = 10;

impl LastConversions {
    pub fn add(&mut self, digest: &Digest, delivery: DeliveryId, outcome: ObservedConversion) {
        if outcome == ObservedConversion::Unknown {
            return;
        }
        self.0.retain(|(known, ..)| *known != delivery);
        if self.0.len() >= limits::BLAME_LAST {
            self.0.pop_front();
        }
        self.0.push_back((delivery, digest.clone(), outcome));
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.0.back().map(|(_, digest, _)| digest)
    }

    /// Returns whether its last ones failed, as many as open the circuit breaker, or half of many.
    pub fn keep_failing(&self) -> bool {
        let (failed, all) = self.failed();
        let in_a_row = self.newest().take_while(|(_, outcome)| outcome.fails());
        in_a_row.count() >= IN_A_ROW || all >= limits::BLAME_LAST / 2 && 2 * failed >= all
    }

    /// Returns whether a version no longer fails: it works again, or another one converts.
    pub fn no_longer_fail_on(&self, digest: &Digest) -> bool {
        let enough = if self.digest() == Some(digest) {
            WORKS
        } else {
            1
        };
        let last = self.newest().take(enough);
        last.filter(|(_, outcome)| !outcome.fails()).count() == enough
    }

    pub fn has_faults(&self) -> bool {
        let mut last = self.newest();
        last.any(|(_, outcome)| outcome == ObservedConversion::Failed)
    }

    /// Returns how many of its last ones failed or were refused, and how many there are.
    pub fn failed(&self) -> (usize, usize) {
        (self.failing().len(), self.newest().count())
    }

    /// Returns those on which it failed, newest first. The newest may not be stored yet, so there are more
    /// than a trial needs; the same for [`Self::converted`].
    pub fn failing(&self) -> Vec<DeliveryId> {
        let failing = self.newest().filter(|(_, outcome)| outcome.fails());
        failing.map(|(delivery, _)| delivery).collect()
    }

    /// Returns those that any version converted, newest first: in a canary the versions alternate.
    pub fn converted(&self) -> Vec<DeliveryId> {
        let newest = self.0.iter().rev();
        let converted = newest.filter(|(.., outcome)| !outcome.fails());
        converted.map(|(delivery, ..)| *delivery).collect()
    }

    fn newest(&self) -> impl Iterator<Item = (DeliveryId, ObservedConversion)> {
        let newest = self.0.iter().rev();
        let newest = newest.filter(|(_, digest, _)| Some(digest) == self.digest());
        newest.map(|(delivery, _, outcome)| (*delivery, *outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::ObservedConversion::{Converted, Failed, Refused, Unknown};
    use super::*;

    #[test]
    fn failures_in_a_row_or_half_of_many_keep_failing_and_each_delivery_counts_once() {
        let id = |number: u128| DeliveryId(uuid::Uuid::from_u128(number));
        let (first, other) = (Digest::compute(b"a component"), Digest::compute(b"another"));
        let mut last = LastConversions::default();
        for _ in 0..10 {
            last.add(&first, id(0), Failed);
        }
        assert!(!last.keep_failing());
        for (number, outcome) in [(1, Unknown), (1, Failed), (2, Refused)] {
            last.add(&first, id(number), outcome);
        }
        assert!(last.keep_failing());
        assert_eq!(last.failing(), [id(2), id(1), id(0)]);
        last.add(&first, id(3), Converted);
        assert!(!last.keep_failing() && !last.no_longer_fail_on(&first));
        for number in 4..10 {
            let outcome = if number % 2 == 0 { Failed } else { Converted };
            last.add(&first, id(number), outcome);
        }
        assert!(last.keep_failing());
        assert_eq!(last.failed(), (6, 10));
        for number in 10..20 {
            last.add(&first, id(number), Converted);
        }
        assert!(last.no_longer_fail_on(&first) && !last.keep_failing());
        last.add(&other, id(20), Failed);
        assert!(!last.no_longer_fail_on(&first));
        assert_eq!(last.failed(), (1, 1));
        // What the version before converted.
        assert_eq!(last.converted()[..2], [id(19), id(18)]);
        last.add(&other, id(19), Converted);
        assert!(last.no_longer_fail_on(&first));
    }
}
