//! The receipt of a repair: a row for each field that its replays change.

use super::items::ItemContext;
use super::people;
use super::working_set::NewRepairChange;
use crate::decide::prelude::*;
use crate::{FieldDiff, NewLead};
use leadhost_domain::repair::{
    CONVERSATIONS, CREATED, KEYS, PERSON, RepairedKind, SHARED_KEYS, SPLIT,
};

impl ItemContext<'_> {
    /// Returns the repair whose receipt gets a row for each change.
    pub(super) fn repair(&self) -> Option<RepairId> {
        match self.mode {
            Some(Mode::Repair(repair)) if repair.apply => Some(repair.id),
            _ => None,
        }
    }
}

/// Adds the written differences of a lead to the receipt. `contact` is the one that the lead was
/// compared with.
pub(super) fn note(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (deal, contact): (DealId, ContactId),
    diff: &[FieldDiff],
) {
    let owner = set.deals.get(&deal).map_or(contact, |deal| deal.person);
    for one in diff.iter().filter(|one| one.applied) {
        let (kind, row, contact) = match one.field.as_str() {
            // The values before are of the former contact: its erasure finds them by this row.
            PERSON => (
                RepairedKind::Deal,
                deal.0,
                id_of(&one.before).unwrap_or(owner),
            ),
            field if field.starts_with("contact.") => (RepairedKind::Contact, contact.0, contact),
            _ => (RepairedKind::Deal, deal.0, owner),
        };
        let values = (one.before.clone(), one.after.clone());
        add(set, context, item, (kind, row, contact), &one.field, values);
    }
}

pub(super) fn id_of(value: &Value) -> Option<ContactId> {
    value.as_str()?.parse().ok()
}

/// The number of match keys that a batch has added so far.
#[derive(Clone, Copy)]
pub(super) struct KeysSoFar {
    own: usize,
    shared: usize,
}

impl KeysSoFar {
    pub(super) fn in_set(set: &WorkingSet) -> Self {
        Self {
            own: set.new_contact_keys.len(),
            shared: set.new_shared_keys.len(),
        }
    }
}

/// Adds the match keys that the contact got, alone or with others, to the receipt: those after the
/// first `known` ones of the batch. An undo takes them back after the values that they stand for, so
/// they come first.
pub(super) fn note_keys(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    contact: ContactId,
    known: KeysSoFar,
) {
    let is_new = set.contacts.get(&contact).map(|one| one.change) == Some(RowChange::New);
    if is_new {
        // Its keys come and go with it.
        return;
    }
    let of_contact = |new: &[(WorkspaceId, String, ContactId)]| -> Vec<String> {
        let own = new.iter().filter(|(_, _, owner)| *owner == contact);
        own.map(|(_, key, _)| key.clone()).collect()
    };
    let own = of_contact(&set.new_contact_keys[known.own..]);
    let shared = of_contact(&set.new_shared_keys[known.shared..]);
    for (field, keys) in [(KEYS, own), (SHARED_KEYS, shared)] {
        if !keys.is_empty() {
            let values = (json!([]), json!(keys));
            note_contact(set, context, item, contact, field, values);
        }
    }
}

/// Returns the fields of the person that a lead finds, before they are filled for a new deal.
/// `None`: the lead brings a new person, or is not part of a repair.
pub(super) fn person_before(
    set: &WorkingSet,
    context: &ItemContext<'_>,
    lead: &NewLead,
) -> Option<BTreeMap<String, Value>> {
    context.repair()?;
    let known = people::find(set, context.workspace, &lead.contact_keys)?;
    set.contacts.get(&known).map(fields)
}

/// Adds the changes that a new deal made to a known person to the receipt: match keys, those after
/// the `known` ones of the batch, and fields.
pub(super) fn note_filled(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    contact: ContactId,
    (mut before, known): (BTreeMap<String, Value>, KeysSoFar),
) {
    note_keys(set, context, item, contact, known);
    let now = set.contacts.get(&contact).map(fields);
    for (field, now) in now.into_iter().flatten() {
        let before = before.remove(&field).unwrap_or_default();
        if before != now {
            note_contact(set, context, item, contact, &field, (before, now));
        }
    }
}

/// Returns the fields of a contact that leads fill, as a receipt names them.
pub(super) fn fields(contact: &ContactRecord) -> BTreeMap<String, Value> {
    let own = [
        ("name", &contact.name),
        ("email", &contact.email),
        ("phone_number", &contact.phone_number),
    ];
    let own = own.map(|(name, value)| (format!("contact.{name}"), json!(value)));
    let props = contact.props.iter();
    let props = props.map(|(key, value)| (format!("contact.props.{key}"), value.clone()));
    own.into_iter().chain(props).collect()
}

pub(super) fn note_created(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (deal, contact): (DealId, ContactId),
) {
    let values = (Value::Null, json!(deal));
    let row = (RepairedKind::Deal, deal.0, contact);
    add(set, context, item, row, CREATED, values);
}

pub(super) fn note_split(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (former, new): (ContactId, ContactId),
) {
    let row = (RepairedKind::Contact, new.0, new);
    add(set, context, item, row, SPLIT, (json!(former), json!(new)));
}

fn note_contact(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    contact: ContactId,
    field: &str,
    values: (Value, Value),
) {
    let row = (RepairedKind::Contact, contact.0, contact);
    add(set, context, item, row, field, values);
}

/// The conversations that went with the deal to another contact, and those that are about no deal now.
pub(super) const MOVED: &str = "moved";
pub(super) const LEFT: &str = "left";

/// Adds the conversations that were about a deal, which another contact got, to the receipt.
pub(super) fn note_conversations(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (deal, former): (DealId, ContactId),
    (moved, left): (&[ConversationId], &[ConversationId]),
) {
    let row = (RepairedKind::Deal, deal.0, former);
    let values = (json!(former), json!({ MOVED: moved, LEFT: left }));
    add(set, context, item, row, CONVERSATIONS, values);
}

/// Adds a row to the receipt, if what is written is part of a repair.
pub(super) fn add(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (kind, row, contact): (RepairedKind, Uuid, ContactId),
    field: &str,
    (before, after): (Value, Value),
) {
    let Some(repair) = context.repair() else {
        return;
    };
    set.new_repair_changes.push(NewRepairChange {
        workspace: context.workspace,
        repair,
        delivery: context.delivery,
        item,
        kind,
        row,
        contact,
        field: field.to_owned(),
        before,
        after,
    });
}
