//! A lead: a duplicate, a change of a known lead, or a new deal.

use super::claimed::{ClaimedKey, has_news, is_alike, person_keys, shared_key};
use super::diff::{Compared, Comparison};
use super::items::{ItemContext, free_place};
use super::people::{self, PersonDetails};
use super::receipt::KeysSoFar;
use super::working_set::ClaimKey;
use super::{conversation, diff, notify, parting, receipt};
use crate::decide::prelude::*;
use crate::{ChangedBy, FieldDiff, NewLead};
use leadhost_domain::lead::Action;
use leadhost_domain::phone;
use leadhost_domain::provenance::{OCCURRED_AT, Provenance};
use leadhost_domain::repair::{CREATED, PERSON};

/// The message of an item that did not change values which are newer.
const OLDER: &str = "older than what is known";

const UNREACHABLE: &str = "no phone number and no e-mail address of the lead could be read, so nobody can reach the person";

const NEWS_OF_REPEAT: &str = "a repeat changes nothing, so its phones and addresses that its lead does not have are only in this delivery";

const DELETED_UNKNOWN: &str = "the source deleted a lead that is not known here";

/// Returns the item's place and its outcome.
pub(super) fn decide(
    set: &mut WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    lead: &NewLead,
) -> (u32, ItemRecord) {
    if diff::age_of(context, index, lead).is_mistimed() {
        let id = lead.external_id.as_deref().unwrap_or("without an id");
        let at = lead.deal_props.get(OCCURRED_AT).and_then(Value::as_str);
        let note = format!(
            "lead {id}: its time {} is later than its arrival or earlier than 2000, so the arrival counts",
            at.unwrap_or_default()
        );
        set.note(context.delivery, &[note]);
    }
    let known = ClaimedKey::new(set, context, index, lead);
    if let Some((index, item, mode)) = known.finished(set, context, index, lead) {
        return (index, again(set, context, (index, item), lead, mode));
    }
    let claim = known.owner(context, index);
    let unclear = known.unclear(lead);
    let ClaimedKey { key, also, .. } = known;
    let index = free_place(set, context.delivery, index);
    if let Some(item) = unclear {
        return (index, item);
    }
    let deal = claim.as_ref().and_then(|claim| claim.deal);
    let item = match (lead.action, claim) {
        (
            Action::Delete,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) => delete(set, context, index, (deal, contact), (lead, &also)),
        (Action::Delete, _) => ItemRecord::with_message(
            ItemStatus::Ignored,
            lead.external_id.clone(),
            DELETED_UNKNOWN,
        ),
        (
            Action::Update,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) => update(set, context, index, (deal, contact), lead),
        (
            Action::Create,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) if is_uncreated(set, deal) => complete(set, context, index, (deal, contact), lead),
        (
            Action::Create,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) if is_back(set, context, index, (deal, lead)) => {
            update(set, context, index, (deal, contact), lead)
        }
        (_, Some(claim)) => {
            let deal = claim.deal.and_then(|id| set.deals.get(&id));
            if deal.is_some_and(|deal| has_news(set, deal, lead)) {
                let id = lead.external_id.as_deref().unwrap_or("without an id");
                let note = format!("lead {id}: {NEWS_OF_REPEAT}");
                set.note(context.delivery, &[note]);
            }
            duplicate(set, &claim, lead)
        }
        (_, None) => create(set, context, index, lead, key.as_ref()),
    };
    if let Some(deal) = deal.filter(|_| lead.action != Action::Delete) {
        diff::see(set, deal, lead);
    }
    (index, item)
}

fn is_back(
    set: &WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    (deal, lead): (DealId, &NewLead),
) -> bool {
    let age = diff::age_of(context, index, lead);
    diff::is_back(set, deal, (age, lead), context.arrives)
}

fn is_uncreated(set: &WorkingSet, deal: DealId) -> bool {
    let deal = set.deals.get(&deal);
    deal.is_some_and(|deal| deal.provenance.uncreated)
}

/// Decides a lead in a repair that creates nothing. Returns a finished item with its place and its
/// differences. An unfinished one comes without a contact and, if it would be a new deal, without a
/// deal; it is not to be stored.
pub(super) fn look(
    set: &mut WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    lead: &NewLead,
) -> (u32, ItemRecord) {
    let known = ClaimedKey::new(set, context, index, lead);
    if let Some((index, item, mode)) = known.finished(set, context, index, lead) {
        return (index, again(set, context, (index, item), lead, mode));
    }
    let id = || lead.external_id.clone();
    let item = match (lead.action, known.owner(context, index)) {
        _ if let Some(item) = known.unclear(lead) => item,
        (Action::Delete, _) => ItemRecord::new(ItemStatus::Ignored, id()),
        (_, Some(_)) => ItemRecord::new(ItemStatus::Duplicate, id()),
        (_, None) => ItemRecord::new(ItemStatus::Converted, id()),
    };
    (index, item)
}

