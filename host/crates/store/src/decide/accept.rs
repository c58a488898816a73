//! A delivery and its items: converted for the first time or again.

use super::items::{ITEMS_LAST_PLACE, ItemContext, drop_unfinished, free_place, put, stored};
use super::quarantine::Quarantined;
use super::{FetchRecord, admission, earlier, event, lead, preview, references, repair};
use crate::decide::prelude::*;
use crate::sql::json;
use crate::{Acceptance, DeliveryOutcome, ItemResult, Lease, NewFetch, Reconversion};
use leadhost_domain::delivery::status_of;

pub fn first(
    set: &mut WorkingSet,
    at: usize,
    new: &Acceptance,
) -> Result<WriteOutcome, StoreError> {
    let delivery = &new.delivery;
    let result = &new.result;
    if set.deliveries.contains_key(&delivery.id) {
        return Err(StoreError::Inconsistent {
            what: format!("delivery {} occurs twice in one batch", delivery.id),
        });
    }
    let bytes = u64::try_from(delivery.body.len()).unwrap_or(u64::MAX);
    let mut evicted = 0;
    if result.status == Some(DeliveryStatus::Quarantined) {
        let quarantined = Quarantined {
            id: delivery.id,
            bytes,
            peer: new.peer,
            leased: false,
        };
        let (workspace, connection) = (delivery.workspace, &delivery.connection);
        match admission::admit(set, workspace, connection, quarantined) {
            Some(count) => evicted = count,
            None => return Ok(WriteOutcome::NotKept),
        }
    }
    set.deliveries.insert(
        delivery.id,
        DeliveryRecord {
            workspace: delivery.workspace,
            connection: delivery.connection.clone(),
            received_at: delivery.received_at,
            bytes,
            peer: new.peer,
            status: result.status.unwrap_or(DeliveryStatus::Ignored),
            error: result.error.clone(),
            notes: result.notes.clone(),
            ran: result.ran.clone(),
            attempts: result.attempts,
            next_attempt_at: result.next_attempt_at,
            presented: result.presented.clone(),
            lease: 0,
            held: false,
            held_until: None,
            items: Default::default(),
            others: Default::default(),
            greeted: Vec::new(),
            brought_by: Some(at),
            change: RowChange::New,
        },
    );
    let mut context = ItemContext {
        delivery: delivery.id,
        workspace: delivery.workspace,
        received_at: delivery.received_at,
        arrives: true,
        ran: result.ran.as_ref(),
        mode: None,
        used: HashSet::new(),
    };
    for item in &result.items {
        item_of(set, &mut context, item.index, &item.result)?;
    }
    Ok(evicting(finish(set, delivery.id, result.status), evicted))
}

