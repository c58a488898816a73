//! Computes how counts change when counted things change: pure, for every store.

use crate::Slots;
use crate::decide::prelude::*;
use leadhost_domain::analytics::{CountKey, MeasureBits, MeasureCounts, TimeSlot, add};
use leadhost_domain::word::words;
use leadhost_domain::zone::{Day, Zone};

words! {
    BuildState: "the state of a build" {
        Making = "making",
        Serving = "serving",
        Retired = "retired",
    }
}

/// The position of a build, and the state of the feed that it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildPosition {
    pub state: BuildState,
    /// The feed is counted up to this stamp.
    pub after: i64,
    /// The feed's clock when the build began.
    pub began: i64,
    /// Grows with every change of the build. A step that finds another number than the one
    /// that it read does nothing.
    pub step: i64,
    /// The feed's last stamp.
    pub clock: i64,
    /// The last removal that the feed has forgotten.
    pub forgotten: i64,
}

impl BuildPosition {
    /// Returns whether the build may have missed a removal that the feed no longer
    /// reports. It never counted what was removed before it began.
    pub fn missed_removals(&self) -> bool {
        self.forgotten > self.after.max(self.began)
    }

    pub fn is_idle(&self) -> bool {
        self.state == BuildState::Serving && self.after >= self.clock
    }

    /// Returns how far the feed is counted after this page, which was read in the same
    /// snapshot.
    pub fn reached(&self, page: &[FeedChange], limit: u32) -> Reached {
        let is_full = page.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        match page.last().filter(|_| is_full) {
            Some(last) => Reached {
                after: last.stamp,
                is_all: false,
            },
            None => Reached {
                after: self.clock.max(self.after),
                is_all: true,
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    pub after: i64,
    pub is_all: bool,
}

/// A counted thing as the feed has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedChange {
    pub stamp: i64,
    pub id: Uuid,
    /// `None`: it was removed, or does not count.
    pub counted: Option<CountedRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRow {
    pub slot: TimeSlot,
    pub key: CountKey,
    pub measured: MeasureBits,
}

/// Returns the keys that the page needs and the store does not have, each once, in the
/// order of their first use.
pub fn new_keys<'a>(page: &'a [FeedChange], set: &HashMap<CountKey, i64>) -> Vec<&'a CountKey> {
    let mut seen = HashSet::new();
    let keys = page
        .iter()
        .filter_map(|change| Some(&change.counted.as_ref()?.key));
    keys.filter(|key| !set.contains_key(*key) && seen.insert(*key))
        .collect()
}

/// Returns the facts of the page's things, by the numbers of their keys.
pub fn facts(
    page: &[FeedChange],
    keys: &HashMap<CountKey, i64>,
) -> Result<Vec<(Uuid, Option<Fact>)>, StoreError> {
    let fact = |counted: &CountedRow| match keys.get(&counted.key) {
        Some(key) => Ok(Fact {
            slot: counted.slot,
            key: *key,
            measured: counted.measured,
        }),
        None => Err(StoreError::Inconsistent {
            what: format!("a key of analytics has no number: {:?}", counted.key),
        }),
    };
    page.iter()
        .map(|change| Ok((change.id, change.counted.as_ref().map(fact).transpose()?)))
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    pub slot: TimeSlot,
    /// The number of its key.
    pub key: i64,
    pub measured: MeasureBits,
}

/// Differences of counts. None is zero.
pub type SlotDeltas = BTreeMap<(TimeSlot, i64), MeasureCounts>;

/// The result of a page of changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deltas {
    pub facts: Vec<(Uuid, Fact)>,
    pub gone: Vec<Uuid>,
    pub slots: SlotDeltas,
}

