//! Compares what two versions make of the same deliveries: decides what differs and what does harm.
//! `tally.rs` adds the differences up by outcome, and by field and kind of change, each with a few
//! masked examples.

mod gained;
mod masks;
mod pairs;
mod reasons;
mod tally;
#[cfg(test)]
mod tests;
mod values;

use std::borrow::Cow;
use std::collections::BTreeSet;

pub use self::gained::{GAINED, GainedValues};
pub use self::tally::Tally;

use self::gained::{Gain, gains};
use self::masks::{masked, shortened};
use self::pairs::{Pair, pairs};
use self::reasons::stored_reason;
use self::values::difference;
use super::composed::{IDS, RESULT};
use super::cost::OfBoth;
use super::outcome::{FieldValue, OutcomeItem, Reason, VersionOutcome};
use leadhost_domain::difference::{DifferenceGroup, DifferenceKind, ItemKind, Subject};
use leadhost_domain::id::ConnectionId;
use leadhost_domain::limits;
use leadhost_plugin::without_place;

/// A field of a lead or an event whose loss harms.
pub struct GuardedField {
    pub of: ItemKind,
    name: &'static str,
    pub counted: &'static str,
    /// Its loss, in words that follow the number.
    pub lost: &'static str,
    pub change: OnChange,
}

#[derive(Clone, Copy)]
pub enum OnChange {
    /// The lead or event is lost: another one's is found.
    Loses,
    /// The lead is altered, in words that follow the number.
    Alters(&'static str),
    Harmless,
}

const fn of_lead(name: &'static str, lost: &'static str, change: OnChange) -> GuardedField {
    GuardedField {
        of: ItemKind::Lead,
        name,
        counted: name,
        lost,
        change,
    }
}

const fn of_event(
    [name, counted]: [&'static str; 2],
    lost: &'static str,
    change: OnChange,
) -> GuardedField {
    GuardedField {
        of: ItemKind::Event,
        name,
        counted,
        lost,
        change,
    }
}

/// The guarded fields. Without a lead's external id or action its deal is not found, or another lead's is.
#[rustfmt::skip]
pub const GUARDED: [GuardedField; 13] = {
    use OnChange::{Alters, Harmless, Loses};
    [
        of_lead("name", "leads lose their name", Alters("leads change their name")),
        of_lead("phone", "leads lose a phone", Alters("leads change a phone")),
        of_lead("email", "leads lose an e-mail address", Alters("leads change an e-mail address")),
        of_lead("listing", "leads lose a listing", Alters("leads change a listing")),
        of_lead("externalId", "leads lose or change their external id", Loses),
        of_lead("action", "leads change their action", Loses),
        of_event(["externalId", "event.externalId"], "events lose or change their external id", Loses),
        of_event(["contact", "event.contact"], "events lose or change their contact", Loses),
        of_event(["template", "event.template"], "events lose or change their template", Loses),
        of_event(["sender", "event.sender"], "events lose or change their sender", Loses),
        of_event(["text", "event.text"], "events lose their text", Harmless),
        of_event(["state", "event.state"], "events lose or change their state", Loses),
        of_event(["optOut", "event.optOut"], "events lose or change their opt-out", Loses),
    ]
};

pub struct ComparedSubject<'a> {
    pub subject: Subject,
    pub connection: &'a ConnectionId,
    /// The versions that have leads from stored answers to their fetches: the other version may fetch
    /// something else, for which no answer is stored.
    pub answered: OfBoth<bool>,
}

impl<'a> ComparedSubject<'a> {
    /// Returns it without stored answers.
    pub fn new(subject: Subject, connection: &'a ConnectionId) -> Self {
        Self {
            subject,
            connection,
            answered: OfBoth::default(),
        }
    }

    fn add(&self, to: &mut DifferenceGroup, before: Option<String>, after: Option<String>) {
        to.add((self.subject, self.connection), before, after);
    }
}

#[derive(Debug, Default)]
pub struct ComparedOutcomes {
    tally: Tally,
    /// Why the candidate makes nothing of it.
    reason: Option<Reason>,
    gains: Vec<Gain>,
}

impl ComparedOutcomes {
    pub fn compare(
        compared: &ComparedSubject<'_>,
        stable: &VersionOutcome,
        candidate: &VersionOutcome,
    ) -> Self {
        Self {
            tally: Tally::from_one(compared, stable, candidate),
            reason: reason(candidate).cloned(),
            gains: gains(compared, stable, candidate),
        }
    }

