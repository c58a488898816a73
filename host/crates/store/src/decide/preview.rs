//! Replays that are only shown: what an operator would get by applying them. The delivery and all rows
//! stay as they are.

use super::items::{ITEMS_LAST_PLACE, ItemContext, stored};
use super::{diff, inbound, lead};
use crate::decide::prelude::*;
use crate::{DeliveryOutcome, Event, ItemResult, NewEvent, NewFetch, Reconversion};
use leadhost_domain::delivery::status_of;
use leadhost_domain::repair::CREATED_MESSAGE;

/// Returns the status and the items that the delivery would have. It is held under this lease, and is
/// released with the last part.
pub(super) fn decide(set: &mut WorkingSet, new: &Reconversion) -> WriteOutcome {
    let Some(delivery) = set.deliveries.get_mut(&new.delivery) else {
        return WriteOutcome::Stale;
    };
    delivery.hold_until_last(new.part.as_ref());
    let stays = |item: &ItemRecord| item.is_finished() && item.change != RowChange::Removed;
    let finished = delivery.items.iter().filter(|(_, item)| stays(item));
    let mut items: BTreeMap<u32, ItemRecord> = finished
        .map(|(index, item)| (*index, item.clone()))
        .collect();
    let others = delivery.others.statuses.keys().copied();
    let others: Vec<ItemStatus> = others.filter(|status| status.is_finished()).collect();
    // These places are reserved for the items of later parts.
    let reserved = new.part.as_ref().map(|_| ITEMS_LAST_PLACE);
    let last = delivery.others.last.max(reserved);
    let mut context = ItemContext::from_replay(new, delivery);
    for new_item in &new.result.items {
        let index = new_item.index;
        let (known, item) = item_of(set, &mut context, index, &new_item.result);
        let is_taken = items.get(&index).is_some_and(ItemRecord::is_finished);
        match known {
            Some(index) => {
                items.insert(index, item);
            }
            None if !is_taken => {
                items.insert(index, item);
            }
            // A finished item is not replaced.
            None if !item.is_finished() => {}
            None => {
                let end = items.keys().next_back().copied().max(last);
                items.insert(end.map_or(0, |end| end + 1), item);
            }
        }
    }
    let statuses: Vec<ItemStatus> = items.values().map(|item| item.status).collect();
    WriteOutcome::Done(DeliveryOutcome {
        delivery: new.delivery,
        status: match new.result.status {
            Some(status) => status,
            None => status_of(&[statuses, others].concat()),
        },
        error: new.result.error.clone(),
        items: items
            .iter()
            .map(|(index, item)| item.outcome(*index))
            .collect(),
        evicted: 0,
        greeted: Vec::new(),
    })
}

fn item_of(
    set: &mut WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    result: &ItemResult,
) -> (Option<u32>, ItemRecord) {
    let item = match result {
        ItemResult::Lead(lead) => return lead::preview(set, context, index, lead),
        ItemResult::Fetch(fetch) => return fetch_of(set, context, index, fetch),
        ItemResult::Ignored(message) => {
            ItemRecord::with_message(ItemStatus::Ignored, None, message)
        }
        ItemResult::Invalid(problem) => {
            ItemRecord::with_message(ItemStatus::Invalid, None, &problem.to_string())
        }
        ItemResult::Event(new) => event_of(set, context, index, new),
        ItemResult::Unrouted(message) => {
            ItemRecord::with_message(ItemStatus::Unrouted, None, message)
        }
    };
    (None, item)
}

/// Returns what an event would be. One that was taken has no effect a second time; a message that is not
/// stored yet is the difference [`CREATED_MESSAGE`].
fn event_of(
    set: &WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    new: &NewEvent,
) -> ItemRecord {
    let (channel, before) = (&new.channel, stored(set, context.delivery, index));
    let Event::Inbound(message) = &new.event else {
        return before
            .filter(|item| item.status != ItemStatus::Unrouted)
            .unwrap_or_else(|| ItemRecord::new(ItemStatus::Updated, None));
    };
    let external_id = Some(message.external_id.clone());
    if inbound::message_of(set, channel, &message.external_id).is_some() {
        return before
            .filter(ItemRecord::is_finished)
            .unwrap_or_else(|| ItemRecord::new(ItemStatus::Duplicate, external_id));
    }
    let key = (channel.connection.clone(), message.external_id.clone());
    if !context.used.insert(key) {
        return ItemRecord::new(ItemStatus::Duplicate, external_id);
    }
    ItemRecord {
        diff: vec![diff::created(CREATED_MESSAGE)],
        ..ItemRecord::new(ItemStatus::Converted, external_id)
    }
}

fn fetch_of(
    set: &WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    fetch: &NewFetch,
) -> (Option<u32>, ItemRecord) {
    let waits = || ItemRecord::new(ItemStatus::Waiting, fetch.external_id.clone());
    let finished = |index| {
        let item = stored(set, context.delivery, index).filter(ItemRecord::is_finished)?;
        Some((Some(index), item))
    };
    let Some(dedupe) = &fetch.dedupe else {
        return finished(index).unwrap_or_else(|| (None, waits()));
    };
    let key = (fetch.connection.clone(), dedupe.key.clone());
    let first_use = context.used.insert(key.clone());
    let Some(claim) = set.live_claim(&key, context.received_at) else {
        return (None, waits());
    };
    if claim.delivery == context.delivery && (claim.item == index || first_use) {
        let made = claim.deal.and_then(|_| finished(claim.item));
        return made.unwrap_or_else(|| (None, waits()));
    }
    let item = ItemRecord {
        deal: claim.deal,
        contact: claim.contact,
        ..ItemRecord::new(ItemStatus::Duplicate, fetch.external_id.clone())
    };
    (None, item)
}