/// Compares the new facts of things with those that were counted. If a thing occurs
/// twice, the last one counts.
pub fn deltas(before: &HashMap<Uuid, Fact>, now: &[(Uuid, Option<Fact>)]) -> Deltas {
    let last: HashMap<Uuid, Option<Fact>> = now.iter().copied().collect();
    let mut deltas = Deltas::default();
    for (id, now) in last {
        let before = before.get(&id).copied();
        if before == now {
            continue;
        }
        for (fact, sign) in [(before, -1), (now, 1)] {
            if let Some(fact) = fact {
                let counts = deltas.slots.entry((fact.slot, fact.key)).or_default();
                add(counts, &fact.measured.counts(), sign);
            }
        }
        match now {
            Some(fact) => deltas.facts.push((id, fact)),
            None => deltas.gone.push(id),
        }
    }
    deltas
        .slots
        .retain(|_, counts| *counts != MeasureCounts::default());
    deltas.facts.sort_unstable_by_key(|(id, _)| *id);
    deltas.gone.sort_unstable();
    deltas
}

/// Groups the counts of slots before `filled` by local day. A cube has only those.
pub fn by_day(
    slots: impl IntoIterator<Item = ((TimeSlot, i64), MeasureCounts)>,
    zone: &Zone,
    filled: TimeSlot,
) -> BTreeMap<Day, DayCells> {
    let mut days: BTreeMap<Day, DayCells> = BTreeMap::new();
    let mut set: Option<(TimeSlot, Day)> = None;
    for ((slot, key), counts) in slots {
        if slot >= filled {
            continue;
        }
        // The slots are in order, so each day is computed once per slot.
        let day = match set {
            Some((of, day)) if of == slot => day,
            _ => zone.day_of(slot.start()),
        };
        set = Some((slot, day));
        days.entry(day).or_default().add(key, &counts);
    }
    days
}

/// Divides buckets into portions of at most this many slots. A longer bucket is split.
pub fn portions(buckets: &[(Day, Slots)], slots: i32) -> Vec<Vec<(Day, Slots)>> {
    let mut portions: Vec<Vec<(Day, Slots)>> = Vec::new();
    let mut room = 0;
    for (day, bucket) in buckets {
        let mut from = bucket.from.0;
        while from < bucket.to.0 {
            if room == 0 {
                portions.push(Vec::new());
                room = slots.max(1);
            }
            let to = bucket.to.0.min(from.saturating_add(room));
            let part = Slots {
                from: TimeSlot(from),
                to: TimeSlot(to),
            };
            if let Some(portion) = portions.last_mut() {
                portion.push((*day, part));
            }
            room -= to - from;
            from = to;
        }
    }
    portions
}

/// The counts of a local day by key, as a cube stores them: a JSON list of `[key,
/// counts..]`, ordered by key. None is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayCells(BTreeMap<i64, MeasureCounts>);

