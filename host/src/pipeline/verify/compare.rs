//! Compares what two versions make of the same deliveries, and adds the differences up: by
//! outcome, and by field and kind of change, each with a few masked examples.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::composed::{IDS, RESULT};
use super::flaws::Flaws;
use super::outcome::{FieldValue, OutcomeItem, Reason, VersionOutcome};
use crate::domain::difference::{DifferenceKind, ItemKind};
use crate::domain::id::{ConnectionId, DeliveryId, MessageId};
use crate::domain::text::counted;
use crate::limits;
use crate::plugin::without_place;

/// The delivery or send that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    Delivery(DeliveryId),
    /// A send.
    Message(MessageId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivery(id) => write!(f, "delivery {id}"),
            Self::Message(id) => write!(f, "message {id}"),
        }
    }
}

/// One difference, masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Stored as `delivery` or `message`.
    #[serde(flatten)]
    pub subject: Subject,
    pub connection: ConnectionId,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The fields whose loss harms a lead.
pub const GUARDED: [&str; 6] = ["name", "phone", "email", "externalId", "listing", "action"];

/// The guarded fields that must not change either.
const IDENTITY: [&str; 2] = ["externalId", "action"];

/// The fields of events whose loss harms, as the harm is counted: with [`OF_EVENTS`] before their
/// names.
pub const GUARDED_OF_EVENTS: [&str; 7] = [
    "event.externalId",
    "event.contact",
    "event.template",
    "event.sender",
    "event.text",
    "event.state",
    "event.optOut",
];

/// Tells the guarded fields of events from those of leads.
const OF_EVENTS: &str = "event.";

/// The only guarded field of events that may change.
const TEXT: &str = "event.text";

/// Differences of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceGroup {
    pub count: u64,
    pub examples: Vec<Example>,
}

impl DifferenceGroup {
    /// Counts a difference, with an example as long as there are few. The values are masked.
    fn add(
        &mut self,
        compared: &ComparedSubject<'_>,
        before: Option<String>,
        after: Option<String>,
    ) {
        self.count += 1;
        if self.examples.len() < limits::VERIFY_EXAMPLES {
            self.examples.push(Example {
                subject: compared.subject,
                connection: compared.connection.clone(),
                before,
                after,
            });
        }
    }

    /// Adds the differences of another sum, with its examples as long as there are few.
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        let room = limits::VERIFY_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }
}

/// The numbers by which a candidate is judged. Each delivery or send counts once for a kind of
/// harm, however many leads and fields it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ComparisonCounts {
    /// Deliveries that both versions converted, refused or failed on.
    pub compared: u64,
    /// Deliveries that only the candidate refuses or fails on.
    pub failing: u64,
    /// Deliveries in which a lead or an event loses a guarded field, or a field that identifies it
    /// changes; sends for which the versions read different results in the answer, or the candidate
    /// misses an id of the provider.
    pub lost: u64,
    /// Deliveries in which a lead, a pointer or an event vanishes; sends whose request vanishes.
    pub vanished: u64,
    /// Deliveries in which one appears.
    pub appeared: u64,
    /// Sends whose request differs.
    pub changed: u64,
}

impl ComparisonCounts {
    /// Returns whether the candidate does harm: it fails, a lead or an event loses a guarded field,
    /// vanishes or appears, or the result of a send differs. A different request is no harm in itself.
    pub fn is_harmful(self) -> bool {
        self.failing + self.lost + self.vanished + self.appeared > 0
    }

    /// Returns what came after an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            compared: self.compared.saturating_sub(earlier.compared),
            failing: self.failing.saturating_sub(earlier.failing),
            lost: self.lost.saturating_sub(earlier.lost),
            vanished: self.vanished.saturating_sub(earlier.vanished),
            appeared: self.appeared.saturating_sub(earlier.appeared),
            changed: self.changed.saturating_sub(earlier.changed),
        }
    }

    fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.failing += other.failing;
        self.lost += other.lost;
        self.vanished += other.vanished;
        self.appeared += other.appeared;
        self.changed += other.changed;
    }
}

/// The memory that both versions needed for one delivery, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub serving: u64,
    pub candidate: u64,
}

/// A delivery or a send whose outcomes under both versions are compared.
pub struct ComparedSubject<'a> {
    pub subject: Subject,
    pub connection: &'a ConnectionId,
    /// Stored answers have completed pointers of the serving version, so that its leads may be those of
    /// another request than the candidate's.
    pub is_answered: bool,
}

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

/// The comparison of one delivery or send.
#[derive(Debug, Default)]
pub struct ComparedOutcomes {
    tally: Tally,
    /// Why the candidate makes nothing of it.
    reason: Option<Reason>,
    /// The flaws of the stable version's outcome.
    stable: Flaws,
}

impl ComparedOutcomes {
    /// Compares the outcomes of one delivery or send.
    pub fn compare(
        compared: &ComparedSubject<'_>,
        stable: &VersionOutcome,
        candidate: &VersionOutcome,
    ) -> Self {
        Self {
            tally: Tally::from_one(compared, stable, candidate),
            reason: reason(candidate).cloned(),
            stable: Flaws::from(stable),
        }
    }

    /// Returns the connection of the delivery or send.
    pub fn connections(&self) -> impl Iterator<Item = &ConnectionId> {
        self.tally.connections.keys()
    }

    /// Returns the flaws of the delivery under the stable version.
    pub fn stable_flaws(&self) -> Flaws {
        self.stable
    }

