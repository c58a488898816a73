//! Definitions of the counts that analytics keeps: the measures of each metric set, by the
//! quarter of an hour in which a thing began and by who handled it.
//!
//! Every measure of a thing is counted in the quarter in which the thing began. So
//! `answered` never exceeds `started`, and a rate is a true share.

use super::id::AgentId;
use super::row::Entity;
use super::time::Micros;
use super::word::words;
use super::zone::Day;

words! {
    /// A group of measures that one feed gives.
    MetricSet: "the metric set" {
        Conversations = "conversations",
        Tickets = "tickets",
    }
}

impl MetricSet {
    /// The job that counts this set, as the freshness report names it.
    pub fn job(self) -> &'static str {
        match self {
            Self::Conversations => "conversations_rollup",
            Self::Tickets => "tickets_rollup",
        }
    }

    /// The number of this set in the store. Never reused.
    pub const fn code(self) -> u8 {
        match self {
            Self::Conversations => 1,
            Self::Tickets => 2,
        }
    }

    /// Returns the set with this number in the store. `None` if it is not known.
    pub fn coded(code: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|set| i64::from(set.code()) == code)
    }

    /// The feed that reports the changes.
    pub fn entity(self) -> Entity {
        match self {
            Self::Conversations => Entity::Conversations,
            Self::Tickets => Entity::Tickets,
        }
    }

    /// The names of its measures, in the order of [`MeasureCounts`]. The first one counts every
    /// thing.
    pub fn measures(self) -> &'static [&'static str] {
        match self {
            Self::Conversations => &[
                "conversations_started",
                "conversations_answered",
                "conversations_no_response",
                "appointments",
                "transferred",
            ],
            Self::Tickets => &["tickets_opened", "tickets_answered", "tickets_resolved"],
        }
    }
}

/// The number of measures of the metric set that has the most.
pub const MEASURES: usize = 5;

/// The count of each measure; measures that a set does not have are 0.
pub type MeasureCounts = [i64; MEASURES];

pub fn add(to: &mut MeasureCounts, counts: &MeasureCounts, sign: i64) {
    for (to, count) in to.iter_mut().zip(counts) {
        *to += sign * count;
    }
}

/// A quarter of an hour, counted from 1970-01-01T00:00Z. The local days of all zones have
/// begun with one since 1973.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSlot(pub i32);

impl TimeSlot {
    const MICROS: i64 = 15 * 60 * 1_000_000;
    /// Less than every slot in which something begins.
    pub const BEGINNING: Self = Self(i32::MIN);
    /// Greater than every slot in which something begins.
    pub const END: Self = Self(i32::MAX);

    pub fn containing(instant: Micros) -> Self {
        Self(i32::try_from(instant.0.div_euclid(Self::MICROS)).unwrap_or(i32::MAX))
    }

    /// Returns the first slot that begins at the instant or later.
    pub fn from(instant: Micros) -> Self {
        Self::containing(Micros(instant.0.saturating_add(Self::MICROS - 1)))
    }

    /// Returns the instant at which the slot begins.
    pub fn start(self) -> Micros {
        Micros(i64::from(self.0) * Self::MICROS)
    }
}

/// Characters of a source by which counts are kept apart. The bound exists because an index
/// is on the source.
pub const SOURCE_CHARACTERS: usize = 255;

/// The dimensions of a count. An empty source counts as none, and a long one is cut
/// ([`source`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountKey {
    pub agent_type: Option<String>,
    pub agent: Option<AgentId>,
    pub source: Option<String>,
}

impl CountKey {
    /// Creates a key. An empty text and the agent 0 count as none, and a long source is cut.
    pub fn new(agent_type: Option<String>, agent: Option<i64>, source: Option<String>) -> Self {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        Self {
            agent_type: some(agent_type),
            agent: agent.filter(|agent| *agent != 0).map(AgentId),
            source: some(source).map(self::source),
        }
    }

    /// The key as a store keeps it: '' and 0 stand for none.
    pub fn stored(&self) -> (&str, i64, &str) {
        (
            self.agent_type.as_deref().unwrap_or_default(),
            self.agent.map_or(0, |agent| agent.0),
            self.source.as_deref().unwrap_or_default(),
        )
    }
}

/// Cuts a source to [`SOURCE_CHARACTERS`]. The source of a lead has no bound of its own,
/// and an index of a store takes no key of some thousand bytes.
pub fn source(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(SOURCE_CHARACTERS) {
        text.truncate(end);
    }
    text
}

/// The contribution of one thing: one to each measure whose bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureBits(pub u8);

impl MeasureBits {
    /// Takes one flag for each measure, in their order.
    pub fn from_flags(met: &[bool]) -> Self {
        let bits = met.iter().enumerate();
        Self(bits.fold(0, |bits, (place, met)| bits | (u8::from(*met) << place)))
    }

    pub fn counts(self) -> MeasureCounts {
        std::array::from_fn(|place| i64::from(self.0 >> place & 1))
    }
}

words! {
    /// The length of a bucket of the answer.
    Granularity: "the granularity" {
        Day = "day",
        /// Begins on Monday.
        Week = "week",
        Month = "month",
    }
}

impl Granularity {
    /// Returns the bucket of a day, as its first day.
    pub fn period(self, day: Day) -> Day {
        match self {
            Self::Day => day,
            Self::Week => day.week(),
            Self::Month => day.month(),
        }
    }

    pub fn after(self, period: Day) -> Day {
        match self {
            Self::Day => period.plus(1),
            Self::Week => period.plus(7),
            Self::Month => period.plus(31).month(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measure_has_the_bit_of_its_position() {
        let measured = MeasureBits::from_flags(&[true, false, true]);
        assert_eq!(measured.counts(), [1, 0, 1, 0, 0]);
        for set in MetricSet::ALL {
            assert!(set.measures().len() <= MEASURES);
        }
    }

    #[test]
    fn a_long_source_is_cut() {
        let long = "é".repeat(SOURCE_CHARACTERS);
        assert_eq!(source(long.clone()), long);
        assert_eq!(source(format!("{long}é")), long);
        let key = CountKey::new(None, None, Some(format!("{long} and more")));
        assert_eq!(key.source, Some(long));
    }

    #[test]
    fn an_instant_is_in_its_quarter_of_an_hour() {
        assert_eq!(TimeSlot::containing(Micros(-1)), TimeSlot(-1));
        assert_eq!(TimeSlot::containing(Micros(TimeSlot::MICROS)), TimeSlot(1));
        assert_eq!(TimeSlot::from(Micros(1)), TimeSlot(1));
        assert_eq!(TimeSlot::from(Micros(0)), TimeSlot(0));
        assert_eq!(TimeSlot(3).start(), Micros(3 * TimeSlot::MICROS));
    }
}