    /// Returns the differences with the reasons of plugins, which may name a person: they are shown
    /// to an operator, and not stored. `gained`: the values of the comparisons before it.
    pub fn into_shown(self, gained: &mut GainedValues) -> Tally {
        let mut tally = self.tally;
        for gain in self.gains {
            if gained.add(&gain) {
                tally.alter(gain);
            }
        }
        tally
    }

    /// Returns the differences without texts that may name a person: the reasons of plugins, and
    /// numbers in the names of attributes. The deliveries that the examples name have both. No
    /// delivery has the failures of the candidate, so their texts by the service stay.
    pub fn into_stored(mut self, gained: &mut GainedValues) -> Tally {
        let reason = self.reason.take();
        let mut tally = self.into_shown(gained);
        let forget = |group: &mut DifferenceGroup| {
            for example in &mut group.examples {
                example.before = None;
                example.after = None;
            }
        };
        for example in &mut tally.differences.newly_failing.examples {
            example.before = None;
            example.after = reason.as_ref().map(stored_reason);
        }
        forget(&mut tally.differences.no_longer_failing);
        for mut one in std::mem::take(&mut tally.differences.fields) {
            if ["error", "reason"].contains(&one.field.as_str()) {
                forget(&mut one.differences);
            }
            let name = one.field.chars().take(limits::VERIFY_NAME_CHARACTERS);
            let name = name.map(|one| if one.is_ascii_digit() { '#' } else { one });
            let group = tally.differences.group_of(name.collect(), one.change);
            group.merge(one.differences);
        }
        tally
    }
}

impl Tally {
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
        harm.failing = once(one.differences.newly_failing.count > 0);
        harm.lost = once(!one.lost.is_empty());
        harm.altered = once(!one.altered.is_empty());
        harm.vanished = once(harm.vanished + one.differences.vanished.count > 0);
        harm.appeared = once(harm.appeared + one.differences.appeared.count > 0);
        harm.changed = once(harm.changed > 0);
        one.harm = harm;
        one.connections.insert(compared.connection.clone(), harm);
        one
    }

    /// Counts a lead of this one delivery that gains what is nobody's own.
    fn alter(&mut self, gain: Gain) {
        // Shown among the fields: leads with one phone or address are one contact.
        let shown = self
            .differences
            .group_of(gain.shown(), DifferenceKind::Gained);
        shown.merge(gain.difference.clone());
        if gain.is_change {
            return;
        }
        let altered = self.altered.entry(Cow::Borrowed(gain.counted));
        altered.or_default().merge(gain.difference);
        let harms = std::iter::once(&mut self.harm).chain(self.connections.values_mut());
        harms.for_each(|harm| harm.altered = 1);
    }

