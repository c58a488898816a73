//! A lead: a duplicate, a change of a known lead, or a new deal.

use std::time::Duration;

use super::Deal;
use super::accept::{Context, free_place, stored};
use super::people::{self, Said};
use super::working_set::{Change, Claim, ClaimKey, Item, WorkingSet};
use super::{diff, notify};
use crate::domain::delivery::ItemStatus;
use crate::domain::id::{ContactId, DealId, WorkspaceId};
use crate::domain::lead::Action;
use crate::store::{ChangedBy, FieldChange, FieldDiff, Mode, NewLead};

/// Returns the item's place and its outcome.
pub(super) fn decide(
    set: &mut WorkingSet,
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
        .and_then(|key| set.live_claim(key, context.received_at))
        .cloned();
    if let Some(mode) = context.mode
        && first_use
        && let Some((index, item)) = finished(set, context, index, lead, claim.as_ref())
    {
        return (index, again(set, context, item, lead, mode));
    }
    // It owns the key but has no deal: its fetch was answered, or it is retried, possibly
    // at another place because another version converted it.
    let again = context.mode.is_some() && first_use;
    let claim = claim.filter(|claim| {
        !(claim.delivery == context.delivery
            && (claim.item == index || again)
            && claim.deal.is_none())
    });
    let index = free_place(set, context.delivery, index);
    let item = match (lead.action, claim) {
        (
            Action::Delete,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) => delete(set, context, (deal, contact), lead),
        (Action::Delete, _) => Item::with_message(
            ItemStatus::Ignored,
            lead.external_id.clone(),
            "the source deleted a lead that is not known here",
        ),
        (
            Action::Update,
            Some(Claim {
                deal: Some(deal),
                contact,
                ..
            }),
        ) => update(set, context, (deal, contact), lead),
        (_, Some(claim)) => duplicate(&claim, lead),
        (_, None) => create(set, context, index, lead, key.as_ref()),
    };
    (index, item)
}

/// Makes this item the owner of a key.
pub(super) fn claim(
    set: &mut WorkingSet,
    context: &Context<'_>,
    index: u32,
    key: &ClaimKey,
    window: Option<Duration>,
    made: Option<(DealId, ContactId)>,
) {
    let change = match set.claims.get(key) {
        Some(_) => Change::Changed,
        None => Change::New,
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

/// Returns the finished item that this lead repeats: the owner of its key, or the one at
/// its place unless their external ids differ.
fn finished(
    set: &WorkingSet,
    context: &Context<'_>,
    index: u32,
    lead: &NewLead,
    claim: Option<&Claim>,
) -> Option<(u32, Item)> {
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

fn again(
    set: &mut WorkingSet,
    context: &Context<'_>,
    item: Item,
    lead: &NewLead,
    mode: Mode,
) -> Item {
    let Mode::Replay { apply } = mode else {
        return item;
    };
    let Some(deal) = item.deal else {
        return item;
    };
    // If a version lost a key, it made a new contact for a person who was already known.
    let person = people::find(set, context.workspace, &lead.contact_keys);
    let diff = diff::compare(set, context.delivery, (deal, person), lead, apply);
    remember(set, context, deal, &diff);
    let contact = set.deals.get(&deal).map(|deal| deal.person);
    Item {
        diff,
        contact: contact.or(item.contact),
        ..item
    }
}

fn duplicate(claim: &Claim, lead: &NewLead) -> Item {
    Item {
        deal: claim.deal,
        contact: claim.contact,
        ..Item::new(ItemStatus::Duplicate, lead.external_id.clone())
    }
}

/// The outcome has the original contact: the deal may be gone by now, and the contact
/// too.
fn update(
    set: &mut WorkingSet,
    context: &Context<'_>,
    (deal, contact): (DealId, Option<ContactId>),
    lead: &NewLead,
) -> Item {
    let diff = diff::compare(set, context.delivery, (deal, None), lead, true);
    remember(set, context, deal, &diff);
    let status = if diff.iter().any(|field| field.applied) {
        ItemStatus::Updated
    } else {
        ItemStatus::Duplicate
    };
    Item {
        deal: Some(deal),
        contact: set.deals.get(&deal).map(|deal| deal.person).or(contact),
        diff,
        ..Item::new(status, lead.external_id.clone())
    }
}

fn delete(
    set: &mut WorkingSet,
    context: &Context<'_>,
    (deal, contact): (DealId, Option<ContactId>),
    lead: &NewLead,
) -> Item {
    let diff = diff::mark_deleted(set, deal);
    remember(set, context, deal, &diff);
    let status = if diff.is_empty() {
        ItemStatus::Duplicate
    } else {
        ItemStatus::Updated
    };
    Item {
        deal: Some(deal),
        contact: set.deals.get(&deal).map(|deal| deal.person).or(contact),
        diff,
        ..Item::new(status, lead.external_id.clone())
    }
}

/// Adds the source's changes of a deal to the deal's history.
fn remember(set: &mut WorkingSet, context: &Context<'_>, deal: DealId, diff: &[FieldDiff]) {
    let changes: Vec<_> = diff
        .iter()
        .filter(|field| field.applied)
        .filter_map(|field| {
            let name = match field.field.strip_prefix("deal.")? {
                "product" => "product_id",
                "person" => "person_id",
                name => name,
            };
            Some(FieldChange {
                field: name.to_owned(),
                before: field.before.clone(),
                after: field.after.clone(),
            })
        })
        .collect();
    if !changes.is_empty() {
        let by = ChangedBy::Source {
            delivery_id: context.delivery,
        };
        super::deal::history(set, context.workspace, deal, by, changes);
    }
}

fn create(
    set: &mut WorkingSet,
    context: &Context<'_>,
    index: u32,
    lead: &NewLead,
    key: Option<&ClaimKey>,
) -> Item {
    let contact = contact_of(set, context.workspace, lead);
    let deal = DealId::new(set.now);
    let product = set.product(context.workspace, &lead.products);
    let agent = lead
        .agent
        .or_else(|| set.first_agents.get(&context.workspace).copied());
    set.add_deal(
        deal,
        Deal {
            agent,
            title: lead.title.clone(),
            props: lead.deal_props.clone(),
            product,
            external_id: lead.external_id.clone(),
            connection: Some(lead.connection.clone()),
            delivery: Some(context.delivery),
            ..Deal::new(context.workspace, contact)
        },
    );
    if let (Some(key), Some(dedupe)) = (key, &lead.dedupe) {
        let made = Some((deal, contact));
        claim(set, context, index, key, dedupe.window, made);
    }
    if let Some(greeting) = &lead.greeting {
        notify::greet(set, contact, deal, greeting);
    }
    Item {
        deal: Some(deal),
        contact: Some(contact),
        ..Item::new(ItemStatus::Converted, lead.external_id.clone())
    }
}

/// Returns the contact of the lead: found by its strongest key, or new.
fn contact_of(set: &mut WorkingSet, workspace: WorkspaceId, lead: &NewLead) -> ContactId {
    let said = Said {
        keys: &lead.contact_keys,
        name: lead.name.as_deref(),
        email: lead.emails.first().map(String::as_str),
        phone_number: phone_of(lead),
        props: Some(&lead.contact_props),
    };
    people::find_or_create(set, workspace, &said)
}

/// Returns the best valid phone number.
pub(super) fn phone_of(lead: &NewLead) -> Option<&str> {
    lead.phones.iter().find_map(|phone| phone.e164.as_deref())
}