/// Decides a stored delivery that was converted again. Finished items stay; the others
/// are replaced by the items of this conversion.
pub fn again(set: &mut WorkingSet, new: &Reconversion) -> Result<WriteOutcome, StoreError> {
    let Some(delivery) = set.deliveries.get(&new.delivery) else {
        return Ok(WriteOutcome::Stale);
    };
    if !delivery.held || delivery.lease != new.lease.0 {
        return Ok(WriteOutcome::Stale);
    }
    if let Mode::Repair(write) = &new.mode {
        if !repair::runs(set, write) {
            return Ok(WriteOutcome::Stale);
        }
        if write.is_narrow() {
            return Ok(repair::narrow(set, new, write));
        }
    }
    let Some(delivery) = set.deliveries.get_mut(&new.delivery) else {
        return Ok(WriteOutcome::Stale);
    };
    let result = &new.result;
    let was_done = !delivery.is_to_be_converted();
    let ran = result.ran.clone().map(|ran| RanWith {
        replayed: was_done && matches!(new.mode, Mode::Replay { apply: true } | Mode::Repair(_)),
        ..ran
    });
    let keeps_failure = result.status.is_some() && was_done && delivery.has_finished_items();
    if new.mode == Mode::Preview && !keeps_failure {
        return Ok(preview::decide(set, new));
    }
    if result.is_skipped() && earlier::skip(delivery, result) {
        return Ok(finish(set, new.delivery, result.status));
    }
    earlier::keep(delivery, set.now, result);
    let goes_on = new.part.as_ref().is_some_and(|part| !part.is_last());
    if goes_on {
        wait_for_the_rest(delivery, set.now);
    } else {
        delivery.held = false;
        delivery.change.touch();
        delivery.error.clone_from(&result.error);
        delivery.attempts = result.attempts;
        delivery.next_attempt_at = result.next_attempt_at;
    }
    if let Some(status) = result.status {
        if was_done && delivery.has_finished_items() {
            // The leads exist: a failure now does not undo them.
            delivery.next_attempt_at = None;
            set.note(new.delivery, &result.notes);
            return Ok(finish(set, new.delivery, None));
        }
        delivery.presented.clone_from(&result.presented);
        let is_news = result.ran.is_some() && result.ran != delivery.ran;
        // Without a call, what the version wrote when it failed is still the cause.
        if is_news || !result.notes.is_empty() {
            earlier::replace_notes(delivery, &result.notes);
        }
        if ran.is_some() {
            earlier::not_skipped(delivery);
            delivery.ran = ran;
        }
        let enters = enters_quarantine(delivery, status);
        let quarantined = Quarantined {
            id: new.delivery,
            bytes: delivery.bytes,
            peer: delivery.peer,
            // The row changes in this batch.
            leased: true,
        };
        let (workspace, connection) = (delivery.workspace, delivery.connection.clone());
        let written = finish(set, new.delivery, Some(status));
        if !enters {
            return Ok(written);
        }
        let evicted = admission::admit_stored(set, workspace, &connection, quarantined);
        return Ok(evicting(written, evicted));
    }
    if !goes_on {
        delivery.presented = None;
        delivery.next_attempt_at = None;
        let only_looks = matches!(new.mode, Mode::Replay { apply: false });
        // The stored items were made by the previous version.
        if !(only_looks && was_done && delivery.has_finished_items()) {
            delivery.ran = ran;
            earlier::replace_notes(delivery, &result.notes);
        }
    }
    let mut context = ItemContext {
        delivery: new.delivery,
        workspace: delivery.workspace,
        received_at: delivery.received_at,
        arrives: false,
        ran: result.ran.as_ref(),
        mode: Some(new.mode),
        used: HashSet::new(),
    };
    match &new.part {
        None => drop_unfinished(set, new.delivery, |_| true),
        Some(part) => {
            if goes_on && part.until.is_some() {
                delivery.held_until = part.until;
                delivery.change.touch();
            }
            // The places of later parts are reserved.
            delivery.reserve(ITEMS_LAST_PLACE);
            context.used.clone_from(&part.used);
            let (first, last) = part.places;
            drop_unfinished(set, new.delivery, |place| {
                (first..=last).contains(&place) || (part.is_first() && place >= part.of)
            });
        }
    }
    for item in &result.items {
        item_of(set, &mut context, item.index, &item.result)?;
    }
    if goes_on {
        return Ok(match set.deliveries.get_mut(&new.delivery) {
            Some(delivery) => WriteOutcome::Done(delivery.outcome(new.delivery)),
            None => WriteOutcome::Stale,
        });
    }
    Ok(finish(set, new.delivery, None))
}

/// Keeps the delivery waiting for the other parts, which follow under the same claim. If
/// they do not follow, the next host to claim the delivery converts it again. A finished
/// delivery that is replayed keeps its status. The row holds the delivery's bytes, so it is
/// written only if it changes.
fn wait_for_the_rest(delivery: &mut DeliveryRecord, now: Micros) {
    let done = matches!(
        delivery.status,
        DeliveryStatus::Converted | DeliveryStatus::Duplicate | DeliveryStatus::Ignored
    );
    let waits = delivery.status == DeliveryStatus::Queued && delivery.next_attempt_at.is_some();
    if !done && !waits {
        delivery.status = DeliveryStatus::Queued;
        delivery.next_attempt_at.get_or_insert(now);
        delivery.change.touch();
    }
}

pub fn release(set: &mut WorkingSet, id: DeliveryId, lease: Lease) -> WriteOutcome {
    change_held(set, id, lease, |delivery| delivery.held = false)
}

pub fn renew(set: &mut WorkingSet, id: DeliveryId, lease: Lease, until: Micros) -> WriteOutcome {
    change_held(set, id, lease, |delivery| delivery.held_until = Some(until))
}

fn change_held(
    set: &mut WorkingSet,
    id: DeliveryId,
    lease: Lease,
    change: impl FnOnce(&mut DeliveryRecord),
) -> WriteOutcome {
    match set.deliveries.get_mut(&id) {
        Some(delivery) if delivery.held && delivery.lease == lease.0 => {
            change(delivery);
            delivery.change.touch();
            WriteOutcome::Done(delivery.outcome(id))
        }
        _ => WriteOutcome::Stale,
    }
}

