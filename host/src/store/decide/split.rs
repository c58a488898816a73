//! Takes the deals of a repair from contacts that only the values of a wrong version made their
//! persons.
//!
//! Which delivery gave a contact a match key follows from its leads: each deal keeps the phones and
//! addresses that its lead names ([`contact::SAID`]), and the delivery of each ([`Provenance`]). A key
//! that no lead names came through a conversation, which alone proves that its person exists.
//!
//! [`Provenance`]: crate::domain::provenance::Provenance

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ContactRecord;
use super::diff::{self, Comparison};
use super::items::ItemContext;
use super::working_set::WorkingSet;
use super::{conversation, receipt};
use crate::domain::contact::{self, SAID};
use crate::domain::id::{ContactId, ConversationId, DealId, WorkspaceId, time_of};
use crate::store::change::RowChange;
use crate::store::{Mode, NewLead};

/// What linked a deal to its contact before a repair corrects it.
pub(super) struct Link {
    workspace: WorkspaceId,
    deal: DealId,
    pub contact: ContactId,
    /// The values for the person before.
    said: Value,
    /// The match keys that the lead does not give any more.
    gone: Vec<String>,
    /// What the other leads of the contact say of the person, oldest first, and the keys that they name.
    others: Vec<Value>,
    named: Vec<String>,
}

impl Link {
    /// Returns it, if a repair takes match keys from the deal's lead. A value of another delivery stays,
    /// and a person's choice of the contact too.
    pub fn find(
        set: &WorkingSet,
        context: &ItemContext<'_>,
        (item, id): (u32, DealId),
        lead: &NewLead,
        comparison: Comparison,
    ) -> Option<Self> {
        let deal = set.deals.get(&id)?;
        let is_edited = deal.edited.iter().any(|field| field == "person");
        if !matches!(context.mode, Some(Mode::Repair(_))) || !comparison.moves() || is_edited {
            return None;
        }
        let said = deal.props.get(SAID)?;
        let given = diff::given(deal, context, item, lead);
        let now = lead.deal_props.get(SAID).unwrap_or(&Value::Null);
        // A narrow repair takes no field that the lead does not have any more.
        let taken = |field: &str| given(field) && !(comparison.is_narrow() && now[field].is_null());
        let before = |field: &str| match taken(field) {
            true => contact::texts(&said[field]),
            false => Vec::new(),
        };
        let mut gone =
            comparison.match_keys(&contact::keys_of(&before("phones"), &before("emails")));
        gone.retain(|key| !lead.contact_keys.contains(key));
        if gone.is_empty() {
            return None;
        }
        let others = set.said_of(deal.person).into_iter();
        let others = others.filter(|(other, _)| *other != id);
        let others: Vec<Value> = others.map(|(_, said)| said).collect();
        Some(Self {
            workspace: deal.workspace,
            deal: id,
            contact: deal.person,
            said: said.clone(),
            gone,
            named: others.iter().flat_map(contact::said_keys).collect(),
            others,
        })
    }

    /// Returns whether the lead finds no other contact than its own, or none.
    pub fn keeps(&self, found: Option<ContactId>) -> bool {
        found.is_none_or(|found| found == self.contact)
    }

    /// Returns a new contact for the lead, which gets the keys of the former one that only this lead names.
    pub fn split(
        &self,
        set: &mut WorkingSet,
        context: &ItemContext<'_>,
        item: u32,
        lead: &NewLead,
    ) -> Option<ContactId> {
        let former = set.contacts.get(&self.contact)?;
        let id = ContactId::new(set.now);
        let contact = ContactRecord {
            workspace: self.workspace,
            name: lead.name.clone(),
            email: lead.emails.first().cloned(),
            phone_number: lead.phone_number().map(str::to_owned),
            // Nobody knows which of them wants no messages.
            banned_at: former.banned_at,
            props: Map::new(),
            edited: Vec::new(),
            change: RowChange::New,
        };
        set.add_contact(id, contact);
        let own = self.own_keys(set);
        take(set, context, item, (self.workspace, self.contact), &own);
        // After the keys: an undo frees those of the new contact before it gives them back.
        receipt::note_split(set, context, item, (self.contact, id));
        Some(id)
    }

