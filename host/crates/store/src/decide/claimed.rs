//! Recognises a lead by its key, and by its person if an id is several people's.
//!
//! A source may give one id to several people. The first lead with an id has the key of the id. Each further
//! one has keys of the id and its person's phones and addresses, or of the name of a person without any
//! ([`person_key`]), and the id has one that says that it is shared. So has a lead that was removed: what remains of it recognises its repeats, and is
//! not another person's.

use super::items::{ItemContext, stored};
use super::working_set::ClaimKey;
use crate::decide::prelude::*;
use crate::{NewLead, SHARED, person_key};
use leadhost_domain::contact::SAID;
use leadhost_domain::lead::Action;
use leadhost_search::fold;

/// A change of an id that several people share, which may be anybody's.
const UNCLEAR: &str =
    "several leads have this id, and nothing here says which of them is meant, so none is changed";

/// The key of a lead, and the lead that has it.
pub(super) struct ClaimedKey {
    pub key: Option<ClaimKey>,
    claim: Option<Claim>,
    /// Further leads that a deletion means, since it names nobody.
    pub also: Vec<DealId>,
    /// It changes a lead, and nobody knows which.
    is_unclear: bool,
    /// No item of this conversion has used the key before.
    pub first_use: bool,
}

impl ClaimedKey {
    pub fn new(
        set: &WorkingSet,
        context: &mut ItemContext<'_>,
        index: u32,
        lead: &NewLead,
    ) -> Self {
        let mut known = Self::find(set, context, index, lead);
        known.first_use = known
            .key
            .as_ref()
            .is_none_or(|key| context.used.insert(key.clone()));
        known
    }

    /// Recognises a lead by its key. An id may be several people's: then each further one has keys of the
    /// id and the person ([`person_key`]), and a change goes to the lead whose person it fits.
    fn find(set: &WorkingSet, context: &ItemContext<'_>, index: u32, lead: &NewLead) -> Self {
        let live = |key: &ClaimKey| set.live_claim(key, context.received_at).cloned();
        let with = |key: Option<ClaimKey>, claim| Self {
            key,
            claim,
            also: Vec::new(),
            is_unclear: false,
            first_use: true,
        };
        let key = lead.dedupe.as_ref().map(|dedupe| dedupe.key.clone());
        let Some(key) = key.map(|key| (lead.connection.clone(), key)) else {
            return with(None, None);
        };
        let Some(claim) = live(&key) else {
            return with(Some(key), None);
        };
        let Some(shared) = shared_key(lead) else {
            return with(Some(key), Some(claim));
        };
        let mut persons = person_keys(lead);
        if let Some((known, of)) = persons.clone().find_map(|key| Some((live(&key)?, key))) {
            return with(Some(of), Some(known));
        }
        let again = context.mode.is_some() && !context.used.contains(&key);
        if claim.delivery == context.delivery && (claim.item == index || again) {
            return with(Some(key), Some(claim));
        }
        let first = claim.deal.and_then(|id| Some((id, set.deals.get(&id)?)));
        let is_shared = set.claims.contains_key(&shared);
        let is_removed = claim.deal.is_some() && first.is_none();
        if !is_shared && !is_removed {
            let is_anothers =
                first.is_some_and(|(_, deal)| Person::new(set, deal).is_another(lead));
            return match persons.next().filter(|_| is_anothers) {
                None => with(Some(key), Some(claim)),
                own => with(own, None),
            };
        }
        let others = set.leads_of_id.get(&key).into_iter().flatten().rev();
        let others = others.filter_map(|id| Some((*id, set.deals.get(id)?)));
        let others = others.filter(|(id, _)| Some(*id) != claim.deal);
        let others = others.take(limits::LEADS_OF_ONE_ID);
        let leads: Vec<_> = first.into_iter().chain(others).collect();
        let has_all = leads.len() <= limits::LEADS_OF_ONE_ID;
        let claim_of = |(id, deal): (DealId, &DealRecord)| {
            if claim.deal == Some(id) {
                claim.clone()
            } else {
                claim_of_deal(set, context, index, (id, deal), &claim)
            }
        };
        if let Some(fitting) = fitting(set, &leads, lead) {
            let own = persons.next().filter(|_| claim.deal != Some(fitting.0));
            return with(own.or(Some(key)), Some(claim_of(fitting)));
        }
        let is_reachable = !lead.contact_keys.is_empty();
        let names_nobody = !is_reachable && lead.name.is_none();
        match (lead.action, persons.next()) {
            (Action::Create, Some(own)) if is_reachable || !is_removed => with(Some(own), None),
            (Action::Update, Some(own)) if is_reachable => with(Some(own), None),
            (Action::Delete, _) if has_all && names_nobody && !leads.is_empty() => Self {
                also: leads[1..].iter().map(|(id, _)| *id).collect(),
                ..with(Some(key), Some(claim_of(leads[0])))
            },
            (Action::Update | Action::Delete, _) if is_shared => Self {
                is_unclear: true,
                ..with(Some(key), None)
            },
            _ => with(Some(key), Some(claim)),
        }
    }

