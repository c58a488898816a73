//! How old the values are that sources gave a deal and its person: sources send their changes in
//! another order than they made them, and deliveries may be converted again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::DeliveryId;
use super::limits;
use super::time::{self, Micros};

/// The property of a deal with the source's time of what it said last.
pub const OCCURRED_AT: &str = "occurredAt";

/// How far the clock of a source may be ahead. A time that is later than the arrival by more is wrong: a
/// clock, a zone or a unit is.
const SKEW: Duration = Duration::from_mins(5);

/// 2000-01-01. Earlier times are those that programs write for none: the first year, 1899, 1970.
const EARLIEST: i64 = 946_684_800_000_000;

/// The age of a value. The source's time decides which of two is older; if one has none, or one that
/// cannot be, or both are the same, the one whose delivery arrived first is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Age {
    /// The source's time.
    at: Option<i64>,
    /// When the delivery arrived. `None`: it arrived before ages were kept.
    arrived: Option<i64>,
    delivery: Option<DeliveryId>,
    /// The place of the lead in its delivery.
    #[serde(default)]
    item: u32,
}

impl Age {
    /// Returns the age of the values of a lead with this time of its source, as the deal's property has
    /// it, at this place in this delivery.
    pub fn new(occurred_at: Option<&str>, delivery: Option<(DeliveryId, Micros, u32)>) -> Self {
        Self {
            at: occurred_at.and_then(time::parse).map(|time| time.0),
            arrived: delivery.map(|(_, arrived, _)| arrived.0),
            delivery: delivery.map(|(id, ..)| id),
            item: delivery.map_or(0, |(.., item)| item),
        }
    }

    /// Returns the source's time, unless nothing can have happened then: before sources sent anything, or
    /// after the delivery arrived.
    fn time(self) -> Option<i64> {
        let latest = self.arrived.map(|arrived| Micros(arrived).plus(SKEW).0);
        let is_past = |at: &i64| latest.is_none_or(|latest| *at <= latest);
        self.at.filter(|at| *at >= EARLIEST).filter(is_past)
    }

    /// Returns whether the source gave a time that cannot be, so that it orders nothing.
    pub fn is_mistimed(self) -> bool {
        self.at.is_some() && self.time().is_none()
    }

    /// Returns whether both are of one lead in one delivery.
    pub fn is_of_same(self, other: Self) -> bool {
        self.delivery.is_some() && (self.delivery, self.item) == (other.delivery, other.item)
    }

    /// Returns whether it is known when its delivery arrived.
    pub fn is_dated(self) -> bool {
        self.arrived.is_some()
    }

    /// Returns whether it is later than another by the source's times. `None`: one of them has none.
    pub fn is_later_than(self, other: Self) -> Option<bool> {
        Some(self.time()? > other.time()?)
    }

    /// Returns whether it is older than another. A lead is not older than itself. If it arrives
    /// now, nothing arrived after it, whatever a clock that was set back says.
    pub fn is_older_than(self, other: Self, arrives: bool) -> bool {
        let earlier = |one: Option<i64>, two: Option<i64>| {
            let (one, two) = (one?, two?);
            (one != two).then_some(one < two)
        };
        // A value from before arrivals were kept arrived before this one.
        let arrived = other.arrived.or(self.arrived.filter(|_| arrives));
        let before = Self { arrived, ..other };
        !self.is_of_same(other)
            && earlier(self.time(), before.time())
                .or_else(|| earlier(self.arrived, other.arrived).filter(|_| !arrives))
                .unwrap_or(false)
    }
}

/// The ages of the values of a deal and its person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The age of values that have no own one. `None`: the deal is older than ages, or its source
    /// gave it none.
    base: Option<Age>,
    /// By the name of the field, as differences have it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    own: BTreeMap<String, Age>,
    /// The source has changed the lead, but not announced it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncreated: bool,
    /// Digests of what the source has said: the first and the newest ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<i64>,
}

impl Provenance {
    /// Returns the provenance of a new deal.
    pub fn new(age: Age, uncreated: bool) -> Self {
        Self {
            base: Some(age),
            own: BTreeMap::new(),
            uncreated,
            seen: Vec::new(),
        }
    }

    /// Gives the values without an own age this one, unless they have one.
    pub fn begin(&mut self, base: Age) {
        self.base.get_or_insert(base);
    }

    pub fn of(&self, field: &str) -> Age {
        let own = self.own.get(field).copied();
        own.or(self.base).unwrap_or_default()
    }

    /// Returns the age of a value that has its own.
    pub fn own(&self, field: &str) -> Option<Age> {
        self.own.get(field).copied()
    }

    pub fn set(&mut self, field: &str, age: Age) {
        if self.base == Some(age) {
            self.own.remove(field);
        } else {
            self.own.insert(field.to_owned(), age);
        }
    }

    /// Returns the ages of all values but this one.
    pub fn others(&self, field: &str) -> impl Iterator<Item = Age> {
        let own = self.own.iter().filter(move |(name, _)| *name != field);
        self.base.into_iter().chain(own.map(|(_, age)| *age))
    }

    /// Remembers the digest of what the source said. Returns whether it was new.
    pub fn see(&mut self, digest: i64) -> bool {
        if self.has_seen(digest) {
            return false;
        }
        if self.seen.len() == limits::SEEN_OF_A_LEAD {
            self.seen.remove(1);
        }
        self.seen.push(digest);
        true
    }

