//! Undoes changes of a repair, newest first. A field is restored only if it still has the
//! value that the repair gave it: what a person or a newer delivery changed since stays.

use super::diff::history_name;
use super::receipt::{LEFT, MOVED, id_of};
use super::working_set::UndoneChange;
use super::{conversation, deal, people};
use crate::decide::prelude::*;
use crate::{ChangedBy, FieldChange, RepairUndo};
use leadhost_domain::deal::TEST;
use leadhost_domain::repair::{
    CONVERSATIONS, CREATED, KEYS, LOST_KEYS, LOST_SHARED_KEYS, MERGED, PERSON, RepairChange,
    RepairState, RepairUndone, RepairedKind, SHARED_KEYS, SPLIT, TAKEN_KEYS,
};

/// The changes that took match keys from a contact.
const LOST: [&str; 2] = [LOST_KEYS, LOST_SHARED_KEYS];

type Histories = BTreeMap<(WorkspaceId, DealId), Vec<FieldChange>>;

/// Decides what becomes of each change. Nothing is decided unless the repair is being undone in
/// this generation.
pub(super) fn changes(set: &mut WorkingSet, undo: &RepairUndo) -> WriteOutcome {
    let is_undone = (RepairState::Undoing, undo.generation);
    if set.repairs.get(&undo.repair) != Some(&is_undone) {
        return WriteOutcome::Stale;
    }
    let mut histories = Histories::new();
    for change in &undo.changes {
        let undone = match &change.values {
            Some((before, after)) => one(set, &mut histories, change, before, after),
            None => RepairUndone::ChangedSince,
        };
        if let (RepairUndone::Undone, Some(version)) = (undone, &undo.converted_by) {
            // The lead has the values again that this version gave it.
            let delivery = (change.workspace, change.delivery);
            set.harmed_again.insert(delivery, version.clone());
        }
        set.undone_changes.push(UndoneChange {
            workspace: change.workspace,
            number: change.number,
            undone,
        });
    }
    for ((workspace, id), changes) in histories {
        let by = ChangedBy::Repair {
            repair_id: undo.repair,
        };
        deal::edit::history(set, workspace, id, by, changes);
    }
    WriteOutcome::RepairUndone
}

fn one(
    set: &mut WorkingSet,
    histories: &mut Histories,
    change: &RepairChange,
    before: &Value,
    after: &Value,
) -> RepairUndone {
    let id = ContactId(change.row);
    let field = change.field.as_str();
    // Receipts of builds before the first release do not say who the merged contact was.
    let is_unknown =
        field == MERGED && !before.is_object() || field == TAKEN_KEYS && !before.is_string();
    if field == CREATED || is_unknown {
        return RepairUndone::Stays;
    }
    match change.kind {
        RepairedKind::Deal if change.field == CONVERSATIONS => {
            conversations(set, change, before, after)
        }
        RepairedKind::Deal => undo_deal_change(set, histories, change, before, after),
        RepairedKind::Contact if field == SPLIT => join(set, (change.workspace, id), id_of(before)),
        RepairedKind::Contact if field == MERGED => {
            set.add_contact(id, ContactRecord::merged(change.workspace, before));
            RepairUndone::Undone
        }
        RepairedKind::Contact if LOST.contains(&field) && set.contacts.contains_key(&id) => {
            let lost = contact::texts(before);
            if field == LOST_KEYS {
                drop(set.take_contact_keys(change.workspace, id, &lost))
            } else {
                set.add_contact_keys(change.workspace, id, &lost)
            }
            RepairUndone::Undone
        }
        RepairedKind::Contact if is_of_keys(change) => {
            keys(set, (change.workspace, id), change, after)
        }
        RepairedKind::Contact => {
            let Some(contact) = set.contacts.get_mut(&id) else {
                return RepairUndone::ChangedSince;
            };
            if !restore_contact_field(contact, &change.field, before, after) {
                return RepairUndone::ChangedSince;
            }
            set.touch_contact(id);
            RepairUndone::Undone
        }
    }
}