    /// Returns the finished item that the lead repeats, with its place, and the mode of its replay.
    pub fn finished(
        &self,
        set: &WorkingSet,
        context: &ItemContext<'_>,
        index: u32,
        lead: &NewLead,
    ) -> Option<(u32, ItemRecord, Mode)> {
        let mode = context.mode.filter(|_| self.first_use)?;
        let (index, item) = finished(set, context, index, lead, self.claim.as_ref())?;
        Some((index, item, mode))
    }

    /// Returns the owner of the key, unless it is the lead itself, which has no deal yet: its fetch
    /// was answered, or it is retried, possibly at another place because another version converted
    /// it.
    pub fn owner(&self, context: &ItemContext<'_>, index: u32) -> Option<Claim> {
        let again = context.mode.is_some() && self.first_use;
        self.claim.clone().filter(|claim| {
            !(claim.delivery == context.delivery
                && (claim.item == index || again)
                && claim.deal.is_none())
        })
    }

    /// Returns the item of a change that may be anybody's.
    pub fn unclear(&self, lead: &NewLead) -> Option<ItemRecord> {
        let item =
            || ItemRecord::with_message(ItemStatus::Ignored, lead.external_id.clone(), UNCLEAR);
        self.is_unclear.then(item)
    }
}

/// Returns the claim of a lead under an id that another lead had first.
fn claim_of_deal(
    set: &WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    (id, deal): (DealId, &DealRecord),
    first: &Claim,
) -> Claim {
    let delivery = set.deliveries.get(&context.delivery);
    let mut items = delivery.into_iter().flat_map(|delivery| &delivery.items);
    let own = items.find(|(_, item)| item.deal == Some(id));
    Claim {
        delivery: deal.delivery.unwrap_or(first.delivery),
        item: own.map_or(index, |(place, _)| *place),
        deal: Some(id),
        contact: Some(deal.person),
        ..first.clone()
    }
}

pub(super) fn person_keys(lead: &NewLead) -> impl Iterator<Item = ClaimKey> + Clone {
    let key = lead.dedupe.as_ref().map(|dedupe| dedupe.key.as_str());
    lead.told_by()
        .into_iter()
        .filter_map(move |person| Some((lead.connection.clone(), person_key(key?, &person)?)))
}

/// Returns whether a repeat of a lead has a phone or an address that is not known of its person.
pub(super) fn has_news(set: &WorkingSet, deal: &DealRecord, lead: &NewLead) -> bool {
    let person = Person::new(set, deal);
    !lead.contact_keys.iter().all(|key| person.has(key))
}

/// Returns the key that an id has once two people share it. `None`: the lead has no id.
pub(super) fn shared_key(lead: &NewLead) -> Option<ClaimKey> {
    let key = person_key(&lead.dedupe.as_ref()?.key, SHARED)?;
    Some((lead.connection.clone(), key))
}