/// Decides a lead of a replay that is only shown, and changes nothing. Returns the outcome, with the
/// item's place if it is a finished one. A new deal is the difference [`CREATED`].
pub(super) fn preview(
    set: &mut WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    lead: &NewLead,
) -> (Option<u32>, ItemRecord) {
    let known = ClaimedKey::new(set, context, index, lead);
    if let Some((index, item, mode)) = known.finished(set, context, index, lead) {
        let item = again(set, context, (index, item), lead, mode);
        return (Some(index), item);
    }
    let id = || lead.external_id.clone();
    let of_deal = |deal, contact, diff: Vec<FieldDiff>| {
        let status = if diff.iter().any(|field| !field.edited_by_person) {
            ItemStatus::Updated
        } else {
            ItemStatus::Duplicate
        };
        ItemRecord {
            deal: Some(deal),
            contact,
            diff,
            ..ItemRecord::new(status, id())
        }
    };
    let owner = known.owner(context, index);
    let item = match (lead.action, owner) {
        _ if let Some(item) = known.unclear(lead) => item,
        (
            Action::Delete,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) => {
            let all = [deal].into_iter().chain(known.also.iter().copied());
            let diff = all.filter_map(|deal| diff::deleted_mark(set, deal));
            of_deal(deal, contact, diff.collect())
        }
        (Action::Delete, _) => ItemRecord::with_message(ItemStatus::Ignored, id(), DELETED_UNKNOWN),
        (
            action,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) if action == Action::Update || is_back(set, context, index, (deal, lead)) => {
            let comparison = context.mode.and_then(Comparison::in_mode);
            let compared = comparison.map(|comparison| {
                diff::compare(set, context, index, (deal, None), lead, comparison)
            });
            of_deal(deal, contact, compared.unwrap_or_default().diff)
        }
        (_, Some(claim)) => duplicate(set, &claim, lead),
        // An item before it would own the key.
        (_, None) if !known.first_use => ItemRecord::new(ItemStatus::Duplicate, id()),
        (_, None) => ItemRecord {
            diff: vec![diff::created(CREATED)],
            ..ItemRecord::new(ItemStatus::Converted, id())
        },
    };
    (None, item)
}

pub(super) fn claim(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    key: &ClaimKey,
    window: Option<Duration>,
    made: Option<(DealId, ContactId)>,
) {
    let change = match set.claims.get(key) {
        Some(_) => RowChange::Changed,
        None => RowChange::New,
    };
    set.claims.insert(
        key.clone(),
        Claim {
            workspace: context.workspace,
            delivery: context.delivery,
            item: index,
            until: window.map(|window| context.received_at.plus(window)),
            deal: made.map(|(deal, _)| deal),
            contact: made.map(|(_, contact)| contact),
            change,
        },
    );
}

fn again(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    (index, item): (u32, ItemRecord),
    lead: &NewLead,
    mode: Mode,
) -> ItemRecord {
    let Some(comparison) = Comparison::in_mode(mode) else {
        return item;
    };
    let Some(deal) = item.deal else {
        return item;
    };
    // If a version lost a key, it made a new contact for a person who was already known. A repair first
    // corrects what all leads say, and then decides whose they are (`parting`).
    let person = match context.repair() {
        Some(_) => None,
        None => people::find(set, context.workspace, &lead.contact_keys),
    };
    let person = person.filter(|_| comparison.moves());
    let parted = match (mode, set.deals.get(&deal)) {
        (Mode::Repair(repair), Some(own)) if !repair.apply && comparison.moves() => {
            let stays = person.is_none_or(|person| person == own.person);
            let keys = &lead.contact_keys;
            let is_parted = stays && parting::would_part(set, context, repair, (deal, own), keys);
            is_parted.then_some(own.person)
        }
        _ => None,
    };
    let Compared { mut diff, is_older } =
        compare(set, context, index, (deal, person), lead, comparison);
    // It would get a contact.
    diff.extend(parted.map(|former| FieldDiff::unwritten(PERSON, json!(former), Value::Null)));
    let contact = set.deals.get(&deal).map(|deal| deal.person);
    ItemRecord {
        diff,
        contact: contact.or(item.contact),
        message: is_older.then(|| OLDER.to_owned()).or(item.message),
        ..item
    }
}