fn undo_deal_change(
    set: &mut WorkingSet,
    histories: &mut Histories,
    change: &RepairChange,
    before: &Value,
    after: &Value,
) -> RepairUndone {
    let id = DealId(change.row);
    let Some(deal) = set.deals.get_mut(&id) else {
        return RepairUndone::ChangedSince;
    };
    let name = change.field.strip_prefix("deal.").unwrap_or_default();
    if deal.edited.iter().any(|edited| edited == name) {
        return RepairUndone::ChangedSince;
    }
    let restored = match name {
        "person" => {
            if json!(deal.person) != *after {
                return RepairUndone::ChangedSince;
            }
            let former = id_of(before).filter(|former| set.contacts.contains_key(former));
            let Some(former) = former else {
                // It was merged into the other contact.
                return RepairUndone::Stays;
            };
            let moved_to = deal.person;
            deal.person = former;
            let conversations = set.dialogue.conversations.iter();
            let taken = conversations
                .filter(|(_, one)| (one.deal, one.contact) == (Some(id), moved_to))
                .map(|(conversation, _)| *conversation);
            // Ordered, so that the stamps are the same on every store.
            let taken: BTreeSet<_> = taken.collect();
            for one in taken {
                conversation::concerns(set, one, None);
            }
            let item = (change.workspace, change.delivery, change.item);
            set.moved_items.insert(item, former);
            true
        }
        "title" => text(&mut deal.title, before, after),
        "product" => {
            let is_so = json!(deal.product) == *after;
            if is_so {
                deal.product = before.as_str().and_then(|id| id.parse().ok());
            }
            is_so
        }
        name => property(&mut deal.props, name, before, after),
    };
    if !restored {
        return RepairUndone::ChangedSince;
    }
    set.touch_deal(id);
    if name.strip_prefix("props.") == Some(TEST) {
        // Their rows do not change, but analytics must count them again.
        set.dialogue.touch_counted_of(id);
    }
    if let Some(field) = history_name(&change.field) {
        let changes = histories.entry((change.workspace, id)).or_default();
        changes.push(FieldChange {
            field: field.to_owned(),
            before: after.clone(),
            after: before.clone(),
        });
    }
    RepairUndone::Undone
}

fn restore_contact_field(
    contact: &mut ContactRecord,
    field: &str,
    before: &Value,
    after: &Value,
) -> bool {
    let name = field.strip_prefix("contact.").unwrap_or_default();
    if contact.edited.iter().any(|edited| edited == name) {
        return false;
    }
    match name {
        "name" => text(&mut contact.name, before, after),
        "email" => text(&mut contact.email, before, after),
        "phone_number" => text(&mut contact.phone_number, before, after),
        name => property(&mut contact.props, name, before, after),
    }
}

fn is_of_keys(change: &RepairChange) -> bool {
    [KEYS, SHARED_KEYS, TAKEN_KEYS].contains(&change.field.as_str())
}

/// Takes match keys from a contact, unless they stand for a value that it has, or one of its leads
/// names: without the key the next lead of the person would not find the contact. They count as undone
/// if it has lost all of them.
fn keys(
    set: &mut WorkingSet,
    (workspace, id): (WorkspaceId, ContactId),
    change: &RepairChange,
    added: &Value,
) -> RepairUndone {
    let Some(contact) = set.contacts.get(&id) else {
        return RepairUndone::ChangedSince;
    };
    let own = contact::keys_of(&contact.phone_number, &contact.email);
    let leads = set.said_of(id).into_iter();
    let named: Vec<_> = leads
        .flat_map(|(_, said)| contact::said_keys(&said))
        .collect();
    let mut undone = RepairUndone::Undone;
    let added = added.as_array().into_iter().flatten();
    for key in added.filter_map(Value::as_str) {
        let is = |other: &String| other == key;
        let entry = (workspace, key.to_owned());
        let owner = set.contact_keys.get(&entry);
        let is_there = match change.field.as_str() {
            KEYS => owner == Some(&id),
            TAKEN_KEYS => owner.is_some(),
            // If the other owners are gone, the contact owns the key itself.
            _ => owner.is_some() && owner != Some(&id),
        };
        if !is_there || own.iter().any(is) {
            if undone == RepairUndone::Undone {
                undone = RepairUndone::ChangedSince;
            }
        } else if named.iter().any(is) {
            undone = RepairUndone::InUse;
        } else {
            set.remove_key((workspace, id), key.to_owned());
        }
    }
    undone
}

