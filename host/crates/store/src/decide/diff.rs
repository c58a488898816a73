//! Compares a known lead with what its source says now. Fields that a person has edited
//! since are left unchanged, and the diff reports them as such.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::conversation;
use super::items::ItemContext;
use crate::decide::prelude::*;
use crate::{FieldChange, FieldDiff, NewLead};
use leadhost_domain::deal::{ATTRIBUTES, PROPS_BYTES, TEST, no_room};
use leadhost_domain::json::length;
use leadhost_domain::lead::Action;
use leadhost_domain::provenance::{Age, OCCURRED_AT, Provenance};
use leadhost_domain::repair::{KEYS, PERSON, RepairField, SHARED_KEYS};

/// The scope of a comparison, and what it writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    /// The differences are written, except where a person has edited since.
    apply: bool,
    /// Only differences of this field count.
    only: Option<RepairField>,
    /// The notes of the delivery report what does not fit.
    notes: bool,
    /// The match keys that the contact would get are differences, too.
    keys: bool,
}

impl Comparison {
    /// Everything is compared and written.
    pub const WHOLE: Self = Self {
        apply: true,
        only: None,
        notes: true,
        keys: false,
    };

    /// Returns what a replay in this mode compares. `None`: it is no replay.
    pub fn in_mode(mode: Mode) -> Option<Self> {
        match mode {
            Mode::Retry => None,
            Mode::Replay { apply } => Some(Self {
                apply,
                ..Self::WHOLE
            }),
            Mode::Preview => Some(Self {
                apply: false,
                notes: false,
                ..Self::WHOLE
            }),
            Mode::Repair(repair) => Some(Self {
                apply: repair.apply,
                only: repair.field,
                notes: !repair.is_narrow(),
                // What is written is in the receipt.
                keys: !repair.apply,
            }),
        }
    }

    /// Returns whether the deal may move to the contact that its lead finds now.
    pub fn moves(self) -> bool {
        self.covers(PERSON)
    }

    fn covers(self, field: &str) -> bool {
        self.only.is_none_or(|only| {
            let said = |said| field == format!("deal.props.{}.{said}", contact::SAID);
            only.covers(field) || only.said().is_some_and(said)
        })
    }

    /// Returns the match keys that are added to the contact.
    pub fn match_keys(self, keys: &[String]) -> Vec<String> {
        let Some(only) = self.only else {
            return keys.to_vec();
        };
        let of_field = |key: &&String| only.keys().is_some_and(|kind| key.starts_with(kind));
        keys.iter().filter(of_field).cloned().collect()
    }
}

/// Returns the difference that a row which a replay would make is.
pub(super) fn created(field: &str) -> FieldDiff {
    FieldDiff::unwritten(field, Value::Null, Value::Bool(true))
}

pub(super) fn deal_changes(diff: &[FieldDiff]) -> Vec<FieldChange> {
    diff.iter()
        .filter(|field| field.applied)
        .filter_map(|field| {
            Some(FieldChange {
                field: history_name(&field.field)?.to_owned(),
                before: field.before.clone(),
                after: field.after.clone(),
            })
        })
        .collect()
}

/// Returns the name of a deal's field in its history. `None`: it is not of a deal.
pub(super) fn history_name(field: &str) -> Option<&str> {
    Some(match field.strip_prefix("deal.")? {
        "product" => "product_id",
        "person" => "person_id",
        name => name,
    })
}