    /// Returns whether only the keys that are gone join the lead with others of its contact.
    pub fn is_joined_wrongly(&self, set: &WorkingSet, lead: &NewLead) -> bool {
        let talks = set.talks.get(&self.contact);
        let mut talks = talks.into_iter().flatten();
        let has_others = !self.others.is_empty()
            || talks.any(|deal| *deal != Some(self.deal))
            || self.talks(set).values().any(|began_before| *began_before);
        let own = self.own_keys(set);
        // As for a new lead, an address joins only those who have no phone.
        let decided = lead
            .contact_keys
            .iter()
            .any(|key| contact::strength(key) < 2);
        let joins = |key: &String| {
            let is_held =
                set.contact_keys.get(&(self.workspace, key.clone())) == Some(&self.contact);
            (contact::strength(key) < 2 || !decided)
                && (self.named.contains(key) || is_held && !own.contains(key))
        };
        has_others && !lead.contact_keys.iter().any(joins)
    }

    /// Returns the keys of the contact that none of its leads but this one names.
    fn own_keys(&self, set: &WorkingSet) -> Vec<String> {
        let mut own = contact::said_keys(&self.said);
        own.retain(|key| {
            let owner = set.contact_keys.get(&(self.workspace, key.clone()));
            owner == Some(&self.contact) && !self.named.contains(key)
        });
        own
    }

    /// Ends the link after the comparison: the deal's conversations follow it, the former contact has
    /// the values of its other leads, and loses the keys that nothing gives it any more. Returns whether
    /// everything is as if the lead had never had them.
    pub fn end(self, set: &mut WorkingSet, context: &ItemContext<'_>, item: u32) -> bool {
        let now = set.deals.get(&self.deal).map(|deal| deal.person);
        let Some(now) = now else {
            return true;
        };
        let mut is_whole = true;
        let has_left = now != self.contact;
        if has_left {
            is_whole = self.conversations(set, context, item, now);
            self.fields(set, context, item);
            for claim in set.claims.values_mut() {
                if claim.deal == Some(self.deal) {
                    claim.contact = Some(now);
                    claim.change.touch();
                }
            }
        }
        is_whole & self.keys(set, context, item, has_left)
    }

    /// Returns the conversations of the contact about the deal, and whether each began before it.
    fn talks(&self, set: &WorkingSet) -> BTreeMap<ConversationId, bool> {
        let all = set.dialogue.conversations.iter();
        let own = all.filter(|(_, one)| (one.contact, one.deal) == (self.contact, Some(self.deal)));
        own.map(|(id, _)| (*id, time_of(id.0) < time_of(self.deal.0)))
            .collect()
    }

    /// Gives the conversations about the deal to its contact. One that began before the deal is the former
    /// contact's: only the wrong keys made it about the deal.
    fn conversations(
        &self,
        set: &mut WorkingSet,
        context: &ItemContext<'_>,
        item: u32,
        to: ContactId,
    ) -> bool {
        let (mut moved, mut left, mut is_whole) = (Vec::new(), Vec::new(), true);
        for (id, began_before) in self.talks(set) {
            if began_before {
                conversation::concerns(set, id, None);
                left.push(id);
            } else if set.move_conversation(id, to) {
                moved.push(id);
            } else {
                is_whole = false;
            }
        }
        let talks = set.talks.entry(self.contact).or_default();
        talks.retain(|deal| !is_whole || *deal != Some(self.deal));
        talks.extend(left.first().map(|_| None));
        if !moved.is_empty() || !left.is_empty() {
            let place = (self.deal, self.contact);
            receipt::note_conversations(set, context, item, place, (&moved, &left));
        }
        is_whole
    }