/// Takes the keys of a contact that a repair made, unless it has a lead. Without one it is merged into the
/// former contact of its deal, which wants no messages if this one wants none.
fn join(
    set: &mut WorkingSet,
    (workspace, id): (WorkspaceId, ContactId),
    former: Option<ContactId>,
) -> RepairUndone {
    if !set.said_of(id).is_empty() {
        return RepairUndone::Stays;
    }
    let former = former.filter(|former| set.contacts.contains_key(former));
    let own = set.contacts.get_mut(&id).filter(|_| former.is_some());
    if let (Some(former), Some(at)) = (former, own.and_then(|own| own.banned_at.take())) {
        set.touch_contact(id);
        people::ban(set, former, at);
    }
    for key in set.held_keys.get(&id).cloned().unwrap_or_default() {
        set.remove_key((workspace, id), key);
    }
    RepairUndone::Undone
}

/// Gives the conversations about a deal back to the contact that had them.
fn conversations(
    set: &mut WorkingSet,
    change: &RepairChange,
    before: &Value,
    after: &Value,
) -> RepairUndone {
    let deal = DealId(change.row);
    let former = id_of(before).filter(|former| set.contacts.contains_key(former));
    let (Some(former), Some(now)) = (former, set.deals.get(&deal).map(|deal| deal.person)) else {
        return RepairUndone::ChangedSince;
    };
    let is = |set: &WorkingSet, id: &ConversationId, state: (ContactId, Option<DealId>)| {
        let one = set.dialogue.conversations.get(id);
        one.is_some_and(|one| (one.contact, one.deal) == state)
    };
    let ids = |name: &str| -> Vec<Option<ConversationId>> {
        let texts = contact::texts(&after[name]).into_iter();
        texts.map(|id| id.parse().ok()).collect()
    };
    let mut are_all = true;
    for id in ids(MOVED) {
        let id = id.filter(|id| is(set, id, (now, Some(deal))));
        are_all &= id.is_some_and(|id| set.move_conversation(id, former));
    }
    for id in ids(LEFT) {
        let id = id.filter(|id| is(set, id, (former, None)));
        are_all &= id.is_some();
        id.into_iter()
            .for_each(|id| conversation::concerns(set, id, Some(deal)));
    }
    if are_all {
        RepairUndone::Undone
    } else {
        RepairUndone::ChangedSince
    }
}

fn text(field: &mut Option<String>, before: &Value, after: &Value) -> bool {
    let is_so = json!(field) == *after;
    if is_so {
        *field = before.as_str().map(str::to_owned);
    }
    is_so
}

fn property(props: &mut Map<String, Value>, name: &str, before: &Value, after: &Value) -> bool {
    let Some(key) = name.strip_prefix("props.") else {
        return false;
    };
    if props.get(key).unwrap_or(&Value::Null) != after {
        return false;
    }
    if before.is_null() {
        props.remove(key);
    } else {
        props.insert(key.to_owned(), before.clone());
    }
    true
}