    /// Returns the differences with the reasons of plugins, which may name a person: they are shown
    /// to an operator, and not stored.
    pub fn into_shown(self) -> Tally {
        self.tally
    }

    /// Returns the differences without texts that may name a person: the reasons of plugins, and
    /// numbers in the names of attributes. The deliveries that the examples name have both. Of the
    /// failures of the candidate, which no delivery has, the words of the service stay.
    pub fn into_stored(self) -> Tally {
        let mut tally = self.tally;
        let forget = |group: &mut DifferenceGroup| {
            for example in &mut group.examples {
                example.before = None;
                example.after = None;
            }
        };
        for example in &mut tally.newly_failing.examples {
            example.before = None;
            example.after = self.reason.as_ref().map(stored_reason);
        }
        forget(&mut tally.no_longer_failing);
        for ((field, change), mut group) in std::mem::take(&mut tally.fields) {
            if ["error", "reason"].contains(&field.as_str()) {
                forget(&mut group);
            }
            let name = field.chars().take(limits::VERIFY_NAME_CHARACTERS);
            let name = name.map(|one| if one.is_ascii_digit() { '#' } else { one });
            tally.group_of(name.collect(), change).merge(group);
        }
        tally
    }
}

impl Tally {
    /// Compares the outcomes of one delivery or send.
    fn from_one(
        compared: &ComparedSubject<'_>,
        stable: &VersionOutcome,
        candidate: &VersionOutcome,
    ) -> Self {
        let mut one = Self::default();
        one.compare(compared, stable, candidate);
        let once = |found: bool| u64::from(found);
        let mut harm = one.harm;
        harm.compared = 1;
        harm.failing = once(one.newly_failing.count > 0);
        harm.lost = once(!one.lost.is_empty());
        harm.vanished = once(harm.vanished + one.vanished.count > 0);
        harm.appeared = once(harm.appeared + one.appeared.count > 0);
        harm.changed = once(harm.changed > 0);
        one.harm = harm;
        one.connections.insert(compared.connection.clone(), harm);
        one
    }

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
        for ((field, change), group) in other.fields {
            self.group_of(field, change).merge(group);
        }
        self.harm.add(other.harm);
        for (connection, counts) in other.connections {
            self.count(&connection, counts);
        }
    }

    fn compare(
        &mut self,
        compared: &ComparedSubject<'_>,
        stable: &VersionOutcome,
        candidate: &VersionOutcome,
    ) {
        self.compared += 1;
        self.leads += many(stable, ItemKind::is_lead);
        self.candidate_leads += many(candidate, ItemKind::is_lead);
        let is_event = |kind| kind == ItemKind::Event;
        self.events += many(stable, is_event);
        self.candidate_events += many(candidate, is_event);
        let is_same = match (stable, candidate) {
            (VersionOutcome::Converted(before), VersionOutcome::Converted(after)) => {
                self.items(compared, before, after)
            }
            (VersionOutcome::Converted(_), other) => {
                self.newly_failing
                    .add(compared, None, why(other).map(shortened));
                false
            }
            (other, VersionOutcome::Converted(_)) => {
                self.no_longer_failing
                    .add(compared, why(other).map(shortened), None);
                false
            }
            (before, after) if is_same_crash(before, after) => true,
            // Both fail, for different reasons.
            (before, after) => {
                let value = |outcome| why(outcome).map(|why| FieldValue::One(why.to_owned()));
                let (before, after) = (value(before), value(after));
                self.field(compared, "error", before.as_ref(), after.as_ref())
            }
        };
        self.same += u64::from(is_same);
    }

    /// Returns whether the items are the same.
    fn items(
        &mut self,
        compared: &ComparedSubject<'_>,
        before: &[OutcomeItem],
        after: &[OutcomeItem],
    ) -> bool {
        let mut is_same = true;
        for (old, new) in pairs(before, after) {
            match (old, new) {
                (Some(old), Some(new)) if old.kind == new.kind => {
                    is_same &= self.item(compared, old, new);
                }
                // The difference of its request is counted already.
                (Some(one), None) | (None, Some(one)) if one.kind == ItemKind::Answer => {
                    is_same = false;
                }
                // The candidate fetches the lead by another request, for which no answer is stored.
                (Some(old), Some(new))
                    if compared.is_answered
                        && old.kind == ItemKind::Lead
                        && new.kind == ItemKind::Fetch =>
                {
                    let (lead, fetch) = (old.kind.as_str(), "another request, not compared");
                    self.items
                        .add(compared, Some(lead.to_owned()), Some(fetch.to_owned()));
                    is_same = false;
                }
                (old, new) => {
                    let is_lead =
                        |item: Option<&OutcomeItem>| item.is_some_and(|item| item.kind.is_lead());
                    let is_event = |item: Option<&OutcomeItem>| {
                        let kinds = [ItemKind::Event, ItemKind::Send];
                        item.is_some_and(|item| kinds.contains(&item.kind))
                    };
                    self.harm.vanished += u64::from(is_event(old));
                    self.harm.appeared += u64::from(is_event(new));
                    let kind =
                        |item: Option<&OutcomeItem>| item.map(|item| item.kind.as_str().to_owned());
                    let is_event_of_delivery = |item: Option<&OutcomeItem>| {
                        item.is_some_and(|item| item.kind == ItemKind::Event)
                    };
                    if is_event_of_delivery(old) {
                        self.vanished_events.add(compared, kind(old), kind(new));
                    }
                    if is_event_of_delivery(new) {
                        self.appeared_events.add(compared, kind(old), kind(new));
                    }
                    let group = match (is_lead(old), is_lead(new)) {
                        (true, _) => &mut self.vanished,
                        (_, true) => &mut self.appeared,
                        _ => &mut self.items,
                    };
                    group.add(compared, kind(old), kind(new));
                    is_same = false;
                }
            }
        }
        is_same
    }

    /// Returns whether the fields are the same.
    fn item(
        &mut self,
        compared: &ComparedSubject<'_>,
        old: &OutcomeItem,
        new: &OutcomeItem,
    ) -> bool {
        for field in GUARDED.iter().filter(|_| old.kind == ItemKind::Lead) {
            let found = difference(old.fields.get(*field), new.fields.get(*field), masked);
            match found {
                Some((DifferenceKind::Lost, gone, _)) => {
                    let lost = self.lost.entry(Cow::Borrowed(*field)).or_default();
                    lost.add(compared, gone, None);
                }
                // A changed identity counts as a lost lead: its deal is not found, or another
                // lead's deal is.
                Some((DifferenceKind::Changed, before, after)) if IDENTITY.contains(field) => {
                    let lost = self.lost.entry(Cow::Borrowed(*field)).or_default();
                    lost.add(compared, before, after);
                }
                _ => {}
            }
        }
        for counted in GUARDED_OF_EVENTS
            .iter()
            .filter(|_| old.kind == ItemKind::Event)
        {
            let name = counted.strip_prefix(OF_EVENTS).unwrap_or(counted);
            let found = difference(old.fields.get(name), new.fields.get(name), masked);
            match found {
                Some((DifferenceKind::Gained, ..)) | None => {}
                Some((DifferenceKind::Changed, ..)) if *counted == TEXT => {}
                Some((DifferenceKind::Lost | DifferenceKind::Changed, before, after)) => {
                    let lost = self.lost.entry(Cow::Borrowed(*counted)).or_default();
                    lost.add(compared, before, after);
                }
            }
        }
        if old.kind == ItemKind::Answer {
            let (before, after) = (old.fields.get(RESULT), new.fields.get(RESULT));
            // The result of the send differs.
            if let Some((_, before, after)) = difference(before, after, shortened) {
                let lost = self.lost.entry(Cow::Borrowed(RESULT)).or_default();
                lost.add(compared, before, after);
            } else if let Some((DifferenceKind::Lost | DifferenceKind::Changed, before, after)) =
                difference(old.fields.get(IDS), new.fields.get(IDS), masked)
            {
                // Without this id, later statuses and replies would not find their message.
                let lost = self.lost.entry(Cow::Borrowed(IDS)).or_default();
                lost.add(compared, before, after);
            }
        }
        let mut is_same = true;
        let names: BTreeSet<&String> = old.fields.keys().chain(new.fields.keys()).collect();
        for name in names {
            is_same &= self.field(compared, name, old.fields.get(name), new.fields.get(name));
        }
        if old.kind == ItemKind::Send && !is_same {
            self.harm.changed += 1;
        }
        is_same
    }

    /// Returns whether the values are the same.
    fn field(
        &mut self,
        compared: &ComparedSubject<'_>,
        name: &str,
        before: Option<&FieldValue>,
        after: Option<&FieldValue>,
    ) -> bool {
        // Reasons are not masked: operators see them with each delivery too. The other fields of
        // this list have words of the adapter, the host and the provider.
        let show: fn(&str) -> String = match name {
            "error" | "reason" => shortened,
            "request.method" | "request.host" => shortened,
            RESULT | "answer.category" | "answer.code" | "answer.retryAfter" => shortened,
            _ => masked,
        };
        let Some((change, before, after)) = difference(before, after, show) else {
            return true;
        };
        self.group_of(name.to_owned(), change)
            .add(compared, before, after);
        false
    }

    fn group_of(&mut self, field: String, change: DifferenceKind) -> &mut DifferenceGroup {
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

/// Returns the change of a field, and the values that are gone and new. If a field has several
/// values, one that is gone without a new one is lost, even if others are left. A new value that is shown
/// like the one that is gone has the places at which they differ after it.
fn difference(
    before: Option<&FieldValue>,
    after: Option<&FieldValue>,
    show: fn(&str) -> String,
) -> Option<(DifferenceKind, Option<String>, Option<String>)> {
    let (before, after) = (values(before), values(after));
    let gone: Vec<&str> = before.difference(&after).copied().collect();
    let new: Vec<&str> = after.difference(&before).copied().collect();
    let change = match (gone.is_empty(), new.is_empty()) {
        (true, true) => return None,
        (false, true) => DifferenceKind::Lost,
        (true, false) => DifferenceKind::Gained,
        (false, false) => DifferenceKind::Changed,
    };
    let shown_gone: Vec<String> = gone.iter().map(|one| show(one)).collect();
    let mut shown_new: Vec<String> = new.iter().map(|one| show(one)).collect();
    let pairs = gone
        .iter()
        .zip(&new)
        .zip(shown_gone.iter().zip(&mut shown_new));
    for ((before, after), (shown_before, shown_after)) in pairs {
        if shown_before == shown_after {
            shown_after.push_str(&differing_places(before, after));
        }
    }
    let joined = |shown: Vec<String>| (!shown.is_empty()).then(|| shown.join(", "));
    Some((change, joined(shown_gone), joined(shown_new)))
}

/// Returns the places at which two values differ, without a character of them: their masks do not show it.
fn differing_places(before: &str, after: &str) -> String {
    let (before, after): (Vec<char>, Vec<char>) =
        (before.chars().collect(), after.chars().collect());
    let differs = |(one, other): (&char, &char)| one != other;
    let shorter = before.len().min(after.len());
    let first = before.iter().zip(&after).position(differs);
    let first = first.unwrap_or(shorter) + 1;
    if before.len() != after.len() {
        return format!(
            " ({} instead of {}, another from character {first} on)",
            counted(after.len() as u64, "character", "characters"),
            before.len(),
        );
    }
    let mut from_end = before.iter().rev().zip(after.iter().rev());
    let last = shorter - from_end.position(differs).unwrap_or_default();
    match first == last {
        true => format!(" (character {first} differs)"),
        false => format!(" (characters {first} to {last} differ)"),
    }
}

fn values(field: Option<&FieldValue>) -> BTreeSet<&str> {
    match field {
        None => BTreeSet::new(),
        Some(FieldValue::One(value)) => BTreeSet::from([value.as_str()]),
        Some(FieldValue::Many(values)) => values.iter().map(String::as_str).collect(),
    }
}

/// The name under which fields are counted that exceed [`limits::VERIFY_FIELDS`].
const OTHER: &str = "(other fields)";

/// Returns how many items of the outcome are of such a kind.
fn many(outcome: &VersionOutcome, is_counted: impl Fn(ItemKind) -> bool) -> u64 {
    match outcome {
        VersionOutcome::Converted(items) => {
            let counted = items.iter().filter(|item| is_counted(item.kind));
            counted.count() as u64
        }
        VersionOutcome::Refused(_) | VersionOutcome::Failed(_) => 0,
    }
}

/// Returns whether both versions failed in the same way, wherever in their code: builds of the same
/// sources may have other functions.
fn is_same_crash(before: &VersionOutcome, after: &VersionOutcome) -> bool {
    match (before, after) {
        (VersionOutcome::Failed(before), VersionOutcome::Failed(after)) => {
            without_place(before.as_str()) == without_place(after.as_str())
        }
        _ => false,
    }
}

fn reason(outcome: &VersionOutcome) -> Option<&Reason> {
    match outcome {
        VersionOutcome::Converted(_) => None,
        VersionOutcome::Refused(reason) | VersionOutcome::Failed(reason) => Some(reason),
    }
}

fn why(outcome: &VersionOutcome) -> Option<&str> {
    reason(outcome).map(Reason::as_str)
}

/// Pairs the items of two conversions: by what identifies them, the others by their order.
fn pairs<'a>(
    before: &'a [OutcomeItem],
    after: &'a [OutcomeItem],
) -> Vec<(Option<&'a OutcomeItem>, Option<&'a OutcomeItem>)> {
    let mut by_key: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, item) in after.iter().enumerate().rev() {
        if let Some(key) = &item.key {
            by_key.entry(key).or_default().push(place);
        }
    }
    let mut left: Vec<Option<&OutcomeItem>> = after.iter().map(Some).collect();
    let mut pairs = Vec::with_capacity(before.len().max(after.len()));
    let mut unpaired = Vec::new();
    for item in before {
        let same = item
            .key
            .as_deref()
            .and_then(|key| by_key.get_mut(key)?.pop());
        match same {
            Some(place) => pairs.push((Some(item), left[place].take())),
            None => unpaired.push(item),
        }
    }
    // A version that loses the key leaves items of the same order.
    let mut left = left.into_iter().flatten();
    for item in unpaired {
        pairs.push((Some(item), left.next()));
    }
    pairs.extend(left.map(|item| (None, Some(item))));
    pairs
}

