//! Parts the people whom only the values of a wrong version made one, after a repair has corrected what
//! their leads say: a lead whose keys do not lead to its contact any more gets the one to which they lead,
//! or a new one, with what belongs to it.
//!
//! Who gave a contact a match key follows from its leads: each deal keeps the phones and addresses that its
//! lead names ([`contact::SAID`]). A key that none of them names came from a conversation or a person, which
//! proves that somebody has it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use super::items::ItemContext;
use super::people::{self, PersonDetails};
use super::receipt::{self, KeysSoFar};
use super::working_set::{MovedItem, Talk, WorkingSet};
use super::{DealRecord, conversation, lead, repair};
use crate::domain::contact::{self, SAID};
use crate::domain::deal::DealStatus;
use crate::domain::id::{ContactId, ConversationId, DealId, WorkspaceId};
use crate::domain::phone;
use crate::domain::repair::{LOST_KEYS, LOST_SHARED_KEYS, PERSON};
use crate::domain::time::Micros;
use crate::store::{ContactParting, FieldDiff, Mode, PartedLead, RepairWrite, WriteOutcome};

/// Decides where the leads of a part belong, oldest first.
pub(super) fn decide(set: &mut WorkingSet, part: &ContactParting) -> WriteOutcome {
    if !repair::runs(set, &part.repair) {
        return WriteOutcome::Stale;
    }
    let mut unparted = 0;
    for one in &part.leads {
        unparted += u64::from(!Former::new(part, one).seat(set));
    }
    if part.is_last {
        let former = Former::new(part, &part.place);
        former.drop_wrong_keys(set);
        // Its leads are one person's and the conversation is another's, or may be.
        let is_mixed = !set.said_of(part.contact).is_empty() && former.is_strangers(set);
        unparted = unparted.max(u64::from(is_mixed));
    }
    WriteOutcome::Parted { unparted }
}

/// Returns whether a lead would not stay with its contact if it named these keys.
pub(super) fn would_part(
    set: &WorkingSet,
    context: &ItemContext<'_>,
    repair: RepairWrite,
    (id, deal): (DealId, &DealRecord),
    keys: &[String],
) -> bool {
    let said = deal.props.get(SAID).cloned().unwrap_or_default();
    let mut gone: BTreeSet<String> = contact::said_keys(&said).into_iter().collect();
    gone.retain(|key| !keys.contains(key));
    let lead = PartedLead {
        deal: id,
        delivery: context.delivery,
        item: 0,
    };
    let part = ContactParting {
        repair,
        workspace: deal.workspace,
        contact: deal.person,
        place: lead,
        leads: Vec::new(),
        keys: Vec::new(),
        gone,
        is_last: false,
    };
    let is_edited = deal.edited.iter().any(|field| field == "person");
    !is_edited && Former::new(&part, &lead).find(set, keys).is_some()
}

/// Where a lead belongs that is not its contact's.
#[derive(Debug, PartialEq, Eq)]
enum Seat {
    Other(ContactId),
    New,
}

/// A contact, seen from one of its leads.
struct Former<'a> {
    context: ItemContext<'a>,
    item: u32,
    workspace: WorkspaceId,
    contact: ContactId,
    deal: DealId,
    gone: &'a BTreeSet<String>,
}

impl<'a> Former<'a> {
    fn new(part: &'a ContactParting, lead: &PartedLead) -> Self {
        Self {
            context: ItemContext {
                delivery: lead.delivery,
                workspace: part.workspace,
                received_at: Micros::default(),
                arrives: false,
                ran: None,
                mode: Some(Mode::Repair(part.repair)),
                used: HashSet::new(),
            },
            item: lead.item,
            workspace: part.workspace,
            contact: part.contact,
            deal: lead.deal,
            gone: &part.gone,
        }
    }

    /// Gives the lead the contact that it belongs to. Returns false if it stays with a wrong one.
    fn seat(&self, set: &mut WorkingSet) -> bool {
        let Some(deal) = set.deals.get(&self.deal) else {
            return true;
        };
        let is_edited = deal.edited.iter().any(|field| field == "person");
        if deal.person != self.contact || is_edited {
            return true;
        }
        let said = deal.props.get(SAID).cloned().unwrap_or_default();
        let Some(seat) = self.find(set, &contact::said_keys(&said)) else {
            return true;
        };
        // Nobody knows whether the stranger or the person of the lead talks there.
        let is_open = self.talks(set).any(|talk| talk.answers);
        if is_open && self.is_strangers(set) {
            return false;
        }
        self.move_to(set, seat, &said)
    }

