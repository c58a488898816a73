//! The sum of all comparisons of deliveries or of sends: how it is stored, and how two sums are added.
//! Its fields and connections are bounded.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::prelude::*;
use leadhost_domain::difference::{ComparisonCounts, DifferenceGroup, Differences};

/// The sum of all comparisons, of deliveries or of sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    #[serde(flatten)]
    pub differences: Differences,
    pub events: u64,
    pub candidate_events: u64,
    /// Events that only the candidate makes. They count as [`Differences::items`] too.
    pub appeared_events: DifferenceGroup,
    /// Events that only the serving version makes. They count as [`Differences::items`] too.
    pub vanished_events: DifferenceGroup,
    /// Leads and events that lost a guarded field, which no number of other fields can hide.
    pub lost: BTreeMap<Cow<'static, str>, DifferenceGroup>,
    /// Leads in which a guarded field changes, by its name; or gains a value that leads of other people have
    /// gained too, with `gained.` before its name.
    pub altered: BTreeMap<Cow<'static, str>, DifferenceGroup>,
    pub harm: ComparisonCounts,
    /// The same by connection, at most [`limits::VERIFY_CONNECTIONS`].
    pub connections: BTreeMap<ConnectionId, ComparisonCounts>,
}

impl Tally {
    pub fn merge(&mut self, other: Self) {
        self.differences.merge(other.differences);
        self.events += other.events;
        self.candidate_events += other.candidate_events;
        self.appeared_events.merge(other.appeared_events);
        self.vanished_events.merge(other.vanished_events);
        for (sum, other) in [
            (&mut self.lost, other.lost),
            (&mut self.altered, other.altered),
        ] {
            for (field, group) in other {
                sum.entry(field).or_default().merge(group);
            }
        }
        self.harm = self.harm.plus(other.harm);
        for (connection, counts) in other.connections {
            let is_full = self.connections.len() >= limits::VERIFY_CONNECTIONS;
            if !is_full || self.connections.contains_key(&connection) {
                let known = self.connections.entry(connection).or_default();
                *known = known.plus(counts);
            }
        }
    }

    /// Returns the numbers of differences by field, or by a name of their own if they belong to no
    /// field.
    pub fn by_name(&self) -> impl Iterator<Item = (&str, u64)> {
        let all = &self.differences;
        let fields = all.fields.iter();
        let fields = fields.map(|one| (one.field.as_str(), &one.differences));
        let others = [
            ("newlyFailing", &all.newly_failing),
            ("noLongerFailing", &all.no_longer_failing),
            ("vanished", &all.vanished),
            ("appeared", &all.appeared),
            ("vanishedEvents", &self.vanished_events),
            ("appearedEvents", &self.appeared_events),
        ];
        let all = fields
            .chain(others)
            .map(|(name, group)| (name, group.count));
        all.filter(|(_, count)| *count > 0)
    }
}