pub(super) fn item_of(
    set: &mut WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    result: &ItemResult,
) -> Result<(), StoreError> {
    let (index, item) = match result {
        ItemResult::Lead(lead) => lead::decide(set, context, index, lead),
        ItemResult::Fetch(fetch) => fetch_of(set, context, index, fetch)?,
        ItemResult::Ignored(message) => {
            let item = ItemRecord::with_message(ItemStatus::Ignored, None, message);
            (index, item)
        }
        ItemResult::Invalid(problem) => {
            let item = ItemRecord::with_message(ItemStatus::Invalid, None, &problem.to_string());
            (index, item)
        }
        ItemResult::Event(new) if references::is_erased(set, new) => {
            set.emptied.insert((context.workspace, context.delivery));
            let words = "a status of a message to a person who was erased";
            (
                index,
                ItemRecord::with_message(ItemStatus::Ignored, None, words),
            )
        }
        // Idempotent: deciding an event again has no further effect.
        ItemResult::Event(new) => (index, event::decide(set, new, context.ran)),
        ItemResult::Unrouted(message) => {
            let item = ItemRecord::with_message(ItemStatus::Unrouted, None, message);
            (index, item)
        }
    };
    put(set, context.delivery, index, item);
    Ok(())
}

fn fetch_of(
    set: &mut WorkingSet,
    context: &mut ItemContext<'_>,
    index: u32,
    fetch: &NewFetch,
) -> Result<(u32, ItemRecord), StoreError> {
    if let Some(dedupe) = &fetch.dedupe {
        let key = (fetch.connection.clone(), dedupe.key.clone());
        let first_use = context.used.insert(key.clone());
        if let Some(claim) = set.live_claim(&key, context.received_at).cloned() {
            let own = claim.delivery == context.delivery
                && (claim.item == index || (context.mode.is_some() && first_use));
            if own && claim.deal.is_some() {
                // Finished before: the stored item stays at its own place.
                if let Some(item) = stored(set, context.delivery, claim.item) {
                    return Ok((claim.item, item));
                }
            }
            if !own {
                return Ok((
                    index,
                    ItemRecord {
                        deal: claim.deal,
                        contact: claim.contact,
                        ..ItemRecord::new(ItemStatus::Duplicate, fetch.external_id.clone())
                    },
                ));
            }
        }
        lead::claim(set, context, index, &key, dedupe.window, None);
    } else if let Some(item) = stored(set, context.delivery, index).filter(ItemRecord::is_finished)
    {
        return Ok((index, item));
    }
    let index = free_place(set, context.delivery, index);
    let request = json(&fetch.request)?;
    let Some(ran) = context.ran.cloned() else {
        return Err(StoreError::Inconsistent {
            what: format!("a fetch of delivery {} lacks its plugin", context.delivery),
        });
    };
    let lease = set
        .fetches
        .get(&(context.delivery, index))
        .map_or(0, |fetch| fetch.lease);
    set.fetches.insert(
        (context.delivery, index),
        FetchRecord {
            workspace: context.workspace,
            connection: fetch.connection.clone(),
            dedupe_key: fetch.dedupe.as_ref().map(|dedupe| dedupe.key.clone()),
            external_id: fetch.external_id.clone(),
            request,
            state: fetch.state.clone(),
            hop: fetch.hop,
            due_at: fetch.due_at,
            until: fetch.until,
            attempts: 0,
            ran,
            response: None,
            lease,
            held: false,
            change: RowChange::New,
        },
    );
    Ok((
        index,
        ItemRecord::new(ItemStatus::Waiting, fetch.external_id.clone()),
    ))
}

pub(super) fn finish(
    set: &mut WorkingSet,
    id: DeliveryId,
    status: Option<DeliveryStatus>,
) -> WriteOutcome {
    let Some(delivery) = set.deliveries.get_mut(&id) else {
        return WriteOutcome::Stale;
    };
    delivery.status = status.unwrap_or_else(|| status_of(&delivery.item_statuses()));
    delivery.change.touch();
    WriteOutcome::Done(delivery.outcome(id))
}

pub(super) fn enters_quarantine(delivery: &DeliveryRecord, status: DeliveryStatus) -> bool {
    status == DeliveryStatus::Quarantined && delivery.status != DeliveryStatus::Quarantined
}

fn evicting(written: WriteOutcome, evicted: u32) -> WriteOutcome {
    match written {
        WriteOutcome::Done(outcome) => WriteOutcome::Done(DeliveryOutcome { evicted, ..outcome }),
        other => other,
    }
}