/// Cuts a text that is too long for an example.
fn shortened(text: &str) -> String {
    let most = limits::VERIFY_EXAMPLE_WORDS * limits::VERIFY_EXAMPLE_CHARACTERS;
    text.chars().take(most).collect()
}

/// The beginning of the name of each exported function.
const CONTRACT: &str = "leadhost:";

/// Returns what may be stored of a reason: the words of the service, without digits and quoted
/// words, which may be of the delivery. Limits of the service and the contract in a frame of a crash keep
/// their digits: `more than 50 ms`, `leadhost:converter/converter@1.0.0#convert`. The plugin's own reasons
/// may name a person in any words.
fn stored_reason(reason: &Reason) -> String {
    let Reason::Service(words) = reason else {
        return "a reason of the plugin, which is not kept: `leadhost plugin verify` shows it"
            .to_owned();
    };
    let mut is_quoted = false;
    let all: Vec<&str> = words.split_whitespace().collect();
    let is_limit = |place: usize| {
        let unit = all.get(place + 1).copied().unwrap_or_default();
        let unit = unit.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_short = all[place].len() <= 6;
        let is_number = |one: char| one.is_ascii_digit() || one == '.';
        let follows = place > 0 && all[place - 1] == "than";
        follows && is_short && all[place].chars().all(is_number) && UNITS.contains(&unit)
    };
    let words = all.iter().enumerate().map(|(place, word)| {
        let marks = quotes(word);
        let is_value = is_quoted || marks > 0;
        is_quoted ^= marks % 2 == 1;
        match is_value {
            true => masked_word(word),
            false if is_limit(place) || word.starts_with(CONTRACT) => (*word).to_owned(),
            false => word.replace(|one: char| one.is_ascii_digit(), "#"),
        }
    });
    shortened(&words.collect::<Vec<_>>().join(" "))
}