    pub fn has_seen(&self, digest: i64) -> bool {
        self.seen.contains(&digest)
    }

    /// Returns whether any value is newer than this age.
    pub fn has_newer(&self, age: Age, arrives: bool) -> bool {
        let mut all = self.base.iter().chain(self.own.values());
        all.any(|known| age.is_older_than(*known, arrives))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delivery that arrived this many hours after noon.
    fn delivery(arrived: i64) -> (DeliveryId, Micros, u32) {
        let id = u128::from(arrived.unsigned_abs());
        let noon = time::parse("2026-03-02T12:00:00Z").expect("a time");
        let arrived = noon.plus_seconds(arrived * 3_600);
        (DeliveryId(uuid::Uuid::from_u128(id)), arrived, 0)
    }

    #[test]
    fn the_time_of_the_source_decides_and_else_the_arrival() {
        let age = |at: Option<&str>, arrived: Option<i64>| Age::new(at, arrived.map(delivery));
        let (early, late) = (Some("2026-03-02T12:01:00Z"), Some("2026-03-02T12:05:00Z"));
        for (one, two, is_older) in [
            (age(early, Some(2)), age(late, Some(1)), true),
            (age(late, Some(1)), age(early, Some(2)), false),
            (age(early, Some(1)), age(early, Some(2)), true),
            (age(early, Some(2)), age(early, Some(1)), false),
            (age(None, Some(1)), age(late, Some(2)), true),
            (age(early, Some(2)), age(None, Some(1)), false),
            (age(None, Some(1)), age(None, Some(2)), true),
            (age(Some("yesterday"), Some(2)), age(late, Some(1)), false),
            // Of the same lead, which another version read differently.
            (age(early, Some(1)), age(late, Some(1)), false),
            // Of another lead of the same delivery.
            (
                age(early, Some(1)),
                Age {
                    item: 1,
                    ..age(late, Some(1))
                },
                true,
            ),
            (
                age(late, Some(1)),
                Age {
                    item: 1,
                    ..age(early, Some(1))
                },
                false,
            ),
            (
                age(None, Some(1)),
                Age {
                    item: 1,
                    ..age(None, Some(1))
                },
                false,
            ),
            // Of a deal that is older than ages.
            (age(None, Some(1)), age(None, None), false),
            (age(early, Some(1)), age(late, None), true),
        ] {
            assert_eq!(one.is_older_than(two, false), is_older, "{one:?} {two:?}");
            let by_time = is_older && one.at < two.at && one.at.is_some();
            assert_eq!(one.is_older_than(two, true), by_time, "{one:?} {two:?}");
        }
    }

    #[test]
    fn a_time_that_cannot_be_does_not_order() {
        let check = |known: &str, arrived: Option<i64>, expect: bool| {
            let known = Age::new(Some(known), arrived.map(delivery));
            let change = Age::new(Some("2026-03-02T13:59:59Z"), Some(delivery(3)));
            let is_older = change.is_older_than(known, true);
            assert_eq!(is_older, expect, "{known:?}");
            assert_eq!(
                known.is_mistimed(),
                !expect && arrived.is_some(),
                "{known:?}"
            );
        };
        // The clock of the source is a little ahead.
        check("2026-03-02T14:04:00Z", Some(2), true);
        for wrong in [
            "2126-03-02T12:00:00Z",
            "9999-12-31T00:00:00Z",
            "2531-08-29T00:00:00Z",
            "2026-03-02T16:00:00Z",
        ] {
            check(wrong, Some(1), false);
            // It was stored before arrivals were.
            check(wrong, None, false);
        }
        for none in [
            "0001-01-01T00:00:00Z",
            "1899-12-30T00:00:00Z",
            "1970-01-01T00:00:00Z",
        ] {
            let change = Age::new(Some(none), Some(delivery(2)));
            let known = Age::new(Some("2026-03-02T12:30:00Z"), Some(delivery(1)));
            assert!(
                change.is_mistimed() && !change.is_older_than(known, true),
                "{none}"
            );
            assert!(!change.is_older_than(known, false), "{none}");
        }
    }

    #[test]
    fn what_a_source_said_first_and_last_is_remembered() {
        let most = i64::try_from(limits::SEEN_OF_A_LEAD).expect("few");
        let mut ages = Provenance::default();
        assert!((0..=most).all(|digest| ages.see(digest)));
        assert!(!ages.see(0) && !ages.see(most) && !ages.has_seen(1));
        assert_eq!(ages.seen.len(), limits::SEEN_OF_A_LEAD);
    }

    #[test]
    fn a_field_has_its_own_age_or_that_of_the_deal() {
        let age = |arrived| Age::new(None, Some(delivery(arrived)));
        let mut ages = Provenance::new(age(1), false);
        ages.set("title", age(2));
        ages.set("name", age(1));
        assert_eq!((ages.of("title"), ages.of("name")), (age(2), age(1)));
        assert!(ages.has_newer(age(1), false) && !ages.has_newer(age(2), false));
        assert!(!ages.has_newer(age(1), true));
        let text = serde_json::to_string(&ages).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Provenance>(&text).expect("read"),
            ages
        );
        assert_eq!(
            serde_json::from_str::<Provenance>("{}").expect("read"),
            Provenance::default()
        );
    }
}