fn compare(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    (deal, person): (DealId, Option<ContactId>),
    lead: &NewLead,
    comparison: Comparison,
) -> Compared {
    let of_deal = set.deals.get(&deal).map(|deal| deal.person);
    let keys = KeysSoFar::in_set(set);
    let compared = diff::compare(set, context, index, (deal, person), lead, comparison);
    let diff = &compared.diff;
    remember(set, context, deal, diff);
    if let Some(contact) = person.or(of_deal) {
        receipt::note_keys(set, context, index, contact, keys);
        receipt::note(set, context, index, (deal, contact), diff);
    }
    compared
}

fn duplicate(set: &WorkingSet, claim: &Claim, lead: &NewLead) -> ItemRecord {
    let deal = claim.deal.and_then(|deal| set.deals.get(&deal));
    ItemRecord {
        deal: claim.deal,
        contact: deal.map(|deal| deal.person).or(claim.contact),
        ..ItemRecord::new(ItemStatus::Duplicate, lead.external_id.clone())
    }
}

/// The outcome has the original contact, even if the deal or the contact has been removed since.
fn update(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    (deal, contact): (DealId, Option<ContactId>),
    lead: &NewLead,
) -> ItemRecord {
    let person = better_person(set, context, deal, lead);
    let Compared { diff, is_older } =
        compare(set, context, index, (deal, person), lead, Comparison::WHOLE);
    changed(set, (deal, contact), lead, (diff, is_older))
}

/// Returns the contact that the lead finds, if the deal's contact has neither a phone nor an address: a
/// change of the lead that named nobody created it.
fn better_person(
    set: &WorkingSet,
    context: &ItemContext<'_>,
    deal: DealId,
    lead: &NewLead,
) -> Option<ContactId> {
    let person = set.contacts.get(&set.deals.get(&deal)?.person)?;
    let is_nobody = person.phone_number.is_none() && person.email.is_none();
    people::find(set, context.workspace, &lead.contact_keys).filter(|_| is_nobody)
}

/// Completes a deal that a change of its lead made, now that the source announces the lead: fills what
/// is empty, and greets the person.
fn complete(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    (deal, contact): (DealId, Option<ContactId>),
    lead: &NewLead,
) -> ItemRecord {
    let item = update(set, context, index, (deal, contact), lead);
    if let Some(deal) = set.deals.get_mut(&deal) {
        deal.provenance.uncreated = false;
    }
    set.touch_deal(deal);
    if let Some(person) = item.contact {
        greet(set, context, (deal, person), (lead, true));
    }
    item
}

/// Stores the greeting of a new lead, if there is one. Returns whether there was. It goes to a phone that
/// the source gave: in this lead, or before if the lead completes its deal.
fn greet(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    (deal, contact): (DealId, ContactId),
    (lead, completes): (&NewLead, bool),
) -> bool {
    let Some(greeting) = lead.greeting.as_ref() else {
        return false;
    };
    let has_phone = if completes {
        set.contacts
            .get(&contact)
            .is_some_and(|one| one.phone_number.is_some())
    } else {
        lead.phone_number().is_some()
    };
    let why = if !has_phone {
        Some("the lead has no phone to send it to")
    } else if is_anothers_phone(set, contact, lead) {
        Some("its person was found by a phone that a person with another name and phone has too")
    } else {
        None
    };
    if let Some(why) = why {
        let note = format!("no greeting `{}`: {why}", greeting.template);
        set.note(context.delivery, &[note]);
        return false;
    }
    let greeted = notify::greet(set, contact, deal, greeting);
    let is_greeted = greeted.is_some();
    if let Some(delivery) = set.deliveries.get_mut(&context.delivery) {
        delivery.greeted.extend(greeted);
    }
    is_greeted
}

/// Returns whether the phone of the contact that a lead found is not the lead's, and its name another: they
/// share a further phone, such as an office's.
fn is_anothers_phone(set: &WorkingSet, contact: ContactId, lead: &NewLead) -> bool {
    let Some(contact) = set.contacts.get(&contact) else {
        return false;
    };
    let names = contact.name.as_deref().zip(lead.name.as_deref());
    let phone = contact.phone_number.as_deref().map(phone::match_key);
    let mut given = lead.phones.iter().map(|phone| &phone.match_key);
    names.is_some_and(|(one, two)| !is_alike(one, two)) && !given.any(|key| *key == phone)
}