/// Returns the number of quotes in a word. An apostrophe between letters is none: `provider's`.
fn quotes(word: &str) -> usize {
    let all: Vec<char> = word.chars().collect();
    let is_letter = |place: Option<usize>| {
        let one = place.and_then(|place| all.get(place));
        one.is_some_and(|one| one.is_alphabetic())
    };
    let is_quote = |place: usize| match all[place] {
        '"' => true,
        '\'' => !(is_letter(place.checked_sub(1)) && is_letter(Some(place + 1))),
        _ => false,
    };
    (0..all.len()).filter(|place| is_quote(*place)).count()
}

/// The units of the limits of the service.
const UNITS: [&str; 6] = ["ms", "s", "B", "KiB", "MiB", "GiB"];

/// Masks a value: of each word the first character is kept, and the last two of a number.
fn masked(value: &str) -> String {
    let words = value.split_whitespace().take(limits::VERIFY_EXAMPLE_WORDS);
    let words: Vec<String> = words.map(masked_word).collect();
    words.join(" ")
}

fn masked_word(word: &str) -> String {
    let characters: Vec<char> = word
        .chars()
        .take(limits::VERIFY_EXAMPLE_CHARACTERS)
        .collect();
    let is_number = characters.iter().any(char::is_ascii_digit)
        && !characters.iter().any(|one| one.is_alphabetic());
    let shown = |place: usize, one: char| {
        if !one.is_alphanumeric() {
            return true;
        }
        match is_number {
            true => characters.len() > 4 && place + 2 >= characters.len(),
            false => place == 0,
        }
    };
    let masked = characters.iter().enumerate();
    masked
        .map(|(place, one)| if shown(place, *one) { *one } else { '*' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Micros;
    use crate::pipeline::replay_answers::{CompletionError, ReplayAnswerError};
    use crate::plugin::CallError;

    #[test]
    fn a_stored_comparison_keeps_the_words_of_the_service_and_no_reason_of_a_plugin() {
        let check = |outcome: VersionOutcome, expect: &str| {
            let connection = ConnectionId::generate();
            let compared = ComparedSubject {
                subject: Subject::Delivery(DeliveryId::new(Micros(0))),
                connection: &connection,
                is_answered: false,
            };
            let converted = VersionOutcome::Converted(vec![lead(Some("1"), &[])]);
            let stored = ComparedOutcomes::compare(&compared, &converted, &outcome).into_stored();
            let example = &stored.newly_failing.examples[0];
            assert_eq!(example.after.as_deref(), Some(expect));
        };
        let trapped = |message: &str| {
            let message = message.to_owned();
            let log = Vec::new();
            VersionOutcome::Failed(Reason::from(&CallError::Trapped { message, log }))
        };
        check(
            trapped("wasm trap: wasm `unreachable` instruction executed in lib.rs:12"),
            "the plugin call failed: wasm trap: wasm `unreachable` instruction executed in lib.rs:##",
        );
        check(
            trapped(
                "wasm trap: unreachable, in form::read < leadhost:converter/converter@1.0.0#convert",
            ),
            "the plugin call failed: wasm trap: unreachable, in form::read < leadhost:converter/converter@1.0.0#convert",
        );
        check(
            trapped("unknown city \"são paulo\" here"),
            "the plugin call failed: unknown city \"*** p****\" here",
        );
        check(
            trapped("the provider's answer names 'rita d'avila silva' here"),
            "the plugin call failed: the provider's answer names '**** d'***** s****' here",
        );
        let late = CallError::OutOfTime {
            budget: std::time::Duration::from_millis(5),
            inline: false,
            log: Vec::new(),
        };
        let in_item = ReplayAnswerError::Completion {
            item: 3,
            source: CompletionError::Call(late),
        };
        check(
            VersionOutcome::Failed(Reason::from(&in_item)),
            "item # cannot be completed: the plugin computed for more than 5 ms",
        );
        let not_kept =
            "a reason of the plugin, which is not kept: `leadhost plugin verify` shows it";
        let own = |words: &str| Reason::Plugin(words.to_owned());
        check(
            VersionOutcome::Refused(own("no phone in rita silva")),
            not_kept,
        );
        // It begins as a message of the service does.
        check(
            VersionOutcome::Refused(own("the plugin call failed: rita silva")),
            not_kept,
        );
        let what = "rita silva has no phone".to_owned();
        let log = Vec::new();
        let broken = CallError::Refused { what, log };
        check(VersionOutcome::Failed(Reason::from(&broken)), not_kept);
        let of_converter = ReplayAnswerError::Completion {
            item: 0,
            source: CompletionError::Failed("rita silva".to_owned()),
        };
        check(
            VersionOutcome::Failed(Reason::from(&of_converter)),
            not_kept,
        );
    }

    #[test]
    fn crashes_are_compared_without_their_frames() {
        let failed = |words: &str| VersionOutcome::Failed(Reason::Plugin(words.to_owned()));
        let served = failed("the plugin call failed: unreachable, in form::read < form::convert");
        let check = |other: VersionOutcome, expect: bool| {
            assert_eq!(is_same_crash(&served, &other), expect, "{other:?}");
            assert_eq!(tally(&served, &other).same, u64::from(expect), "{other:?}");
        };
        check(failed("the plugin call failed: unreachable, in a"), true);
        check(failed("the plugin call failed: unreachable"), true);
        check(failed("the plugin call failed: out of bounds, in a"), false);
        check(VersionOutcome::Converted(Vec::new()), false);
    }

    fn lead(key: Option<&str>, fields: &[(&str, &str)]) -> OutcomeItem {
        let fields = fields.iter();
        OutcomeItem {
            kind: ItemKind::Lead,
            key: key.map(str::to_owned),
            fields: fields
                .map(|(name, value)| ((*name).to_owned(), FieldValue::One((*value).to_owned())))
                .collect(),
        }
    }

    fn tally(before: &VersionOutcome, after: &VersionOutcome) -> Tally {
        let connection = ConnectionId::generate();
        let compared = ComparedSubject {
            subject: Subject::Delivery(DeliveryId::new(Micros(0))),
            connection: &connection,
            is_answered: false,
        };
        Tally::from_one(&compared, before, after)
    }

    fn item(kind: ItemKind, fields: &[(&str, &str)]) -> OutcomeItem {
        OutcomeItem {
            kind,
            ..lead(None, fields)
        }
    }

    #[test]
    fn a_different_request_is_counted_without_harm_and_a_different_result_is_harm() {
        let request = |body: &str| item(ItemKind::Send, &[("body.name", body)]);
        let answer = |result: &str| item(ItemKind::Answer, &[(RESULT, result)]);
        let sent = |body: &str, result: &str| {
            VersionOutcome::Converted(vec![request(body), answer(result)])
        };
        let found = tally(&sent("a", "accepted"), &sent("b", "accepted"));
        assert_eq!((found.harm.changed, found.harm.is_harmful()), (1, false));
        assert_eq!(
            found.fields[&("body.name".to_owned(), DifferenceKind::Changed)].count,
            1
        );
        let found = tally(&sent("a", "accepted"), &sent("a", "retried"));
        assert_eq!((found.harm.changed, found.harm.lost), (0, 1));
        let read = found.lost(RESULT).expect("the results differ");
        assert_eq!(read.examples[0].after.as_deref(), Some("retried"));
        // Without a request the host sends nothing.
        let found = tally(
            &sent("a", "accepted"),
            &VersionOutcome::Converted(vec![answer("accepted")]),
        );
        assert_eq!(found.harm.vanished, 1);
        assert_eq!((found.items.count, found.vanished.count), (1, 0));
    }

    #[test]
    fn a_lead_that_the_candidate_would_fetch_by_another_request_is_not_compared() {
        let of = |items: Vec<OutcomeItem>| VersionOutcome::Converted(items);
        let fetched = of(vec![lead(Some("1"), &[("phone", "1")])]);
        let mut pointer = item(ItemKind::Fetch, &[("request", "v2")]);
        pointer.key = Some("1".to_owned());
        let pointer = of(vec![pointer]);
        let connection = ConnectionId::generate();
        let answered = ComparedSubject {
            subject: Subject::Delivery(DeliveryId::new(Micros(0))),
            connection: &connection,
            is_answered: true,
        };
        let found = Tally::from_one(&answered, &fetched, &pointer);
        assert!(!found.harm.is_harmful());
        assert_eq!((found.vanished.count, found.items.count), (0, 1));
        let example = &found.items.examples[0];
        assert_eq!(example.before.as_deref(), Some("lead"));
        let after = example.after.as_deref();
        assert_eq!(after, Some("another request, not compared"));
        let gone = Tally::from_one(&answered, &fetched, &of(Vec::new()));
        assert_eq!(gone.vanished.count, 1);
        // Without an answer the serving version makes the lead of the delivery itself.
        assert_eq!(tally(&fetched, &pointer).vanished.count, 1);
    }

    #[test]
    fn an_id_of_the_provider_that_an_accepted_answer_loses_or_changes_is_harm() {
        let accepted = |ids: &[&str]| {
            let mut answer = item(ItemKind::Answer, &[(RESULT, "accepted")]);
            if !ids.is_empty() {
                let ids = ids.iter().map(|&id| id.to_owned()).collect();
                answer.fields.insert(IDS.to_owned(), FieldValue::Many(ids));
            }
            VersionOutcome::Converted(vec![answer])
        };
        for (before, after, harm) in [
            (&["w1"][..], &[][..], 1),
            (&["w1"], &["w2"], 1),
            (&["w1", "w2"], &["w1"], 1),
            (&["w1"], &["w1", "w2"], 0),
            (&[], &["w1"], 0),
        ] {
            let found = tally(&accepted(before), &accepted(after));
            assert_eq!(found.harm.lost, harm, "{before:?} {after:?}");
            assert_eq!(found.lost(IDS).is_some(), harm > 0);
        }
    }

    #[test]
    fn events_that_vanish_or_appear_are_counted_apart_from_leads() {
        let event = || item(ItemKind::Event, &[]);
        let invalid = || item(ItemKind::Invalid, &[]);
        let of = |items: Vec<OutcomeItem>| VersionOutcome::Converted(items);
        for gone in [vec![event()], vec![event(), invalid()]] {
            let found = tally(&of(vec![event(), event()]), &of(gone));
            assert_eq!((found.events, found.candidate_events), (2, 1));
            assert_eq!((found.vanished_events.count, found.vanished.count), (1, 0));
            assert_eq!((found.harm.vanished, found.items.count), (1, 1));
        }
        let found = tally(&of(Vec::new()), &of(vec![event()]));
        assert_eq!((found.appeared_events.count, found.appeared.count), (1, 0));
        assert_eq!(found.harm.appeared, 1);
    }

    #[test]
    fn what_is_counted_as_harm_has_a_name_of_its_own_in_the_metrics() {
        let of = |items: Vec<OutcomeItem>| VersionOutcome::Converted(items);
        let event = || of(vec![item(ItemKind::Event, &[])]);
        let lead = || of(vec![lead(None, &[])]);
        let failed = || VersionOutcome::Failed(Reason::Plugin("no".to_owned()));
        let none = || of(Vec::new());
        let mut found = tally(&event(), &none());
        for (before, after) in [
            (none(), event()),
            (lead(), none()),
            (none(), lead()),
            (lead(), failed()),
            (failed(), lead()),
        ] {
            found.merge(tally(&before, &after));
        }
        let names: Vec<(&str, u64)> = found.differences().collect();
        assert_eq!(names.len(), 6, "{names:?}");
        let fields = GUARDED.into_iter().chain(GUARDED_OF_EVENTS);
        let fields = fields.map(|field| field.strip_prefix(OF_EVENTS).unwrap_or(field));
        let names = names.into_iter().map(|(name, _)| name);
        for name in fields.chain([RESULT, IDS]).chain(names) {
            assert!(crate::telemetry::DIFFERENCES.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_guarded_field_that_an_event_loses_is_harm_and_a_changed_one_except_the_text_too() {
        let check = |before: &[(&str, &str)], after: &[(&str, &str)], expect: Option<&str>| {
            let of = |fields| VersionOutcome::Converted(vec![item(ItemKind::Event, fields)]);
            let found = tally(&of(before), &of(after));
            let lost: Vec<&str> = found.lost.keys().map(AsRef::as_ref).collect();
            assert_eq!(lost, Vec::from_iter(expect), "{before:?} {after:?}");
            assert_eq!(found.harm.lost, u64::from(expect.is_some()));
        };
        let id = Some("event.externalId");
        check(&[("externalId", "w1")], &[("externalId", "xw1")], id);
        check(&[("externalId", "w1")], &[], id);
        check(&[("text", "hello")], &[], Some("event.text"));
        check(&[("text", "hello")], &[("text", "hi")], None);
        check(&[], &[("text", "hi")], None);
        check(&[("sender", "1")], &[("sender", "2")], Some("event.sender"));
        let state = Some("event.state");
        check(&[("state", "failed")], &[("state", "delivered")], state);
        check(
            &[("optOut", "true")],
            &[("optOut", "false")],
            Some("event.optOut"),
        );
        check(&[("name", "Ana")], &[], None);
    }

    #[test]
    fn an_example_is_stored_with_the_kind_of_its_subject() {
        let example = |subject| Example {
            subject,
            connection: ConnectionId::generate(),
            before: None,
            after: Some("x".to_owned()),
        };
        for (subject, key) in [
            (Subject::Delivery(DeliveryId::new(Micros(0))), "delivery"),
            (Subject::Message(MessageId::new(Micros(0))), "message"),
        ] {
            let example = example(subject);
            let stored = serde_json::to_value(&example).expect("it is JSON");
            assert!(stored[key].is_string(), "{stored}");
            let read: Example = serde_json::from_value(stored).expect("it is read");
            assert_eq!(read, example);
        }
    }

    #[test]
    fn a_lost_a_gained_and_a_changed_field_are_counted_apart_with_masked_examples() {
        let before = VersionOutcome::Converted(vec![lead(
            Some("1"),
            &[("name", "Ana Lima"), ("phone", "+5511987654321")],
        )]);
        let after = VersionOutcome::Converted(vec![lead(
            Some("1"),
            &[("name", "Ana"), ("email", "ana@example.com")],
        )]);
        let found = tally(&before, &after);
        let counts: Vec<_> = found
            .fields
            .iter()
            .map(|((name, change), group)| (name.as_str(), *change, group.count))
            .collect();
        let expected = [
            ("email", DifferenceKind::Gained, 1),
            ("name", DifferenceKind::Changed, 1),
            ("phone", DifferenceKind::Lost, 1),
        ];
        assert_eq!(counts, expected);
        assert_eq!(found.lost("phone").map(|lost| lost.count), Some(1));
        assert_eq!((found.compared, found.same, found.leads), (1, 0, 1));
        let phone = &found.fields[&("phone".to_owned(), DifferenceKind::Lost)].examples[0];
        assert_eq!(phone.before.as_deref(), Some("+***********21"));
        assert_eq!(phone.after, None);
        let name = &found.fields[&("name".to_owned(), DifferenceKind::Changed)].examples[0];
        assert_eq!(name.before.as_deref(), Some("A** L***"));
        let email = &found.fields[&("email".to_owned(), DifferenceKind::Gained)].examples[0];
        assert_eq!(email.after.as_deref(), Some("a**@*******.***"));
    }

    #[test]
    fn values_that_are_masked_alike_are_shown_with_the_places_at_which_they_differ() {
        let one = |value: &str| FieldValue::One(value.to_owned());
        let check = |before: &str, after: &str, expect: (&str, &str)| {
            let found = difference(Some(&one(before)), Some(&one(after)), masked);
            let (change, shown_before, shown_after) = found.expect("a difference");
            assert_eq!(change, DifferenceKind::Changed);
            let shown = (shown_before.as_deref(), shown_after.as_deref());
            assert_eq!(shown, (Some(expect.0), Some(expect.1)));
        };
        let phone = "+*********21";
        check(
            "+49170000021",
            "+49170900021",
            (phone, "+*********21 (character 7 differs)"),
        );
        check(
            "+49170000021",
            "+49151234521",
            (phone, "+*********21 (characters 5 to 10 differ)"),
        );
        check("ANA", "Ana", ("A**", "A** (characters 2 to 3 differ)"));
        check("12", "34", ("**", "** (characters 1 to 2 differ)"));
        // White space, and words and characters beyond those that are shown.
        check(
            "Ana Lima",
            "Ana  Lima",
            (
                "A** L***",
                "A** L*** (9 characters instead of 8, another from character 5 on)",
            ),
        );
        let long = "x".repeat(limits::VERIFY_EXAMPLE_CHARACTERS);
        let shown = masked(&long);
        check(
            &long,
            &format!("{long}x"),
            (
                &shown,
                &format!("{shown} (25 characters instead of 24, another from character 25 on)"),
            ),
        );
        // The masks show these.
        check("Ana", "Bia", ("A**", "B**"));
        check("Ana", "Anabela", ("A**", "A******"));
    }

    #[test]
    fn of_several_values_each_that_is_masked_like_its_former_one_names_the_places() {
        let many = |values: [&str; 2]| FieldValue::Many(values.map(str::to_owned).into());
        let (before, after) = (many(["1234500021", "5511"]), many(["1234509021", "5522"]));
        let (_, before, after) =
            difference(Some(&before), Some(&after), masked).expect("it differs");
        assert_eq!(before.as_deref(), Some("********21, ****"));
        assert_eq!(
            after.as_deref(),
            Some("********21 (character 7 differs), **** (characters 3 to 4 differ)")
        );
    }

    #[test]
    fn a_missing_one_of_several_values_counts_as_lost_and_their_order_does_not_matter() {
        let phones = |phones: &[&str]| {
            let mut lead = lead(Some("1"), &[]);
            let phones = phones.iter().map(|&phone| phone.to_owned()).collect();
            lead.fields
                .insert("phone".to_owned(), FieldValue::Many(phones));
            VersionOutcome::Converted(vec![lead])
        };
        let two = phones(&["+5511987654321", "+5511912345678"]);
        let found = tally(&two, &phones(&["+5511912345678"]));
        assert_eq!(found.lost("phone").map(|lost| lost.count), Some(1));
        let phone = &found.fields[&("phone".to_owned(), DifferenceKind::Lost)].examples[0];
        assert_eq!(phone.before.as_deref(), Some("+***********21"));
        assert_eq!(phone.after, None);
        let found = tally(&two, &phones(&["+5511912345678", "+5511987654321"]));
        assert_eq!(found.same, 1);
        let found = tally(&two, &phones(&["+5511912345678", "+5511900000000"]));
        assert_eq!(
            found.fields[&("phone".to_owned(), DifferenceKind::Changed)].count,
            1
        );
    }

    #[test]
    fn leads_are_paired_by_their_external_id_and_the_others_by_their_order() {
        let one = |key, name| lead(key, &[("name", name)]);
        let before = VersionOutcome::Converted(vec![
            one(Some("1"), "Ana"),
            one(Some("2"), "Bia"),
            one(None, "Caio"),
        ]);
        let turned = VersionOutcome::Converted(vec![
            one(Some("2"), "Bia"),
            one(None, "Caio"),
            one(Some("1"), "Ana"),
        ]);
        assert!(tally(&before, &turned).fields.is_empty());
        let without_keys =
            VersionOutcome::Converted(vec![one(None, "Ana"), one(None, "Bia"), one(None, "Caio")]);
        let found = tally(&before, &without_keys);
        assert!(found.fields.is_empty() && found.vanished.count == 0);
    }

    #[test]
    fn leads_that_vanish_or_appear_and_deliveries_that_fail_or_recover_are_counted() {
        let two = VersionOutcome::Converted(vec![lead(Some("1"), &[]), lead(Some("2"), &[])]);
        let one = VersionOutcome::Converted(vec![lead(Some("1"), &[])]);
        assert_eq!(tally(&two, &one).vanished.count, 1);
        assert_eq!(tally(&one, &two).appeared.count, 1);
        let failed = VersionOutcome::Failed(Reason::Service("it trapped".to_owned()));
        assert_eq!(tally(&one, &failed).newly_failing.count, 1);
        assert_eq!(tally(&failed, &one).no_longer_failing.count, 1);
        let refused = VersionOutcome::Refused(Reason::Plugin("not JSON".to_owned()));
        let both = tally(&failed, &refused);
        assert_eq!((both.newly_failing.count, both.compared), (0, 1));
        assert_eq!(tally(&one, &one).same, 1);
    }

    #[test]
    fn a_lost_phone_shows_beside_any_number_of_other_changes() {
        let names: Vec<String> = (0..limits::VERIFY_FIELDS + 50)
            .map(|number| format!("a{number:04}"))
            .collect();
        let mut fields: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
        fields.push(("phone", "+5511987654321"));
        let before = VersionOutcome::Converted(vec![lead(None, &fields)]);
        let after = VersionOutcome::Converted(vec![lead(None, &[])]);
        let found = tally(&before, &after);
        assert_eq!(found.lost("phone").map(|lost| lost.count), Some(1));
        assert!(found.lost("name").is_none());
    }

    #[test]
    fn the_number_of_counted_fields_is_bounded() {
        let many = |value: &str| {
            let names: Vec<String> = (0..limits::VERIFY_FIELDS + 50)
                .map(|number| format!("a{number:04}"))
                .collect();
            let fields: Vec<(&str, &str)> =
                names.iter().map(|name| (name.as_str(), value)).collect();
            VersionOutcome::Converted(vec![lead(None, &fields)])
        };
        let found = tally(&many("x"), &many("y"));
        assert!(found.fields.len() <= limits::VERIFY_FIELDS + 3);
        let other = &found.fields[&(OTHER.to_owned(), DifferenceKind::Changed)];
        assert_eq!(other.count, 50);
    }
}