/// Returns the differences, which are written if the comparison says so. A field that the lead
/// does not mention is not a difference. A field that does not fit into the deal is not
/// one either; the notes of the delivery that brought the lead report it.
///
/// `item` is the place of the lead in its delivery, `person` its contact. `None`: the deal's contact.
///
/// A value that is newer than the lead is not a difference, and neither is any that a lead would
/// change in a deal that another delivery made if it only announces the lead: both only fill what is
/// empty.
pub(super) fn compare(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (deal_id, person): (DealId, Option<ContactId>),
    lead: &NewLead,
    comparison: Comparison,
) -> Compared {
    let Some(deal) = set.deals.get(&deal_id) else {
        return Compared::default();
    };
    let (workspace, person) = (deal.workspace, person.unwrap_or(deal.person));
    let ages = ages_of(deal);
    let is_first = deal.delivery == Some(context.delivery);
    let age = age_of(context, item, lead);
    let returns = lead.action != Action::Delete && returns(deal, (age, lead), context.arrives);
    let mut diff = Differences {
        age,
        arrives: context.arrives,
        fills: lead.action == Action::Create && !is_first && !returns,
        ages,
        ..Differences::new(comparison)
    };
    let product = set.product(workspace, &lead.products);
    let said_before = deal.props.get(contact::SAID).cloned();
    let mut moved = false;
    if let Some(deal) = set.deals.get_mut(&deal_id) {
        diff.begin_row("deal.", &deal.edited);
        let (before, after) = (deal.person.to_string(), person.to_string());
        if diff.write("person", json!(before), json!(after)) {
            deal.person = person;
            moved = deal.status == DealStatus::Open;
        }
        diff.text("title", &mut deal.title, lead.title.clone());
        if let Some(product) = product {
            let before = deal.product.map(|id| id.to_string());
            let take = diff.field("product", json!(before), json!(product.to_string()));
            if take {
                deal.product = Some(product);
            }
        }
        diff.props(&mut deal.props, &lead.deal_props);
        if returns && diff.write(DELETED_PROP, json!(true), Value::Null) {
            deal.props.remove(SOURCE_DELETED);
            diff.ages.set(DELETED, age);
        }
    }
    if moved {
        conversation::adopt(set, deal_id, lead.agent);
    }
    if diff.take_changed() {
        set.touch_deal(deal_id);
        let test = format!("deal.props.{TEST}");
        if diff
            .found
            .iter()
            .any(|one| one.applied && one.field == test)
        {
            // Their rows do not change, but analytics must count them again.
            set.dialogue.touch_counted_of(deal_id);
        }
    }
    if let Some(contact) = set.contacts.get_mut(&person) {
        diff.begin_row("contact.", &contact.edited);
        let own =
            |field: &str, stands: &Option<String>| is_own(said_before.as_ref(), field, stands);
        if own("name", &contact.name) {
            diff.text("name", &mut contact.name, lead.name.clone());
        }
        if own("emails", &contact.email) {
            diff.text("email", &mut contact.email, lead.emails.first().cloned());
        }
        if own("phones", &contact.phone_number) {
            diff.text(
                "phone_number",
                &mut contact.phone_number,
                lead.phone_number().map(str::to_owned),
            );
        }
        diff.props(&mut contact.props, &lead.contact_props);
    }
    if diff.take_changed() {
        set.touch_contact(person);
    }
    if let Some(deal) = set.deals.get_mut(&deal_id).filter(|_| comparison.apply) {
        // Saved if the deal changes.
        deal.provenance = std::mem::take(&mut diff.ages);
    }
    if comparison.apply {
        let keys = comparison.match_keys(&lead.contact_keys);
        set.add_contact_keys(workspace, person, &keys);
    } else if comparison.keys {
        let keys = comparison.match_keys(&lead.contact_keys);
        let (own, shared) = set.missing_keys(workspace, person, &keys);
        for (field, keys) in [(KEYS, own), (SHARED_KEYS, shared)] {
            if !keys.is_empty() {
                let missing = FieldDiff::unwritten(field, json!([]), json!(keys));
                diff.found.push(missing);
            }
        }
    }
    if comparison.notes && !diff.no_room.is_empty() {
        let id = lead.external_id.as_deref();
        let whose = id.map_or_else(|| "a lead".to_owned(), |id| format!("lead {id}"));
        set.note(context.delivery, &[no_room(&whose, &diff.no_room)]);
    }
    Compared {
        diff: diff.found,
        is_older: diff.is_older,
    }
}

/// Returns whether a value is of the delivery with this age, or of one before ages were kept.
fn gave(ages: &Provenance, age: Age, name: &str) -> bool {
    let known = ages.of(name);
    age.is_of_same(known) || !known.is_dated()
}

#[derive(Default)]
pub(super) struct Compared {
    pub diff: Vec<FieldDiff>,
    /// A newer value stands where the lead has another one.
    pub is_older: bool,
}

/// Returns the ages of a deal's values. Those from before ages were kept have the source's time alone.
fn ages_of(deal: &DealRecord) -> Provenance {
    let mut ages = deal.provenance.clone();
    ages.begin(Age::new(occurred_at(&deal.props), None));
    ages
}

pub(super) fn age_of(context: &ItemContext<'_>, item: u32, lead: &NewLead) -> Age {
    let delivery = (context.delivery, context.received_at, item);
    Age::new(occurred_at(&lead.deal_props), Some(delivery))
}