fn delete(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    (first, contact): (DealId, Option<ContactId>),
    (lead, also): (&NewLead, &[DealId]),
) -> ItemRecord {
    let age = diff::age_of(context, index, lead);
    let (mut all, mut is_any_older) = (Vec::new(), false);
    for deal in [first].iter().chain(also).copied() {
        let is_older = set
            .deals
            .get(&deal)
            .is_some_and(|deal| deal.provenance.has_newer(age, context.arrives));
        is_any_older |= is_older;
        let diff = if is_older {
            Vec::new()
        } else {
            diff::mark_deleted(set, deal, age)
        };
        remember(set, context, deal, &diff);
        if let Some(contact) = set.deals.get(&deal).map(|deal| deal.person) {
            receipt::note(set, context, index, (deal, contact), &diff);
        }
        all.extend(diff);
    }
    changed(set, (first, contact), lead, (all, is_any_older))
}

/// The outcome of a lead that changed its deal, or would have if it were not older.
fn changed(
    set: &WorkingSet,
    (deal, contact): (DealId, Option<ContactId>),
    lead: &NewLead,
    (diff, is_older): (Vec<FieldDiff>, bool),
) -> ItemRecord {
    let status = if diff.iter().any(|field| field.applied) {
        ItemStatus::Updated
    } else {
        ItemStatus::Duplicate
    };
    ItemRecord {
        deal: Some(deal),
        contact: set.deals.get(&deal).map(|deal| deal.person).or(contact),
        diff,
        message: is_older.then(|| OLDER.to_owned()),
        ..ItemRecord::new(status, lead.external_id.clone())
    }
}

pub(super) fn remember(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    deal: DealId,
    diff: &[FieldDiff],
) {
    let changes = diff::deal_changes(diff);
    if !changes.is_empty() {
        let by = ChangedBy::Source {
            delivery_id: context.delivery,
            replayed: context.mode == Some(Mode::Replay { apply: true }),
            repair_id: context.repair(),
        };
        super::deal::edit::history(set, context.workspace, deal, by, changes);
    }
}

fn create(
    set: &mut WorkingSet,
    context: &ItemContext<'_>,
    index: u32,
    lead: &NewLead,
    key: Option<&ClaimKey>,
) -> ItemRecord {
    let before = receipt::person_before(set, context, lead);
    let keys = KeysSoFar::in_set(set);
    let contact = contact_of(set, context.workspace, lead);
    let deal = DealId::new(set.now);
    let product = set.product(context.workspace, &lead.products);
    let agent = lead
        .agent
        .or_else(|| set.first_agents.get(&context.workspace).copied());
    set.add_deal(
        deal,
        DealRecord {
            agent,
            title: lead.title.clone(),
            props: lead.deal_props.clone(),
            product,
            external_id: lead.external_id.clone(),
            connection: Some(lead.connection.clone()),
            delivery: Some(context.delivery),
            provenance: Provenance::new(
                diff::age_of(context, index, lead),
                lead.action == Action::Update,
            ),
            ..DealRecord::new(context.workspace, contact)
        },
    );
    diff::see(set, deal, lead);
    if let (Some(key), Some(dedupe)) = (key, &lead.dedupe) {
        let made = Some((deal, contact));
        claim(set, context, index, key, dedupe.window, made);
        if key.1 != dedupe.key {
            let shared = shared_key(lead).filter(|key| !set.claims.contains_key(key));
            for key in person_keys(lead).skip(1).chain(shared) {
                claim(set, context, index, &key, dedupe.window, made);
            }
            let id = (lead.connection.clone(), dedupe.key.clone());
            set.leads_of_id.entry(id).or_default().push(deal);
            let id = lead.external_id.as_deref().unwrap_or_default();
            let note = format!(
                "lead {id}: another person's lead has this id, so this is a lead of its own and no repeat"
            );
            set.note(context.delivery, &[note]);
        }
    }
    if !greet(set, context, (deal, contact), (lead, false)) {
        conversation::adopt(set, deal, lead.agent);
    }
    if let Some(before) = before {
        receipt::note_filled(set, context, index, contact, (before, keys));
    }
    receipt::note_created(set, context, index, (deal, contact));
    ItemRecord {
        deal: Some(deal),
        contact: Some(contact),
        message: lead.contact_keys.is_empty().then(|| UNREACHABLE.to_owned()),
        ..ItemRecord::new(ItemStatus::Converted, lead.external_id.clone())
    }
}

/// Returns the contact of the lead: found by its strongest key, or new.
fn contact_of(set: &mut WorkingSet, workspace: WorkspaceId, lead: &NewLead) -> ContactId {
    let details = PersonDetails {
        keys: &lead.contact_keys,
        name: lead.name.as_deref(),
        email: lead.emails.first().map(String::as_str),
        phone_number: lead.phone_number(),
        props: Some(&lead.contact_props),
    };
    people::find_or_create(set, workspace, &details)
}
