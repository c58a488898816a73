//! The sum of all comparisons of deliveries or of sends: how it is stored, and how two sums are added.
//! Its fields and connections are bounded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::counts::ComparisonCounts;
use super::examples::DifferenceGroup;
use leadhost_domain::difference::DifferenceKind;
use leadhost_domain::id::ConnectionId;
use leadhost_domain::limits;

/// The name under which fields are counted that exceed [`limits::VERIFY_FIELDS`].
pub(super) const OTHER: &str = "(other fields)";

/// The sum of all comparisons, of deliveries or of sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// Deliveries that both versions converted, refused or failed on.
    pub compared: u64,
    /// Deliveries that both versions convert to the same items.
    pub same: u64,
    /// Leads that the serving version makes of them.
    pub leads: u64,
    /// Leads that the candidate makes of them.
    pub candidate_leads: u64,
    /// Deliveries that the serving version converts, and the candidate refuses or fails on.
    pub newly_failing: DifferenceGroup,
    /// Deliveries that the serving version refuses or fails on, and the candidate converts.
    pub no_longer_failing: DifferenceGroup,
    /// Items other than leads that appear, vanish or become another kind.
    pub items: DifferenceGroup,
    pub appeared: DifferenceGroup,
    pub vanished: DifferenceGroup,
    /// Events that the serving version makes of them.
    pub events: u64,
    /// Events that the candidate makes of them.
    pub candidate_events: u64,
    /// Events that only the candidate makes. They count as [`Self::items`] too.
    pub appeared_events: DifferenceGroup,
    /// Events that only the serving version makes. They count as [`Self::items`] too.
    pub vanished_events: DifferenceGroup,
    /// Leads and events that lost a guarded field, which no number of other fields can hide.
    pub lost: BTreeMap<Cow<'static, str>, DifferenceGroup>,
    /// Leads in which a guarded field changes, by its name; or gains a value that leads of other people have
    /// gained too, with `gained.` before its name.
    pub altered: BTreeMap<Cow<'static, str>, DifferenceGroup>,
    /// Leads and events by field and change.
    #[serde(serialize_with = "write_fields", deserialize_with = "read_fields")]
    pub fields: FieldDifferences,
    /// The numbers by which the candidate is judged.
    pub harm: ComparisonCounts,
    /// The same by connection, at most [`limits::VERIFY_CONNECTIONS`].
    pub connections: BTreeMap<ConnectionId, ComparisonCounts>,
}

type FieldDifferences = BTreeMap<(String, DifferenceKind), DifferenceGroup>;

/// JSON has no keys of two parts: the fields are a list.
fn write_fields<S: Serializer>(fields: &FieldDifferences, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(fields)
}

fn read_fields<'de, D: Deserializer<'de>>(from: D) -> Result<FieldDifferences, D::Error> {
    let pairs = Vec::<((String, DifferenceKind), DifferenceGroup)>::deserialize(from)?;
    Ok(pairs.into_iter().collect())
}

impl Tally {
    fn count(&mut self, connection: &ConnectionId, counts: ComparisonCounts) {
        let is_full = self.connections.len() >= limits::VERIFY_CONNECTIONS;
        match self.connections.get_mut(connection) {
            Some(known) => known.add(counts),
            None if is_full => {}
            None => {
                self.connections.insert(connection.clone(), counts);
            }
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.compared += other.compared;
        self.same += other.same;
        self.leads += other.leads;
        self.candidate_leads += other.candidate_leads;
        self.newly_failing.merge(other.newly_failing);
        self.no_longer_failing.merge(other.no_longer_failing);
        self.items.merge(other.items);
        self.appeared.merge(other.appeared);
        self.vanished.merge(other.vanished);
        self.events += other.events;
        self.candidate_events += other.candidate_events;
        self.appeared_events.merge(other.appeared_events);
        self.vanished_events.merge(other.vanished_events);
        for (field, group) in other.lost {
            self.lost.entry(field).or_default().merge(group);
        }
        for (field, group) in other.altered {
            self.altered.entry(field).or_default().merge(group);
        }
        for ((field, change), group) in other.fields {
            self.group_of(field, change).merge(group);
        }
        self.harm.add(other.harm);
        for (connection, counts) in other.connections {
            self.count(&connection, counts);
        }
    }

    /// Returns the differences of a field and change. Past the bound they are those of [`OTHER`].
    pub(super) fn group_of(
        &mut self,
        field: String,
        change: DifferenceKind,
    ) -> &mut DifferenceGroup {
        // A source chooses the names of attributes: they are bounded.
        let names = self.fields.keys();
        let full = self.fields.len() >= limits::VERIFY_FIELDS
            && names.filter(|(name, _)| name != OTHER).count() >= limits::VERIFY_FIELDS;
        let mut key = (field, change);
        if full && !self.fields.contains_key(&key) {
            key.0 = OTHER.to_owned();
        }
        self.fields.entry(key).or_default()
    }

    /// Returns the numbers of differences by field, or by a name of their own if they belong to no
    /// field.
    pub fn differences(&self) -> impl Iterator<Item = (&str, u64)> {
        let fields = self.fields.iter();
        let fields = fields.map(|((field, _), group)| (field.as_str(), group));
        let others = [
            ("newlyFailing", &self.newly_failing),
            ("noLongerFailing", &self.no_longer_failing),
            ("vanished", &self.vanished),
            ("appeared", &self.appeared),
            ("vanishedEvents", &self.vanished_events),
            ("appearedEvents", &self.appeared_events),
        ];
        let all = fields
            .chain(others)
            .map(|(name, group)| (name, group.count));
        all.filter(|(_, count)| *count > 0)
    }

    /// Returns the leads or events that lost this field, or the answers in which another result is
    /// read or an id is missing, if there are any.
    pub fn lost(&self, field: &str) -> Option<&DifferenceGroup> {
        self.lost.get(field)
    }
}
