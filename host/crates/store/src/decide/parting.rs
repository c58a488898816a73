//! Splits contacts that a faulty plugin version merged. Runs after a repair has corrected the leads: each
//! lead whose match keys no longer point at its contact moves to the contact they point at, or to a new one,
//! with what belongs to it.
//!
//! `ties` says what gives a contact its match keys.

use super::items::ItemContext;
use super::people::{self, PersonDetails};
use super::receipt::{self, KeysSoFar};
use super::ties::Ties;
use super::working_set::Talk;
use super::{conversation, lead, repair};
use crate::decide::prelude::*;
use crate::{ContactParting, FieldDiff, GoneValues, PartedLead, RepairWrite};
use leadhost_domain::contact::SAID;
use leadhost_domain::repair::{LOST_KEYS, LOST_SHARED_KEYS, PERSON, RepairedKind};

/// Decides where the leads of a part belong, oldest first.
pub(super) fn decide(set: &mut WorkingSet, part: &ContactParting) -> WriteOutcome {
    if !repair::runs(set, &part.repair) {
        return WriteOutcome::Stale;
    }
    let mut ties = Ties::new(set, part);
    let mut unparted = 0;
    for one in &part.leads {
        unparted += u64::from(!Former::new(part, one).seat(set, &mut ties));
    }
    if part.is_last {
        let former = Former::new(part, &part.place);
        former.drop_values(set, &part.gone.values);
        former.take(set, &ties.without_reason(set), part.contact);
        ties.settle(set);
        // Its leads are one person's and the conversation is another's, or may be.
        unparted = unparted.max(u64::from(ties.has_leads() && ties.is_strangers()));
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
    let mut gone = GoneValues::default();
    gone.add(&said, &Value::Null);
    gone.keys.retain(|key| !keys.contains(key));
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
    let mut ties = Ties::new(set, &part);
    ties.pass(set, id);
    !is_edited && Former::new(&part, &lead).find(set, &ties, keys).is_some()
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
    contact: ContactId,
    deal: DealId,
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
            contact: part.contact,
            deal: lead.deal,
        }
    }

    /// Gives the lead the contact that it belongs to. Returns false if it stays with a wrong one.
    fn seat(&self, set: &mut WorkingSet, ties: &mut Ties<'_>) -> bool {
        let Some(deal) = set.deals.get(&self.deal) else {
            return true;
        };
        let is_edited = deal.edited.iter().any(|field| field == "person");
        if deal.person != self.contact || is_edited {
            return true;
        }
        let said = deal.props.get(SAID).cloned().unwrap_or_default();
        ties.pass(set, self.deal);
        let Some(seat) = self.find(set, ties, &contact::said_keys(&said)) else {
            return true;
        };
        // Nobody knows whether the stranger or the person of the lead talks there.
        if ties.is_strangers() && self.talks(set).any(|talk| talk.answers) {
            return false;
        }
        self.move_to(set, ties, seat, &said)
    }

    /// Returns where a lead with these keys would have gone, had its contact only had the keys of older leads
    /// and keys that prove themselves. `None`: to its own contact, because the keys are nobody else's.
    fn find(&self, set: &WorkingSet, ties: &Ties<'_>, keys: &[String]) -> Option<Seat> {
        let found = people::find_by(keys, |key, decided, joins| {
            if ties.has(key) && joins(ties.has_phone()) {
                return Some(None);
            }
            let other = self.other(set, key, decided)?;
            let has_phone = set.contacts.get(&other)?.phone_number.is_some();
            joins(has_phone).then_some(Some(other))
        });
        if let Some(contact) = found {
            return contact.map(Seat::Other);
        }
        let mut talks = set.talks.get(&self.contact).into_iter().flatten();
        let has_others = ties.has_older()
            || ties.is_strangers()
            || talks.any(|talk| talk.is_somebodys() && talk.deal != Some(self.deal));
        has_others.then_some(Seat::New)
    }

    /// Returns the owner of a key, or, if it is the contact, the one that shares it through a lead: an older
    /// one if the lead has a phone. A lead with an address alone would have been found by a younger one.
    fn other(&self, set: &WorkingSet, key: &str, decided: bool) -> Option<ContactId> {
        let entry = (self.context.workspace, key.to_owned());
        let owner = set.contact_keys.get(&entry).copied();
        let shared = set.known_shared_keys.iter().chain(&set.shared_keys);
        let shared =
            shared.filter(|(workspace, shared, _)| (*workspace, shared) == (entry.0, &entry.1));
        // The first lead by which it has the key.
        let since = |id: &ContactId| {
            let leads = set.said_of(*id).into_iter();
            let mut leads = leads.take_while(|(deal, _)| !decided || *deal < self.deal);
            let naming = leads.find(|(_, said)| contact::said_keys(said).contains(&entry.1));
            naming.map(|(deal, _)| deal)
        };
        let heir = || {
            let others = shared.map(|(.., id)| *id).filter(|id| *id != self.contact);
            let others = others.filter_map(|id| Some((since(&id)?, id)));
            others.min().map(|(_, id)| id)
        };
        owner.filter(|id| *id != self.contact).or_else(heir)
    }

    fn talks<'s>(&self, set: &'s WorkingSet) -> impl Iterator<Item = &'s Talk> + use<'s, 'a> {
        let deal = Some(self.deal);
        let talks = set.talks.get(&self.contact).into_iter().flatten();
        talks.filter(move |talk| talk.deal == deal)
    }

    /// Moves the lead, with the keys that only it names and its conversations. Returns whether all of them
    /// moved.
    fn move_to(&self, set: &mut WorkingSet, ties: &mut Ties<'_>, seat: Seat, said: &Value) -> bool {
        let banned_at = set
            .contacts
            .get(&self.contact)
            .and_then(|one| one.banned_at);
        let keys = contact::said_keys(said);
        ties.leave(&keys);
        let (phones, emails) = (contact::said(said, "phones"), contact::said(said, "emails"));
        let details = PersonDetails {
            keys: &keys,
            name: said["name"].as_str(),
            email: emails.first().map(String::as_str),
            phone_number: phones.first().map(String::as_str),
            props: None,
        };
        let to = match seat {
            Seat::Other(id) => id,
            Seat::New => people::create(set, self.context.workspace, &details),
        };
        let own = keys.iter().filter(|key| !ties.gives(key));
        self.take(set, &own.cloned().collect::<Vec<_>>(), to);
        // What it has shared is its own now, which the undo of the loss takes back: that is no new key.
        let shared = |key: &&String| {
            let entry = (self.context.workspace, (*key).clone(), to);
            set.known_shared_keys.contains(&entry) || set.shared_keys.contains(&entry)
        };
        let shared: Vec<String> = keys.iter().filter(shared).cloned().collect();
        set.add_contact_keys(self.context.workspace, to, &shared);
        let so_far = KeysSoFar::in_set(set);
        let before = match seat {
            Seat::Other(_) => set.contacts.get(&to).map(receipt::fields),
            Seat::New => {
                receipt::note_split(set, &self.context, self.item, (self.contact, to));
                None
            }
        };
        people::fill(set, to, &details);
        // Nobody knows which of them wants no messages.
        if let Some(at) = banned_at {
            people::ban(set, to, at);
        }
        set.add_contact_keys(self.context.workspace, to, &keys);
        if let Some(before) = before {
            // Before the lead itself: an undo removes the keys once no lead names them.
            receipt::note_filled(set, &self.context, self.item, to, (before, so_far));
        }
        self.seat_at(set, to);
        let is_whole = self.conversations(set, ties, to);
        self.fields(set, said, to);
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
        let item = (self.context.workspace, self.context.delivery, self.item);
        set.moved_items.insert(item, to);
        if is_open {
            conversation::adopt(set, self.deal, None);
        }
    }

    /// Gives the conversations about the deal to its contact. Those that began before it, and those that a
    /// stranger began, are the former contact's: only the wrong keys made them about the deal.
    fn conversations(&self, set: &mut WorkingSet, ties: &mut Ties<'_>, to: ContactId) -> bool {
        let is_strangers = ties.is_strangers();
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
            ties.settle(set);
        }
        is_whole
    }

    /// Replaces this lead's values in the former contact with the values of its other leads.
    fn fields(&self, set: &mut WorkingSet, said: &Value, to: ContactId) {
        let is_own = |field: &str, value: &String| contact::said(said, field).contains(value);
        self.replace(set, to, is_own);
    }

    /// Replaces the wrong values of the contact, which none of its leads has now, with the values of its
    /// leads.
    fn drop_values(&self, set: &mut WorkingSet, gone: &BTreeSet<(&'static str, String)>) {
        let is_gone = |field: &str, value: &String| {
            gone.iter()
                .any(|(name, gone)| *name == field && gone == value)
        };
        self.replace(set, self.contact, is_gone);
    }

    /// Replaces those values of the contact by values of its leads, except what a lead still says or a
    /// person has edited. The receipt has them as values of a person.
    fn replace(
        &self,
        set: &mut WorkingSet,
        of: ContactId,
        is_meant: impl Fn(&str, &String) -> bool,
    ) {
        let Some(contact) = set.contacts.get(&self.contact) else {
            return;
        };
        let meant = [
            ("name", "name", &contact.name),
            ("email", "emails", &contact.email),
            ("phone_number", "phones", &contact.phone_number),
        ];
        let meant = meant.into_iter().filter_map(|(name, field, stands)| {
            let is_edited = contact.edited.iter().any(|edited| edited == name);
            let value = stands.clone().filter(|value| is_meant(field, value))?;
            (!is_edited).then_some((name, field, value))
        });
        let meant: Vec<_> = meant.collect();
        if meant.is_empty() {
            return;
        }
        let leads = set.said_of(self.contact);
        for (name, field, value) in meant {
            let others = leads.iter().flat_map(|(_, one)| contact::said(one, field));
            let others: Vec<String> = others.collect();
            let Some(contact) = set.contacts.get_mut(&self.contact) else {
                continue;
            };
            if others.contains(&value) {
                continue;
            }
            let stands = match name {
                "name" => &mut contact.name,
                "email" => &mut contact.email,
                _ => &mut contact.phone_number,
            };
            *stands = others.first().cloned();
            let values = (json!(value), json!(stands));
            set.touch_contact(self.contact);
            self.note(set, &format!("contact.{name}"), of, values);
        }
    }

    /// Takes keys from the contact, which owns or shares them, and adds them to the receipt as values of a
    /// person.
    fn take(&self, set: &mut WorkingSet, keys: &[String], of: ContactId) {
        let mut taken: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for key in keys {
            let owner = set.contact_keys.get(&(self.context.workspace, key.clone()));
            let field = if owner == Some(&self.contact) {
                LOST_KEYS
            } else {
                LOST_SHARED_KEYS
            };
            let held = set.held_keys.entry(self.contact).or_default();
            if let Some(at) = held.iter().position(|other| other == key) {
                held.swap_remove(at);
                set.remove_key((self.context.workspace, self.contact), key.clone());
                taken.entry(field).or_default().push(key.clone());
            }
        }
        for (field, keys) in taken {
            self.note(set, field, of, (json!(keys), json!([])));
        }
    }

    /// Adds a change of the contact to the receipt. The erasure of the person whose values they are empties
    /// it too.
    fn note(&self, set: &mut WorkingSet, field: &str, of: ContactId, values: (Value, Value)) {
        let row = (RepairedKind::Contact, self.contact.0, of);
        receipt::add(set, &self.context, self.item, row, field, values);
    }
}