    fn compare(
        &mut self,
        compared: &ComparedSubject<'_>,
        stable: &VersionOutcome,
        candidate: &VersionOutcome,
    ) {
        self.differences.compared += 1;
        self.differences.leads += many(stable, ItemKind::is_lead);
        self.differences.candidate_leads += many(candidate, ItemKind::is_lead);
        let is_event = |kind| kind == ItemKind::Event;
        self.events += many(stable, is_event);
        self.candidate_events += many(candidate, is_event);
        let is_same = match (stable, candidate) {
            (VersionOutcome::Converted(before), VersionOutcome::Converted(after)) => {
                self.items(compared, before, after)
            }
            (VersionOutcome::Converted(_), other) => {
                let after = why(other).map(shortened);
                compared.add(&mut self.differences.newly_failing, None, after);
                false
            }
            (other, VersionOutcome::Converted(_)) => {
                let before = why(other).map(shortened);
                compared.add(&mut self.differences.no_longer_failing, before, None);
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
        self.differences.same += u64::from(is_same);
    }

    /// Returns whether the items are the same.
    fn items(
        &mut self,
        compared: &ComparedSubject<'_>,
        before: &[OutcomeItem],
        after: &[OutcomeItem],
    ) -> bool {
        let mut is_same = true;
        let pairs = pairs(before, after);
        let other_requests = other_requests(compared.answered, &pairs);
        for (old, new) in pairs {
            match (old, new) {
                (Some(old), Some(new)) if old.kind == new.kind => {
                    is_same &= self.item(compared, old, new);
                }
                // The difference of its request is counted already.
                (Some(one), None) | (None, Some(one)) if one.kind == ItemKind::Answer => {
                    is_same = false;
                }
                (old, new) if is_of_other(other_requests, (old, new)) => {
                    let named = |item: Option<&OutcomeItem>| {
                        item.map(|item| match item.kind {
                            ItemKind::Fetch => "another request, not compared".to_owned(),
                            kind => kind.as_str().to_owned(),
                        })
                    };
                    compared.add(&mut self.differences.items, named(old), named(new));
                    // A candidate whose own request was answered has shown that it works.
                    let is_unanswered = new.is_some_and(|new| new.kind == ItemKind::Fetch);
                    self.harm.changed += u64::from(is_unanswered);
                    is_same = false;
                }
                (old, new) => {
                    let kind = |item: Option<&OutcomeItem>| item.map(|item| item.kind);
                    let (was, is) = (kind(old), kind(new));
                    let is_event = |kind: Option<ItemKind>| {
                        matches!(kind, Some(ItemKind::Event | ItemKind::Send))
                    };
                    self.harm.vanished += u64::from(is_event(was));
                    self.harm.appeared += u64::from(is_event(is));
                    let named = |kind: Option<ItemKind>| kind.map(|kind| kind.as_str().to_owned());
                    if was == Some(ItemKind::Event) {
                        compared.add(&mut self.vanished_events, named(was), named(is));
                    }
                    if is == Some(ItemKind::Event) {
                        compared.add(&mut self.appeared_events, named(was), named(is));
                    }
                    let is_lead = |kind: Option<ItemKind>| kind.is_some_and(ItemKind::is_lead);
                    let group = match (is_lead(was), is_lead(is)) {
                        (true, _) => &mut self.differences.vanished,
                        (_, true) => &mut self.differences.appeared,
                        _ => &mut self.differences.items,
                    };
                    compared.add(group, named(was), named(is));
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
        for field in GUARDED.iter().filter(|field| field.of == old.kind) {
            let (had, has) = (old.fields.get(field.name), new.fields.get(field.name));
            let Some((change, before, after)) = difference(had, has, masked) else {
                continue;
            };
            let harmed = match (change, field.change) {
                (DifferenceKind::Gained, _) | (DifferenceKind::Changed, OnChange::Harmless) => {
                    continue;
                }
                (DifferenceKind::Changed, OnChange::Alters(_)) => &mut self.altered,
                (DifferenceKind::Lost | DifferenceKind::Changed, _) => &mut self.lost,
            };
            let harmed = harmed.entry(Cow::Borrowed(field.counted)).or_default();
            compared.add(harmed, before, after);
        }
        if old.kind == ItemKind::Answer {
            let (before, after) = (old.fields.get(RESULT), new.fields.get(RESULT));
            // The result of the send differs.
            if let Some((_, before, after)) = difference(before, after, shortened) {
                let lost = self.lost.entry(Cow::Borrowed(RESULT)).or_default();
                compared.add(lost, before, after);
            } else if let Some((DifferenceKind::Lost | DifferenceKind::Changed, before, after)) =
                difference(old.fields.get(IDS), new.fields.get(IDS), masked)
            {
                // Without this id, later statuses and replies would not find their message.
                let lost = self.lost.entry(Cow::Borrowed(IDS)).or_default();
                compared.add(lost, before, after);
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
        let group = self.differences.group_of(name.to_owned(), change);
        compared.add(group, before, after);
        false
    }
}

fn many(outcome: &VersionOutcome, is_counted: impl Fn(ItemKind) -> bool) -> u64 {
    match outcome {
        VersionOutcome::Converted(items) => {
            let counted = items.iter().filter(|item| is_counted(item.kind));
            counted.count() as u64
        }
        VersionOutcome::Refused(_) | VersionOutcome::Failed(_) => 0,
    }
}

/// Returns which versions fetched something else than the other: one version has a lead from a stored answer
/// where the other has a pointer without an answer.
fn other_requests(answered: OfBoth<bool>, pairs: &[Pair<'_>]) -> OfBoth<bool> {
    let has = |kinds: (ItemKind, ItemKind)| {
        pairs.iter().any(|(old, new)| match (old, new) {
            (Some(old), Some(new)) => (old.kind, new.kind) == kinds,
            _ => false,
        })
    };
    OfBoth {
        stable: answered.stable && has((ItemKind::Lead, ItemKind::Fetch)),
        candidate: answered.candidate && has((ItemKind::Fetch, ItemKind::Lead)),
    }
}

/// Returns whether a pair is of such a request. An answer may have several leads.
fn is_of_other(requests: OfBoth<bool>, (old, new): Pair<'_>) -> bool {
    let kind = |item: Option<&OutcomeItem>| item.map(|item| item.kind);
    match (kind(old), kind(new)) {
        (Some(ItemKind::Lead), Some(ItemKind::Fetch) | None) => requests.stable,
        (Some(ItemKind::Fetch) | None, Some(ItemKind::Lead)) => requests.candidate,
        _ => false,
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