    /// Returns where a lead with these keys would have come, if its contact had had no keys but those of
    /// older leads and those that prove themselves. `None`: to its contact, or that is nobody else's.
    fn find(&self, set: &WorkingSet, keys: &[String]) -> Option<Seat> {
        let leads = set.said_of(self.contact);
        let older: Vec<_> = leads.iter().filter(|(id, _)| *id < self.deal).collect();
        let mut known = self.base(set);
        known.extend(older.iter().flat_map(|(_, said)| contact::said_keys(said)));
        let has_phone = known.iter().any(|key| contact::strength(key) == 1);
        let mut keys: Vec<&String> = keys.iter().collect();
        keys.sort_by_key(|key| contact::strength(key));
        // As for a new lead, an address joins only those who have no phone.
        let decided = keys.first().is_some_and(|key| contact::strength(key) < 2);
        let joins =
            |key: &str, has_phone: bool| contact::strength(key) < 2 || !decided || !has_phone;
        for key in keys {
            if known.contains(key) && joins(key, has_phone) {
                return None;
            }
            let other = self.other(set, key).and_then(|id| {
                let has_phone = set.contacts.get(&id)?.phone_number.is_some();
                joins(key, has_phone).then_some(id)
            });
            if let Some(other) = other {
                return Some(Seat::Other(other));
            }
        }
        let mut talks = set.talks.get(&self.contact).into_iter().flatten();
        let has_others = !older.is_empty()
            || self.is_strangers(set)
            || talks.any(|talk| talk.is_somebodys() && talk.deal != Some(self.deal));
        has_others.then_some(Seat::New)
    }

    /// Returns the owner of a key, or, if it is the contact, the one that shares it through an older lead.
    fn other(&self, set: &WorkingSet, key: &str) -> Option<ContactId> {
        let entry = (self.workspace, key.to_owned());
        let owner = set.contact_keys.get(&entry).copied();
        let shared = set.known_shared_keys.iter().chain(&set.shared_keys);
        let shared =
            shared.filter(|(workspace, shared, _)| (*workspace, shared) == (entry.0, &entry.1));
        let is_older = |id: &ContactId| {
            let leads = set.said_of(*id).into_iter();
            let mut older = leads.take_while(|(deal, _)| *deal < self.deal);
            older.any(|(_, said)| contact::said_keys(&said).contains(&entry.1))
        };
        let heir = || {
            shared
                .map(|(.., id)| *id)
                .filter(|id| *id != self.contact && is_older(id))
                .min()
        };
        owner.filter(|id| *id != self.contact).or_else(heir)
    }

    /// Returns the keys of the contact that it has without its leads.
    fn base(&self, set: &WorkingSet) -> HashSet<String> {
        let named = self.named(set, None);
        let mut base = HashSet::new();
        for key in held(set, self.contact) {
            let is_channels = contact::strength(key) == 0;
            if self.is_wrong(key) {
                base.extend(self.proves(set, key).then(|| key.clone()));
            } else if is_channels || !named.contains(key) {
                base.extend(phone_of(key));
                base.insert(key.clone());
            }
        }
        if let Some(contact) = set.contacts.get(&self.contact) {
            let is = |field: &str| contact.edited.iter().any(|edited| edited == field);
            let phone = contact.phone_number.iter().filter(|_| is("phone_number"));
            let email = contact.email.iter().filter(|_| is("email"));
            base.extend(contact::keys_of(phone, email));
        }
        base
    }

    /// Returns the keys that the leads of the contact name, but one.
    fn named(&self, set: &WorkingSet, but: Option<DealId>) -> HashSet<String> {
        let leads = set.said_of(self.contact).into_iter();
        let others = leads.filter(|(id, _)| Some(*id) != but);
        others
            .flat_map(|(_, said)| contact::said_keys(&said))
            .collect()
    }

    /// Returns whether only a wrong value gave the contact a key, as far as its leads tell. A message to a
    /// number gives its contact the channel's id of it too.
    fn is_wrong(&self, key: &String) -> bool {
        self.gone.contains(key) || phone_of(key).is_some_and(|phone| self.gone.contains(&phone))
    }