impl DayCells {
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        Ok(Self(Self::read(text)?.collect()))
    }

    /// Reads the cells in their stored order, without building the map.
    pub fn read(
        text: &str,
    ) -> Result<impl Iterator<Item = (i64, MeasureCounts)> + use<>, StoreError> {
        let odd = |error: serde_json::Error| StoreError::Inconsistent {
            what: format!("cannot parse the cells of a day: {error}"),
        };
        let cells: Vec<(i64, i64, i64, i64, i64, i64)> = serde_json::from_str(text).map_err(odd)?;
        Ok(cells
            .into_iter()
            .map(|(key, a, b, c, d, e)| (key, [a, b, c, d, e])))
    }

    /// Adds counts, which may be negative, to a key's counts. A key whose counts all become 0
    /// is removed.
    pub fn add(&mut self, key: i64, counts: &MeasureCounts) {
        let cell = self.0.entry(key).or_default();
        add(cell, counts, 1);
        if *cell == MeasureCounts::default() {
            self.0.remove(&key);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (key, counts) in other.iter() {
            self.add(key, counts);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (i64, &MeasureCounts)> {
        self.0.iter().map(|(key, counts)| (*key, counts))
    }

    pub fn text(&self) -> String {
        let mut text = String::from("[");
        for (place, (key, counts)) in self.iter().enumerate() {
            let [a, b, c, d, e] = counts;
            let comma = if place == 0 { "" } else { "," };
            text.push_str(&format!("{comma}[{key},{a},{b},{c},{d},{e}]"));
        }
        text.push(']');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(slot: i32, key: i64, met: &[bool]) -> Fact {
        Fact {
            slot: TimeSlot(slot),
            key,
            measured: MeasureBits::from_flags(met),
        }
    }

    #[test]
    fn a_change_is_subtracted_from_the_old_slot_and_added_to_the_new_one() {
        let id = Uuid::from_u128(1);
        let started = fact(1, 7, &[true]);
        let answered = fact(1, 7, &[true, true]);
        let elsewhere = fact(2, 8, &[true, true]);
        let first = deltas(&HashMap::new(), &[(id, Some(started))]);
        assert_eq!(first.slots[&(TimeSlot(1), 7)], [1, 0, 0, 0, 0]);
        let before = HashMap::from([(id, started)]);
        let then = deltas(&before, &[(id, Some(answered))]);
        assert_eq!(then.slots[&(TimeSlot(1), 7)], [0, 1, 0, 0, 0]);
        assert_eq!(deltas(&before, &[(id, Some(started))]), Deltas::default());
        let before = HashMap::from([(id, answered)]);
        let moved = deltas(&before, &[(id, Some(elsewhere))]);
        assert_eq!(moved.slots[&(TimeSlot(1), 7)], [-1, -1, 0, 0, 0]);
        assert_eq!(moved.slots[&(TimeSlot(2), 8)], [1, 1, 0, 0, 0]);
        let gone = deltas(&before, &[(id, None)]);
        assert_eq!((gone.gone, gone.slots.len()), (vec![id], 1));
    }

    #[test]
    fn only_removals_since_a_build_began_can_be_missed() {
        let place = BuildPosition {
            state: BuildState::Making,
            after: 10,
            began: 50,
            step: 3,
            clock: 70,
            forgotten: 40,
        };
        assert!(!place.missed_removals());
        let later = BuildPosition {
            forgotten: 60,
            ..place
        };
        assert!(later.missed_removals());
        let past = BuildPosition { after: 60, ..later };
        assert!(!past.missed_removals());
    }

    #[test]
    fn a_full_page_reaches_its_last_change_and_the_last_page_the_clock() {
        let place = BuildPosition {
            state: BuildState::Serving,
            after: 10,
            began: 5,
            step: 3,
            clock: 70,
            forgotten: 0,
        };
        let change = |stamp| FeedChange {
            stamp,
            id: Uuid::nil(),
            counted: None,
        };
        let page = [change(11), change(12)];
        let reached = place.reached(&page, 2);
        assert_eq!((reached.after, reached.is_all), (12, false));
        let reached = place.reached(&page, 3);
        assert_eq!((reached.after, reached.is_all), (70, true));
    }

    #[test]
    fn long_buckets_are_added_up_in_portions() {
        let slots = |from, to| Slots {
            from: TimeSlot(from),
            to: TimeSlot(to),
        };
        let day = Day(7);
        let buckets = [(day, slots(0, 3)), (day, slots(3, 3)), (day, slots(5, 12))];
        let expect = vec![
            vec![(day, slots(0, 3)), (day, slots(5, 6))],
            vec![(day, slots(6, 10))],
            vec![(day, slots(10, 12))],
        ];
        assert_eq!(portions(&buckets, 4), expect);
    }

    #[test]
    fn cells_of_a_day_are_written_and_read() {
        let mut cells = DayCells::default();
        cells.add(3, &[1, 0, 0, 0, 2]);
        cells.add(1, &[1, 1, 0, 0, 0]);
        assert_eq!(cells.text(), "[[1,1,1,0,0,0],[3,1,0,0,0,2]]");
        assert_eq!(DayCells::parse(&cells.text()).expect("cells"), cells);
        cells.add(1, &[-1, -1, 0, 0, 0]);
        assert_eq!(cells.text(), "[[3,1,0,0,0,2]]");
        assert!(DayCells::parse("[[1]]").is_err());
    }
}
