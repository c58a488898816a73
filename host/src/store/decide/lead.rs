//! A lead: a repeat, a change of a known one, or a new deal.

use super::accept::{Context, free_place, stored};
use super::diff;
use super::known::{Change, Claim, ClaimKey, Contact, Deal, Item, Known};
use crate::domain::delivery::ItemStatus;
use crate::domain::id::{ContactId, DealId, WorkspaceId};
use crate::domain::lead::Action;
use crate::store::{Mode, NewLead};

/// The item's place and what became of it.
pub(super) fn decide(
    known: &mut Known,
    context: &mut Context<'_>,
    index: u32,
    lead: &NewLead,
) -> (u32, Item) {
    let key = lead
        .dedupe
        .as_ref()
        .map(|dedupe| (lead.connection.clone(), dedupe.key.clone()));
    let first_use = key
        .as_ref()
        .is_none_or(|key| context.used.insert(key.clone()));
    let claim = key
        .as_ref()
        .and_then(|key| known.live_claim(key, context.received_at))
        .cloned();
    if let Some(mode) = context.mode
        && first_use
        && let Some((index, item)) = finished(known, context, index, lead, claim.as_ref())
    {
        return (index, again(known, item, lead, mode));
    }
    // Its own key without a deal: its fetch was answered, or it is tried again.
    let claim = claim.filter(|claim| {
        !(claim.delivery == context.delivery && claim.item == index && claim.deal.is_none())
    });
    let index = free_place(known, context.delivery, index);
    let item = match (lead.action, claim) {
        (
            Action::Delete,
            Some(Claim {
                deal: Some(deal), ..
            }),
        ) => delete(known, deal, lead),
        (Action::Delete, _) => Item::with_message(
            ItemStatus::Ignored,
            lead.external_id.clone(),
            "the source deleted a lead that is not known here",
        ),
        (
            Action::Update,
            Some(Claim {
                deal: Some(deal), ..
            }),
        ) => update(known, deal, lead),
        (_, Some(claim)) => duplicate(&claim, lead),
        (_, None) => create(known, context, index, lead, key.as_ref()),
    };
    (index, item)
}