    /// Returns whether somebody talks to the contact from the wrong number of a key.
    fn proves(&self, set: &WorkingSet, key: &str) -> bool {
        let mut ids = held(set, self.contact).filter(|key| contact::strength(key) == 0);
        let is_its = |id: &String| id == key || phone_of(id).as_deref() == Some(key);
        let mut talks = set.talks.get(&self.contact).into_iter().flatten();
        ids.any(is_its) && talks.any(Talk::is_somebodys)
    }

    /// Returns whether somebody else talks to the contact from a wrong number.
    fn is_strangers(&self, set: &WorkingSet) -> bool {
        let named = self.named(set, None);
        let mut held = held(set, self.contact);
        held.any(|key| self.is_wrong(key) && !named.contains(key) && self.proves(set, key))
    }

    /// Returns the conversations of the contact about the lead.
    fn talks<'s>(&self, set: &'s WorkingSet) -> impl Iterator<Item = &'s Talk> + use<'s, 'a> {
        let deal = Some(self.deal);
        let talks = set.talks.get(&self.contact).into_iter().flatten();
        talks.filter(move |talk| talk.deal == deal)
    }

    /// Moves the lead, with the keys that only it names and its conversations. Returns whether all of them
    /// moved.
    fn move_to(&self, set: &mut WorkingSet, seat: Seat, said: &Value) -> bool {
        let banned_at = set
            .contacts
            .get(&self.contact)
            .and_then(|one| one.banned_at);
        let (base, named) = (self.base(set), self.named(set, Some(self.deal)));
        let keys = contact::said_keys(said);
        let own = keys
            .iter()
            .filter(|key| !named.contains(*key) && !base.contains(*key));
        self.take(set, own.cloned().collect());
        let (phones, emails) = (
            contact::texts(&said["phones"]),
            contact::texts(&said["emails"]),
        );
        let phone = phones
            .iter()
            .find_map(|text| phone::normalise(text, "").e164);
        let details = PersonDetails {
            keys: &keys,
            name: said["name"].as_str(),
            email: emails.first().map(String::as_str),
            phone_number: phone.as_deref(),
            props: None,
        };
        let so_far = KeysSoFar::in_set(set);
        let (to, before) = match seat {
            Seat::Other(id) => {
                let before = set.contacts.get(&id).map(receipt::fields);
                people::fill(set, id, &details);
                (id, before)
            }
            Seat::New => {
                let id = people::create(set, self.workspace, &details);
                receipt::note_split(set, &self.context, self.item, (self.contact, id));
                (id, None)
            }
        };
        // Nobody knows which of them wants no messages.
        if let Some(at) = banned_at {
            people::ban(set, to, at);
        }
        set.add_contact_keys(self.workspace, to, &keys);
        if let Some(before) = before {
            // Before the lead itself: an undo takes the keys when no lead names them any more.
            receipt::note_filled(set, &self.context, self.item, to, (before, so_far));
        }
        self.seat_at(set, to);
        let is_whole = self.conversations(set, to);
        self.fields(set, said);
        is_whole
    }

    fn seat_at(&self, set: &mut WorkingSet, to: ContactId) {
        let Some(deal) = set.deals.get_mut(&self.deal) else {
            return;
        };
        deal.person = to;
        let is_open = deal.status == DealStatus::Open;
        set.touch_deal(self.deal);
        let mut diff = FieldDiff::unwritten(PERSON, json!(self.contact), json!(to));
        diff.applied = true;
        let diff = [diff];
        lead::remember(set, &self.context, self.deal, &diff);
        receipt::note(set, &self.context, self.item, (self.deal, to), &diff);
        set.moved_items.push(MovedItem {
            workspace: self.workspace,
            delivery: self.context.delivery,
            item: self.item,
            contact: to,
        });
        if is_open {
            conversation::adopt(set, self.deal, None);
        }
    }

    /// Gives the conversations about the deal to its contact. Those that began before it, and those that a
    /// stranger began, are the former contact's: only the wrong keys made them about the deal.
    fn conversations(&self, set: &mut WorkingSet, to: ContactId) -> bool {
        let is_strangers = self.is_strangers(set);
        let (mut moved, mut left, mut is_whole) = (Vec::new(), Vec::new(), true);
        let talks: Vec<(ConversationId, bool)> = self
            .talks(set)
            .map(|talk| {
                (
                    talk.conversation,
                    talk.is_older || talk.asks && is_strangers,
                )
            })
            .collect();
        for (id, stays) in talks {
            if stays {
                conversation::concerns(set, id, None);
                left.push(id);
            } else if set.move_conversation(id, to) {
                moved.push(id);
            } else {
                is_whole = false;
            }
        }
        for talk in set.talks.entry(self.contact).or_default() {
            if left.contains(&talk.conversation) {
                talk.deal = None;
            }
        }
        let talks = set.talks.entry(self.contact).or_default();
        talks.retain(|talk| !moved.contains(&talk.conversation));
        if !moved.is_empty() || !left.is_empty() {
            let place = (self.deal, self.contact);
            receipt::note_conversations(set, &self.context, self.item, place, (&moved, &left));
        }
        is_whole
    }

    /// Gives the former contact the values of its other leads in place of those of this one.
    fn fields(&self, set: &mut WorkingSet, said: &Value) {
        let others = set.said_of(self.contact);
        let Some(contact) = set.contacts.get_mut(&self.contact) else {
            return;
        };
        let mut changes = Vec::new();
        for (name, field, stands) in [
            ("name", "name", &mut contact.name),
            ("email", "emails", &mut contact.email),
            ("phone_number", "phones", &mut contact.phone_number),
        ] {
            let Some(value) = stands.clone() else {
                continue;
            };
            let is_edited = contact.edited.iter().any(|edited| edited == name);
            let is_own = contact::texts(&said[field]).contains(&value);
            let others = others
                .iter()
                .flat_map(|(_, one)| contact::texts(&one[field]));
            let others: Vec<String> = others.collect();
            if is_edited || !is_own || others.contains(&value) {
                continue;
            }
            *stands = others.first().cloned();
            changes.push((format!("contact.{name}"), json!(value), json!(stands)));
        }
        if changes.is_empty() {
            return;
        }
        set.touch_contact(self.contact);
        for (field, before, after) in changes {
            let values = (before, after);
            receipt::note_contact(set, &self.context, self.item, self.contact, &field, values);
        }
    }

    /// Takes the wrong keys that nothing gives the contact any more.
    fn drop_wrong_keys(&self, set: &mut WorkingSet) {
        let mut named = self.named(set, None);
        if let Some(contact) = set.contacts.get(&self.contact) {
            named.extend(contact::keys_of(&contact.phone_number, &contact.email));
        }
        let stays = |key: &String| match phone_of(key) {
            Some(phone) => named.contains(&phone),
            None => named.contains(key),
        };
        let gone = held(set, self.contact);
        let gone = gone.filter(|key| self.is_wrong(key) && !stays(key) && !self.proves(set, key));
        let gone = gone.cloned().collect();
        self.take(set, gone);
    }

    /// Takes keys from the contact, which owns or shares them, and adds them to the receipt.
    fn take(&self, set: &mut WorkingSet, keys: Vec<String>) {
        let mut taken: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for key in keys {
            let owner = set.contact_keys.get(&(self.workspace, key.clone()));
            let field = match owner == Some(&self.contact) {
                true => LOST_KEYS,
                false => LOST_SHARED_KEYS,
            };
            let held = set.held_keys.entry(self.contact).or_default();
            if held.contains(&key) {
                held.retain(|other| *other != key);
                set.remove_key((self.workspace, self.contact), key.clone());
                taken.entry(field).or_default().push(key);
            }
        }
        for (field, keys) in taken {
            let values = (json!(keys), json!([]));
            receipt::note_contact(set, &self.context, self.item, self.contact, field, values);
        }
    }
}

/// Returns the match keys of a contact.
fn held(set: &WorkingSet, contact: ContactId) -> impl Iterator<Item = &String> {
    set.held_keys.get(&contact).into_iter().flatten()
}

/// Returns the key of the phone that a channel's id of a person stands for.
fn phone_of(key: &str) -> Option<String> {
    let id = key
        .split_once(':')
        .filter(|_| contact::strength(key) == 0)?
        .1;
    let phone = contact::channel_phone(id)?.match_key?;
    Some(contact::phone_key(&phone))
}