/// Returns the one of the leads with an id whose person a lead fits: the first that shares a phone or an
/// address with it, or the only one with its name.
fn fitting<'a>(
    set: &WorkingSet,
    leads: &[(DealId, &'a DealRecord)],
    lead: &NewLead,
) -> Option<(DealId, &'a DealRecord)> {
    let people = leads.iter().map(|one| (*one, Person::new(set, one.1)));
    let people: Vec<_> = people.collect();
    let mut named = people.iter().filter(|(_, person)| person.is_named(lead));
    let sharing = people.iter().find(|(_, person)| person.shares(lead));
    let only = named.next().filter(|_| named.next().is_none());
    sharing.or(only).map(|(one, _)| *one)
}

/// What is known of the person of a lead.
struct Person<'a> {
    set: &'a WorkingSet,
    deal: &'a DealRecord,
    names: Vec<&'a str>,
    keys: Vec<String>,
}

impl<'a> Person<'a> {
    fn new(set: &'a WorkingSet, deal: &'a DealRecord) -> Self {
        let said = deal.props.get(SAID).unwrap_or(&Value::Null);
        let person = set.contacts.get(&deal.person);
        let mut keys = contact::said_keys(said);
        keys.extend(person.map_or_else(Vec::new, |person| {
            contact::keys_of(&person.phone_number, &person.email)
        }));
        let names = [
            said["name"].as_str(),
            person.and_then(|person| person.name.as_deref()),
        ];
        Self {
            set,
            deal,
            names: names.into_iter().flatten().collect(),
            keys,
        }
    }

    fn has(&self, key: &String) -> bool {
        let known = &self.set.contact_keys;
        let owner = || known.get(&(self.deal.workspace, key.clone()));
        self.keys.contains(key) || owner() == Some(&self.deal.person)
    }

    fn shares(&self, lead: &NewLead) -> bool {
        lead.contact_keys.iter().any(|key| self.has(key))
    }

    fn is_named(&self, lead: &NewLead) -> bool {
        let mut names = self.names.iter();
        let name = lead.name.as_ref();
        name.is_some_and(|name| names.any(|other| is_alike(name, other)))
    }

    /// Returns whether a lead with the id of this one's is of another person: they share no phone and no
    /// address, and both give a name and the names differ. If one of them gives none, both must give a phone,
    /// or both an address. A lead that was changed before it was announced is its announcement's. A change
    /// may rename a person or correct the phone: it is another's only if all of this differs.
    fn is_another(&self, lead: &NewLead) -> bool {
        let kinds = |keys: &[String]| -> BTreeSet<u8> {
            keys.iter().map(|key| contact::strength(key)).collect()
        };
        let is_reached_elsewhere =
            !kinds(&self.keys).is_disjoint(&kinds(&lead.contact_keys)) && !self.shares(lead);
        let has_names = lead.name.is_some() && !self.names.is_empty();
        let is_named_otherwise = has_names && !self.is_named(lead);
        match lead.action {
            Action::Create if has_names => is_named_otherwise && !self.shares(lead),
            Action::Create => is_reached_elsewhere && !self.deal.provenance.uncreated,
            Action::Update | Action::Delete => is_named_otherwise && is_reached_elsewhere,
        }
    }
}

/// Returns whether one of two names has all words of the other.
pub(super) fn is_alike(one: &str, two: &str) -> bool {
    let [one, two] = [one, two].map(fold);
    let [one, two] = [&one, &two].map(|name| name.split_whitespace().collect::<BTreeSet<_>>());
    one.is_subset(&two) || two.is_subset(&one)
}

/// Returns the finished item that this lead repeats: the owner of its key, or the one at
/// its place unless their external ids differ.
fn finished(
    set: &WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    lead: &NewLead,
    claim: Option<&Claim>,
) -> Option<(u32, ItemRecord)> {
    let owner = claim
        .filter(|claim| claim.delivery == context.delivery)
        .and_then(|claim| Some((claim.item, stored(set, context.delivery, claim.item)?)));
    let at_place = || {
        let item = stored(set, context.delivery, index)?;
        let same = match (&item.external_id, &lead.external_id) {
            (Some(before), Some(now)) => before == now,
            _ => true,
        };
        same.then_some((index, item))
    };
    owner
        .filter(|(_, item)| item.is_finished())
        .or_else(|| at_place().filter(|(_, item)| item.is_finished()))
}
