//! Compares a known lead with what its source says now. Fields that a person has edited
//! since are left unchanged, and the diff reports them as such.

use serde_json::{Map, Value, json};

use super::lead::phone_of;
use super::working_set::WorkingSet;
use crate::domain::contact;
use crate::domain::deal::{ATTRIBUTES, PROPS_BYTES, TEST, no_room};
use crate::domain::id::{ContactId, DealId, DeliveryId};
use crate::domain::json::length;
use crate::store::{FieldDiff, NewLead};

/// Returns the differences, which are written if `apply` is set. A field that the lead
/// does not mention is not a difference. A field that does not fit into the deal is not
/// one either; the notes of the delivery that brought the lead report it.
///
/// `person` is the contact of the lead. `None`: that of the deal.
pub(super) fn compare(
    set: &mut WorkingSet,
    delivery: DeliveryId,
    (deal_id, person): (DealId, Option<ContactId>),
    lead: &NewLead,
    apply: bool,
) -> Vec<FieldDiff> {
    let Some(deal) = set.deals.get(&deal_id) else {
        return Vec::new();
    };
    let (workspace, person) = (deal.workspace, person.unwrap_or(deal.person));
    let mut diff = Differences::new(apply);
    let product = set.product(workspace, &lead.products);
    let said_before = deal.props.get(contact::SAID).cloned();
    if let Some(deal) = set.deals.get_mut(&deal_id) {
        diff.begin_row("deal.", &deal.edited);
        let (before, after) = (deal.person.to_string(), person.to_string());
        if diff.field("person", json!(before), json!(after)) {
            deal.person = person;
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
                phone_of(lead).map(str::to_owned),
            );
        }
        diff.props(&mut contact.props, &lead.contact_props);
    }
    if diff.take_changed() {
        set.touch_contact(person);
    }
    if apply {
        set.add_contact_keys(workspace, person, &lead.contact_keys);
    }
    if !diff.no_room.is_empty() {
        let id = lead.external_id.as_deref();
        let whose = id.map_or_else(|| "a lead".to_owned(), |id| format!("lead {id}"));
        set.note(delivery, &[no_room(&whose, &diff.no_room)]);
    }
    diff.found
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

/// The property that marks a deal whose lead the source deleted.
const SOURCE_DELETED: &str = "sourceDeleted";

/// Marks a deal whose lead the source deleted. Returns the change, or nothing if the deal is
/// unknown or already marked.
pub(super) fn mark_deleted(set: &mut WorkingSet, deal_id: DealId) -> Vec<FieldDiff> {
    let Some(deal) = set.deals.get_mut(&deal_id) else {
        return Vec::new();
    };
    let before = deal.props.insert(SOURCE_DELETED.to_owned(), json!(true));
    if before == Some(Value::Bool(true)) {
        return Vec::new();
    }
    set.touch_deal(deal_id);
    vec![FieldDiff {
        field: format!("deal.props.{SOURCE_DELETED}"),
        before: before.unwrap_or_default(),
        after: json!(true),
        applied: true,
        edited_by_person: false,
    }]
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
    apply: bool,
    found: Vec<FieldDiff>,
    /// Fields that do not fit into their row.
    no_room: Vec<String>,
    prefix: &'static str,
    edited: Vec<String>,
    changed: bool,
}

impl Differences {
    fn new(apply: bool) -> Self {
        Self {
            apply,
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

    /// Notes a difference. Returns whether it is to be written.
    fn field(&mut self, name: &str, before: Value, after: Value) -> bool {
        if before == after {
            return false;
        }
        let edited = self.edited.iter().any(|field| field == name);
        let applied = self.apply && !edited;
        self.changed |= applied;
        self.found.push(FieldDiff {
            field: format!("{}{name}", self.prefix),
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
            if before == Some(value) {
                continue;
            }
            if !has_room(props, key, value) {
                self.no_room.push(format!("{}{name}", self.prefix));
                continue;
            }
            let before = before.cloned().unwrap_or_default();
            if self.field(&name, before, value.clone()) {
                props.insert(key.clone(), value.clone());
            }
        }
    }
}