fn occurred_at(props: &Map<String, Value>) -> Option<&str> {
    props.get(OCCURRED_AT)?.as_str()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether the contact's value may be changed by this lead: it is empty, or this
/// lead set it before. Values of another lead of the same person stay.
fn is_own(said_before: Option<&Value>, field: &str, stands: &Option<String>) -> bool {
    let (Some(said), Some(stands)) = (said_before, stands) else {
        return true;
    };
    match &said[field] {
        Value::String(text) => text == stands,
        Value::Array(texts) => texts.iter().any(|text| text == stands.as_str()),
        _ => false,
    }
}

/// The property that marks a deal whose lead the source deleted, and its name as a difference.
const SOURCE_DELETED: &str = "sourceDeleted";
const DELETED_PROP: &str = "props.sourceDeleted";
const DELETED: &str = "deal.props.sourceDeleted";

/// Marks a deal whose lead the source deleted at this age. Returns the change, or nothing if the deal is
/// unknown or already marked.
pub(super) fn mark_deleted(set: &mut WorkingSet, deal_id: DealId, age: Age) -> Vec<FieldDiff> {
    let mut found = deleted_mark(set, deal_id);
    let Some(deal) = set.deals.get_mut(&deal_id) else {
        return Vec::new();
    };
    let known = deal.provenance.own(DELETED);
    if let Some(mark) = &mut found {
        mark.applied = true;
        deal.props
            .insert(SOURCE_DELETED.to_owned(), mark.after.clone());
        deal.provenance.set(DELETED, age);
        set.touch_deal(deal_id);
    } else if known.is_none_or(|known| known.is_older_than(age, false)) {
        deal.provenance.set(DELETED, age);
        let workspace = deal.workspace;
        set.unstamped_deals.insert((workspace, deal_id));
    }
    found.into_iter().collect()
}

/// Returns whether a lead, which its source makes or changes, is there again after the source deleted it:
/// if that happened later by the source's times. Without both times it is, unless the lead says nothing that
/// the source has not said before, or is older than what is known.
fn returns(deal: &DealRecord, (age, lead): (Age, &NewLead), arrives: bool) -> bool {
    let is_deleted = deal.props.get(SOURCE_DELETED) == Some(&Value::Bool(true));
    let is_news = |mark: Age| {
        let is_later = |known: Age| age.is_later_than(known).unwrap_or(true);
        let mut known = deal.provenance.others(DELETED);
        !age.is_older_than(mark, arrives)
            && known.all(is_later)
            && !deal.provenance.has_seen(digest(lead))
    };
    // A mark from before it had an age arrived before this one.
    let mark = deal.provenance.own(DELETED).or(arrives.then(Age::default));
    is_deleted
        && mark.is_some_and(|mark| {
            !age.is_of_same(mark) && age.is_later_than(mark).unwrap_or_else(|| is_news(mark))
        })
}

/// Returns whether a lead of this age brings back a deal that its source deleted.
pub(super) fn is_back(
    set: &WorkingSet,
    deal: DealId,
    (age, lead): (Age, &NewLead),
    arrives: bool,
) -> bool {
    let deal = set.deals.get(&deal);
    deal.is_some_and(|deal| returns(deal, (age, lead), arrives))
}

/// Remembers what a lead said, so that a repeat does not count as news.
pub(super) fn see(set: &mut WorkingSet, deal_id: DealId, lead: &NewLead) {
    if let Some(deal) = set.deals.get_mut(&deal_id)
        && deal.provenance.see(digest(lead))
        && deal.change == RowChange::None
    {
        set.unstamped_deals.insert((deal.workspace, deal_id));
    }
}

fn digest(lead: &NewLead) -> i64 {
    let phones: Vec<&String> = lead.phones.iter().map(|phone| &phone.raw).collect();
    let said = (
        &lead.name,
        phones,
        &lead.emails,
        &lead.products,
        &lead.title,
        &lead.deal_props,
        &lead.contact_props,
    );
    let said = serde_json::to_vec(&said).expect("a lead is written as JSON");
    Sha256::digest(said)
        .first_chunk()
        .map_or(0, |bytes| i64::from_be_bytes(*bytes))
}

/// Returns the change that marks a deal whose lead the source deleted, which is not written yet.
/// `None`: the deal is unknown or already marked.
pub(super) fn deleted_mark(set: &WorkingSet, deal_id: DealId) -> Option<FieldDiff> {
    let before = set.deals.get(&deal_id)?.props.get(SOURCE_DELETED);
    (before != Some(&Value::Bool(true)))
        .then(|| FieldDiff::unwritten(DELETED, before.cloned().unwrap_or_default(), json!(true)))
}

/// Returns whether the properties stay within their limit of bytes with this one.
/// Properties that already exceed it may shrink.
fn has_room(props: &Map<String, Value>, key: &str, value: &Value) -> bool {
    let before = props.get(key).map_or(0, length);
    let now = length(value);
    // The name counts as if it were new.
    let all = length(props) - before + now + length(&key) + ":,".len();
    now <= before || all <= PROPS_BYTES
}

struct Differences {
    comparison: Comparison,
    /// The age of the lead's values.
    age: Age,
    /// See [`ItemContext::arrives`].
    arrives: bool,
    /// The lead changes only empty fields.
    fills: bool,
    ages: Provenance,
    is_older: bool,
    found: Vec<FieldDiff>,
    no_room: Vec<String>,
    prefix: &'static str,
    edited: Vec<String>,
    changed: bool,
}

impl Differences {
    fn new(comparison: Comparison) -> Self {
        Self {
            comparison,
            age: Age::default(),
            arrives: false,
            fills: false,
            ages: Provenance::default(),
            is_older: false,
            found: Vec::new(),
            no_room: Vec::new(),
            prefix: "",
            edited: Vec::new(),
            changed: false,
        }
    }

    /// The next calls are about this row.
    fn begin_row(&mut self, prefix: &'static str, edited: &[String]) {
        self.prefix = prefix;
        self.edited = edited.to_vec();
    }

    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Notes a difference, unless the value stays. Returns whether it is to be written.
    fn field(&mut self, name: &str, before: Value, after: Value) -> bool {
        !self.stays(name, &before, &after) && self.write(name, before, after)
    }

    /// Returns whether a value is not the lead's to change. Otherwise it has the age of the lead from
    /// now on.
    fn stays(&mut self, name: &str, before: &Value, after: &Value) -> bool {
        let field = format!("{}{name}", self.prefix);
        let known = self.ages.of(&field);
        let is_older = self.age.is_older_than(known, self.arrives);
        let stays = !is_empty(before) && !self.age.is_of_same(known) && (self.fills || is_older);
        if stays {
            let is_news = before != after && !field.ends_with(OCCURRED_AT);
            self.is_older |= is_older && is_news && self.comparison.covers(&field);
        } else if self.comparison.covers(&field) {
            self.ages.set(&field, self.age);
        }
        stays
    }

    /// Notes a difference. Returns whether it is to be written.
    fn write(&mut self, name: &str, before: Value, after: Value) -> bool {
        let field = format!("{}{name}", self.prefix);
        if before == after || !self.comparison.covers(&field) {
            return false;
        }
        let edited = self.edited.iter().any(|field| field == name);
        let applied = self.comparison.apply && !edited;
        self.changed |= applied;
        self.found.push(FieldDiff {
            field,
            before,
            after,
            applied,
            edited_by_person: edited,
        });
        applied
    }

    fn text(&mut self, name: &str, field: &mut Option<String>, now: Option<String>) {
        if now.is_some() && self.field(name, json!(field), json!(now)) {
            *field = now;
        }
    }

    fn props(&mut self, props: &mut Map<String, Value>, now: &Map<String, Value>) {
        // Properties that may be long come last.
        let (last, first): (Vec<_>, Vec<_>) = now.iter().partition(|(key, _)| *key == ATTRIBUTES);
        for (key, value) in first.into_iter().chain(last) {
            let name = format!("props.{key}");
            let before = props.get(key);
            let wanted = self.wanted(key, before, value);
            let value = wanted.as_ref();
            if before == Some(value) {
                continue;
            }
            if !has_room(props, key, value) {
                self.no_room.push(format!("{}{name}", self.prefix));
                continue;
            }
            let before = before.cloned().unwrap_or_default();
            if self.write(&name, before, value.clone()) {
                props.insert(key.clone(), value.clone());
            }
        }
    }

    /// Returns the new value of a property. Of other objects that stay, what is missing is filled.
    fn wanted<'v>(&mut self, key: &str, before: Option<&Value>, now: &'v Value) -> Cow<'v, Value> {
        if let (contact::SAID, Value::Object(now)) = (key, now) {
            let known = before.and_then(Value::as_object);
            return Cow::Owned(self.person(known.cloned().unwrap_or_default(), now));
        }
        let before = before.unwrap_or(&Value::Null);
        if !self.stays(&format!("props.{key}"), before, now) {
            return Cow::Borrowed(now);
        }
        let mut stands = before.clone();
        if let (Value::Object(known), Value::Object(now)) = (&mut stands, now) {
            for (field, value) in now {
                known.entry(field).or_insert_with(|| value.clone());
            }
        }
        Cow::Owned(stands)
    }

    /// Returns the values for the person, each with its own age. A comparison of one field takes only
    /// that field from the lead.
    fn person(&mut self, mut known: Map<String, Value>, now: &Map<String, Value>) -> Value {
        let only = self.comparison.only;
        for field in ["name", "phones", "emails"] {
            if only.is_some_and(|only| only.said() != Some(field)) {
                continue;
            }
            let name = format!("props.{}.{field}", contact::SAID);
            let before = known.get(field).unwrap_or(&Value::Null);
            match now.get(field) {
                Some(value) if !self.stays(&name, before, value) => {
                    known.insert(field.to_owned(), value.clone());
                }
                // The other version no longer reads it from the delivery that gave it.
                None if only.is_none() && self.gave(&name) => drop(known.remove(field)),
                Some(_) | None => {}
            }
        }
        Value::Object(known)
    }

    fn gave(&self, name: &str) -> bool {
        gave(&self.ages, self.age, &format!("{}{name}", self.prefix))
    }
}