    /// Gives the former contact the values of its other leads in place of those of this one.
    fn fields(&self, set: &mut WorkingSet, context: &ItemContext<'_>, item: u32) {
        let Some(contact) = set.contacts.get_mut(&self.contact) else {
            return;
        };
        let mut changes = Vec::new();
        for (name, said, stands) in [
            ("name", "name", &mut contact.name),
            ("email", "emails", &mut contact.email),
            ("phone_number", "phones", &mut contact.phone_number),
        ] {
            let Some(value) = stands.clone() else {
                continue;
            };
            let is_edited = contact.edited.iter().any(|edited| edited == name);
            let is_own = contact::texts(&self.said[said]).contains(&value);
            let of_others = self
                .others
                .iter()
                .flat_map(|one| contact::texts(&one[said]));
            let of_others: Vec<String> = of_others.collect();
            if is_edited || !is_own || of_others.contains(&value) {
                continue;
            }
            *stands = of_others.first().cloned();
            changes.push((format!("contact.{name}"), json!(value), json!(stands)));
        }
        if changes.is_empty() {
            return;
        }
        set.touch_contact(self.contact);
        for (field, before, after) in changes {
            receipt::note_contact(set, context, item, self.contact, &field, (before, after));
        }
    }

    /// Takes the keys that are gone from the contact, unless something else gives it one. Returns false if
    /// that cannot be known: somebody has answered from such a number in a conversation about the deal.
    fn keys(
        &self,
        set: &mut WorkingSet,
        context: &ItemContext<'_>,
        item: u32,
        has_left: bool,
    ) -> bool {
        let mut named = self.named.clone();
        let own = set.deals.get(&self.deal).filter(|_| !has_left);
        let said = own.and_then(|deal| deal.props.get(SAID));
        named.extend(said.into_iter().flat_map(contact::said_keys));
        if let Some(contact) = set.contacts.get(&self.contact) {
            named.extend(contact::keys_of(&contact.phone_number, &contact.email));
        }
        let held = set
            .held_keys
            .get(&self.contact)
            .cloned()
            .unwrap_or_default();
        // A message to a number gives its contact the channel's id of it too.
        let stands_for = |key: &String| {
            let id = key.split_once(':').map(|(_, id)| id).unwrap_or_default();
            let phone = contact::channel_phone(id).and_then(|phone| phone.match_key);
            let phone = phone.map(|key| contact::phone_key(&key));
            contact::strength(key) == 0 && phone.is_some_and(|phone| self.gone.contains(&phone))
        };
        let gone: Vec<String> = held
            .into_iter()
            .filter(|key| self.gone.contains(key) || stands_for(key))
            .filter(|key| !named.contains(key))
            .collect();
        if gone.is_empty() {
            return true;
        }
        let talks = set.talks.get(&self.contact);
        let mut talks = talks.into_iter().flatten();
        let own = Some(self.deal);
        if talks.any(|deal| *deal != own) {
            // They are of those conversations, as far as anybody knows.
            return true;
        }
        let conversations = set.dialogue.conversations.values();
        let mut about = conversations.filter(|one| one.deal == own && !has_left);
        if about.any(|one| one.answered_at.is_some()) {
            return false;
        }
        take(set, context, item, (self.workspace, self.contact), &gone);
        true
    }
}

/// Takes keys from a contact, which owns or shares them, and adds them to the receipt.
fn take(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    item: u32,
    (workspace, contact): (WorkspaceId, ContactId),
    keys: &[String],
) {
    if keys.is_empty() {
        return;
    }
    for key in keys {
        set.remove_key((workspace, contact), key.clone());
    }
    if let Some(held) = set.held_keys.get_mut(&contact) {
        held.retain(|key| !keys.contains(key));
    }
    receipt::note_lost_keys(set, context, item, contact, keys);
}
