//! Fetches: storing an answer, and settling the fetch. Only the holder of the fetch may
//! settle it; for any other host it is stale. The answer that gave the items stays with
//! the delivery for a replay.

use std::collections::HashSet;

use super::accept::{
    Context, ITEMS_LAST_PLACE, drop_fetch, finish, item_of, next_place, request_text,
};
use super::known::{Answer, Change, Known};
use crate::domain::connection::Pause;
use crate::domain::delivery::ItemStatus;
use crate::domain::id::DeliveryId;
use crate::domain::time::Micros;
use crate::store::{
    FetchAnswer, FetchOutcome, FetchSettlement, ItemResult, Lease, StoreError, Written,
};

pub(super) fn answer(known: &mut Known, answer: &FetchAnswer) -> Result<Written, StoreError> {
    if !holds(known, answer.delivery, answer.index, answer.lease) {
        return Ok(Written::Stale);
    }
    if let Some(fetch) = known.fetches.get_mut(&(answer.delivery, answer.index)) {
        fetch.request = request_text(&answer.request)?;
        fetch.state.clone_from(&answer.state);
        fetch.ran = Some(answer.ran.clone());
        fetch.response = Some(answer.response.clone());
        fetch.change.touch();
    }
    Ok(match known.deliveries.get(&answer.delivery) {
        Some(delivery) => Written::Done(delivery.outcome(answer.delivery)),
        None => Written::Stale,
    })
}

pub(super) fn settle(known: &mut Known, new: &FetchSettlement) -> Result<Written, StoreError> {
    if !holds(known, new.delivery, new.index, new.lease) {
        return Ok(Written::Stale);
    }
    match &new.outcome {
        FetchOutcome::Items(items) => replace(known, new, items)?,
        FetchOutcome::Retry { at, error } => wait(known, new, *at, error),
        FetchOutcome::Failed { error } => {
            drop_fetch(known, new.delivery, new.index);
            note(known, new, Some(ItemStatus::Failed), error);
        }
        FetchOutcome::Stop { at, reason } => {
            wait(known, new, *at, reason);
            let connection = known
                .fetches
                .get(&(new.delivery, new.index))
                .map(|fetch| fetch.connection.clone());
            let pause = Pause {
                since: known.now,
                reason: reason.clone(),
            };
            known
                .pauses
                .extend(connection.map(|connection| (connection, pause)));
        }
    }
    known.note(new.delivery, &new.notes);
    // While parts of its conversion are missing, the delivery waits for them.
    let waits = known
        .deliveries
        .get(&new.delivery)
        .filter(|delivery| delivery.is_to_be_converted())
        .map(|delivery| delivery.status);
    Ok(finish(known, new.delivery, waits))
}

fn holds(known: &Known, delivery: DeliveryId, index: u32, lease: Lease) -> bool {
    known.deliveries.contains_key(&delivery)
        && known.fetches.get(&(delivery, index)).is_some_and(|fetch| {
            fetch.held && fetch.lease == lease.0 && fetch.change != Change::Removed
        })
}

/// The first item takes the fetch's place. The others follow the last item.
fn replace(
    known: &mut Known,
    new: &FetchSettlement,
    items: &[ItemResult],
) -> Result<(), StoreError> {
    keep_answer(known, new.delivery, new.index);
    drop_fetch(known, new.delivery, new.index);
    let Some(delivery) = known.deliveries.get_mut(&new.delivery) else {
        return Ok(());
    };
    if delivery.is_to_be_converted() {
        // The places of later parts are reserved.
        delivery.reserve(ITEMS_LAST_PLACE);
    }
    if new.ran.is_some() {
        delivery.ran.clone_from(&new.ran);
    }
    let ran = delivery.ran.clone();
    let mut context = Context {
        delivery: new.delivery,
        workspace: delivery.workspace,
        received_at: delivery.received_at,
        ran: ran.as_ref(),
        mode: None,
        used: HashSet::new(),
    };
    if items.is_empty() {
        return item_of(known, &mut context, new.index, &ItemResult::nothing());
    }
    for (at, item) in items.iter().enumerate() {
        let index = if at == 0 {
            new.index
        } else {
            next_place(known, new.delivery)
        };
        item_of(known, &mut context, index, item)?;
    }
    Ok(())
}

fn keep_answer(known: &mut Known, delivery: DeliveryId, index: u32) {
    let answer = known.fetches.get(&(delivery, index)).and_then(|fetch| {
        Some(Answer {
            workspace: fetch.workspace,
            delivery,
            item: index,
            hop: fetch.hop,
            external_id: fetch.external_id.clone(),
            request: fetch.request.clone(),
            response: fetch.response.clone()?,
        })
    });
    known.new_answers.extend(answer);
}

/// Schedules the fetch again without the stored answer, which had no result.
fn wait(known: &mut Known, new: &FetchSettlement, at: Micros, why: &str) {
    if let Some(fetch) = known.fetches.get_mut(&(new.delivery, new.index)) {
        fetch.due_at = at;
        fetch.attempts += 1;
        fetch.held = false;
        fetch.response = None;
        fetch.change.touch();
    }
    note(known, new, None, why);
}

fn note(known: &mut Known, new: &FetchSettlement, status: Option<ItemStatus>, message: &str) {
    if let Some(delivery) = known.deliveries.get_mut(&new.delivery)
        && let Some(item) = delivery.items.get_mut(&new.index)
    {
        item.status = status.unwrap_or(item.status);
        item.message = Some(message.to_owned());
        item.change.touch();
    }
}