/// Returns the contacts that the undo of a change looks at.
pub(super) fn contacts_of(change: &RepairChange) -> Vec<ContactId> {
    if change.kind == RepairedKind::Contact {
        let former = change.values.as_ref().filter(|_| change.field == SPLIT);
        let former = former.and_then(|(before, _)| id_of(before));
        return former.into_iter().chain([ContactId(change.row)]).collect();
    }
    match &change.values {
        Some((before, _)) if [PERSON, CONVERSATIONS].contains(&change.field.as_str()) => {
            id_of(before).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the conversations that the undo of a change gives back: some are about no deal now.
pub(super) fn conversations_of(change: &RepairChange) -> Vec<ConversationId> {
    match &change.values {
        Some((_, after)) if change.field == CONVERSATIONS => {
            let ids = [MOVED, LEFT].map(|name| contact::texts(&after[name]));
            let ids = ids.iter().flatten();
            ids.filter_map(|id| id.parse().ok()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn keys_of(change: &RepairChange) -> Vec<String> {
    match &change.values {
        Some((_, keys)) if is_of_keys(change) => contact::texts(keys),
        Some((keys, _)) if LOST.contains(&change.field.as_str()) => contact::texts(keys),
        _ => Vec::new(),
    }
}

/// Returns the contact whose leads the undo of a change looks at, for the keys that they name.
pub(super) fn leads_of(change: &RepairChange) -> Option<ContactId> {
    let is_meant = is_of_keys(change) || change.field == SPLIT;
    (is_meant && change.values.is_some()).then_some(ContactId(change.row))
}

#[cfg(test)]
mod tests {
    use super::super::people::{self, PersonDetails};
    use super::super::sample::{NOW, channel, working_set};
    use super::*;
    use leadhost_domain::phone;

    struct Changed {
        set: WorkingSet,
        repair: RepairId,
        deal: DealId,
        contact: ContactId,
    }

    /// A deal and its contact, and a repair that is being undone.
    fn changed() -> Changed {
        let mut set = working_set();
        let workspace = channel().workspace;
        let details = PersonDetails {
            name: Some("Rita"),
            phone_number: Some("+5511987654321"),
            ..PersonDetails::default()
        };
        let contact = people::find_or_create(&mut set, workspace, &details);
        let deal = DealId::new(NOW);
        set.add_deal(
            deal,
            DealRecord {
                title: Some("Rita asks".to_owned()),
                ..DealRecord::new(workspace, contact)
            },
        );
        let repair = RepairId::new(NOW);
        set.repairs.insert(repair, (RepairState::Undoing, 4));
        Changed {
            set,
            repair,
            deal,
            contact,
        }
    }

    impl Changed {
        fn change(&self, field: &str, before: Value, after: Value) -> RepairChange {
            let is_deal = field.starts_with("deal.");
            RepairChange {
                number: 7,
                repair: self.repair,
                workspace: channel().workspace,
                delivery: DeliveryId::new(NOW),
                item: 0,
                kind: if is_deal {
                    RepairedKind::Deal
                } else {
                    RepairedKind::Contact
                },
                row: if is_deal { self.deal.0 } else { self.contact.0 },
                contact: self.contact,
                field: field.to_owned(),
                values: Some((before, after)),
                undone: None,
            }
        }

        fn undo(&mut self, all: Vec<RepairChange>) -> Vec<RepairUndone> {
            let undo = RepairUndo {
                repair: self.repair,
                generation: 4,
                changes: all,
                converted_by: None,
            };
            let written = changes(&mut self.set, &undo);
            assert!(matches!(written, WriteOutcome::RepairUndone));
            let undone = self.set.undone_changes.drain(..);
            undone.map(|one| one.undone).collect()
        }
    }

    #[test]
    fn a_field_that_has_the_value_of_the_repair_gets_its_former_one() {
        let mut changed = changed();
        let all = vec![
            changed.change("deal.title", json!("A flat"), json!("Rita asks")),
            changed.change("contact.phone_number", Value::Null, json!("+5511987654321")),
        ];
        assert_eq!(changed.undo(all), [RepairUndone::Undone; 2]);
        let Changed {
            set, deal, contact, ..
        } = &changed;
        assert_eq!(set.deals[deal].title.as_deref(), Some("A flat"));
        assert_eq!(set.contacts[contact].phone_number, None);
        let [history] = &set.new_history[..] else {
            panic!("one row: {:?}", set.new_history);
        };
        assert!(matches!(history.by, ChangedBy::Repair { .. }));
        assert_eq!(history.changes.len(), 1);
        assert_eq!(history.changes[0].after, json!("A flat"));
    }

    #[test]
    fn values_that_were_changed_edited_or_erased_since_stay() {
        let mut changed = changed();
        let other = changed.change("deal.title", json!("A flat"), json!("Rita called"));
        let mut erased = changed.change("contact.name", Value::Null, json!("Rita"));
        erased.values = None;
        assert_eq!(
            changed.undo(vec![other, erased]),
            [RepairUndone::ChangedSince; 2]
        );
        let deal = changed.deal;
        let edited = &mut changed.set.deals.get_mut(&deal).expect("the deal").edited;
        edited.push("title".to_owned());
        let same = changed.change("deal.title", json!("A flat"), json!("Rita asks"));
        assert_eq!(changed.undo(vec![same]), [RepairUndone::ChangedSince]);
        assert!(changed.set.new_history.is_empty());
    }

    #[test]
    fn a_deal_of_a_merged_contact_and_a_new_deal_stay() {
        let mut changed = changed();
        let gone = ContactId::random();
        let all = vec![
            changed.change(CREATED, Value::Null, json!(changed.deal)),
            changed.change(MERGED, json!(gone), json!(changed.contact)),
            changed.change(PERSON, json!(gone), json!(changed.contact)),
        ];
        assert_eq!(changed.undo(all), [RepairUndone::Stays; 3]);
    }

    #[test]
    fn a_key_goes_with_the_value_that_it_stands_for() {
        let mut changed = changed();
        let (workspace, contact) = (channel().workspace, changed.contact);
        let added = contact::keys(&[phone::normalise("+5511987654321", "")], &[]);
        for key in &added {
            let entry = (workspace, key.clone());
            changed.set.contact_keys.insert(entry, contact);
        }
        let keys = changed.change(KEYS, json!([]), json!(added));
        let value = changed.change("contact.phone_number", Value::Null, json!("+5511987654321"));
        assert_eq!(
            changed.undo(vec![keys.clone()]),
            [RepairUndone::ChangedSince],
            "the contact has the number"
        );
        assert_eq!(changed.undo(vec![value, keys]), [RepairUndone::Undone; 2]);
        let gone: Vec<_> = added.into_iter().map(|key| (workspace, key)).collect();
        assert_eq!(changed.set.removed_contact_keys, gone);
    }

    #[test]
    fn a_key_that_a_lead_of_the_contact_names_stays() {
        let mut changed = changed();
        let (workspace, contact, deal) = (channel().workspace, changed.contact, changed.deal);
        let emails = ["rita@example.com", "r@example.org"];
        let added = emails.map(contact::email_key);
        for key in &added {
            let entry = (workspace, key.clone());
            changed.set.contact_keys.insert(entry, contact);
        }
        let said = |email: &str| json!({"emails": [email]});
        changed.set.said.insert(
            contact,
            vec![
                (DealId::new(NOW), said(emails[0])),
                // The deal's address has changed since.
                (deal, said(emails[1])),
            ],
        );
        let keys = changed.change(KEYS, json!([]), json!(added));
        assert_eq!(changed.undo(vec![keys]), [RepairUndone::InUse]);
        let gone = [(workspace, added[1].clone())];
        assert_eq!(changed.set.removed_contact_keys, gone);
    }

    #[test]
    fn a_shared_key_goes_unless_the_contact_owns_it_by_now() {
        let mut changed = changed();
        let (workspace, contact) = (channel().workspace, changed.contact);
        let key = contact::email_key("rita@example.com");
        let entry = (workspace, key.clone());
        let keys = changed.change(SHARED_KEYS, json!([]), json!([key]));
        changed.set.contact_keys.insert(entry.clone(), contact);
        let same = keys.clone();
        assert_eq!(changed.undo(vec![same]), [RepairUndone::ChangedSince]);
        let other = ContactId::random();
        changed.set.contact_keys.insert(entry, other);
        assert_eq!(changed.undo(vec![keys]), [RepairUndone::Undone]);
        assert_eq!(changed.set.removed_shared_keys, [(workspace, key, contact)]);
        assert!(changed.set.removed_contact_keys.is_empty());
    }

    #[test]
    fn a_repair_of_another_generation_is_not_undone() {
        let mut changed = changed();
        let change = changed.change("deal.title", json!("A flat"), json!("Rita asks"));
        let undo = RepairUndo {
            repair: changed.repair,
            generation: 3,
            changes: vec![change],
            converted_by: None,
        };
        let written = changes(&mut changed.set, &undo);
        assert!(matches!(written, WriteOutcome::Stale));
        assert!(changed.set.undone_changes.is_empty());
    }
}