/// Makes a key this item's.
pub(super) fn claim(
    known: &mut Known,
    context: &Context<'_>,
    index: u32,
    key: &ClaimKey,
    window: Option<i64>,
    made: Option<(DealId, ContactId)>,
) {
    let change = match known.claims.get(key) {
        Some(_) => Change::Changed,
        None => Change::New,
    };
    known.claims.insert(
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

/// The finished item that this lead is again: the owner of its key, or the one
/// at its place unless their external ids differ.
fn finished(
    known: &Known,
    context: &Context<'_>,
    index: u32,
    lead: &NewLead,
    claim: Option<&Claim>,
) -> Option<(u32, Item)> {
    let owner = claim
        .filter(|claim| claim.delivery == context.delivery)
        .and_then(|claim| Some((claim.item, stored(known, context.delivery, claim.item)?)));
    let at_place = || {
        let item = stored(known, context.delivery, index)?;
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

fn again(known: &mut Known, item: Item, lead: &NewLead, mode: Mode) -> Item {
    let Mode::Replay { apply } = mode else {
        return item;
    };
    let diff = item
        .deal
        .map(|deal| diff::compare(known, deal, lead, apply))
        .unwrap_or_default();
    Item { diff, ..item }
}

fn duplicate(claim: &Claim, lead: &NewLead) -> Item {
    Item {
        deal: claim.deal,
        contact: claim.contact,
        ..Item::new(ItemStatus::Duplicate, lead.external_id.clone())
    }
}

fn update(known: &mut Known, deal: DealId, lead: &NewLead) -> Item {
    let diff = diff::compare(known, deal, lead, true);
    let status = if diff.iter().any(|field| field.applied) {
        ItemStatus::Updated
    } else {
        ItemStatus::Duplicate
    };
    Item {
        deal: Some(deal),
        contact: known.deals.get(&deal).map(|deal| deal.person),
        diff,
        ..Item::new(status, lead.external_id.clone())
    }
}

fn delete(known: &mut Known, deal: DealId, lead: &NewLead) -> Item {
    let diff = diff::mark_deleted(known, deal);
    let status = if diff.is_empty() {
        ItemStatus::Duplicate
    } else {
        ItemStatus::Updated
    };
    Item {
        deal: Some(deal),
        contact: known.deals.get(&deal).map(|deal| deal.person),
        diff,
        ..Item::new(status, lead.external_id.clone())
    }
}

fn create(
    known: &mut Known,
    context: &Context<'_>,
    index: u32,
    lead: &NewLead,
    key: Option<&ClaimKey>,
) -> Item {
    let contact = contact_of(known, context.workspace, lead);
    let deal = DealId::new(known.now);
    let product = known.product(context.workspace, &lead.products);
    let agent = lead
        .agent
        .or_else(|| known.first_agents.get(&context.workspace).copied());
    known.add_deal(
        deal,
        Deal {
            workspace: context.workspace,
            person: contact,
            agent,
            title: lead.title.clone(),
            props: lead.deal_props.clone(),
            edited: Vec::new(),
            product,
            external_id: lead.external_id.clone(),
            connection: Some(lead.connection.clone()),
            delivery: Some(context.delivery),
            change: Change::New,
        },
    );
    if let (Some(key), Some(dedupe)) = (key, &lead.dedupe) {
        let made = Some((deal, contact));
        claim(known, context, index, key, dedupe.window, made);
    }
    Item {
        deal: Some(deal),
        contact: Some(contact),
        ..Item::new(ItemStatus::Converted, lead.external_id.clone())
    }
}

/// The person that the lead is about: found by its strongest key, or new.
fn contact_of(known: &mut Known, workspace: WorkspaceId, lead: &NewLead) -> ContactId {
    let found = find_contact(known, workspace, lead);
    let id = found.unwrap_or_else(|| ContactId::new(known.now));
    if found.is_some() {
        fill_contact(known, id, lead);
    } else {
        known.add_contact(
            id,
            Contact {
                workspace,
                name: lead.name.clone(),
                email: lead.emails.first().cloned(),
                phone_number: phone_of(lead),
                props: lead.contact_props.clone(),
                edited: Vec::new(),
                change: Change::New,
            },
        );
    }
    known.add_contact_keys(workspace, id, &lead.contact_keys);
    id
}

/// A phone decides. An address finds a contact only when one of the two has no
/// phone: two people share an address more often than a phone.
fn find_contact(known: &Known, workspace: WorkspaceId, lead: &NewLead) -> Option<ContactId> {
    let is_phone = |key: &String| key.starts_with("phone:");
    let has_phone = lead.contact_keys.iter().any(is_phone);
    lead.contact_keys.iter().find_map(|key| {
        let id = *known.contact_keys.get(&(workspace, key.clone()))?;
        let other_has_phone = known
            .contacts
            .get(&id)
            .is_some_and(|contact| contact.phone_number.is_some());
        (is_phone(key) || !has_phone || !other_has_phone).then_some(id)
    })
}

/// Only what nobody knew is filled.
fn fill_contact(known: &mut Known, id: ContactId, lead: &NewLead) {
    let Some(contact) = known.contacts.get_mut(&id) else {
        return;
    };
    let mut changed = false;
    let mut fill = |field: &mut Option<String>, value: Option<String>| {
        if field.is_none() && value.is_some() {
            *field = value;
            changed = true;
        }
    };
    fill(&mut contact.name, lead.name.clone());
    fill(&mut contact.email, lead.emails.first().cloned());
    fill(&mut contact.phone_number, phone_of(lead));
    for (key, value) in &lead.contact_props {
        let unknown = contact.props.get(key).is_none_or(|before| before.is_null());
        if unknown && !value.is_null() {
            contact.props.insert(key.clone(), value.clone());
            changed = true;
        }
    }
    if changed {
        known.touch_contact(id);
    }
}

/// The best phone that is one.
pub(super) fn phone_of(lead: &NewLead) -> Option<String> {
    lead.phones.iter().find_map(|phone| phone.e164.clone())
}
