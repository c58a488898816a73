//! Fetches: storing an answer, and settling the fetch. Only the holder of the fetch may
//! settle it; for any other host it is stale. The answer that gave the items stays with
//! the delivery for a replay.

use super::accept::{finish, item_of};
use super::earlier;
use super::items::{ITEMS_LAST_PLACE, ItemContext, drop_fetch, next_place};
use super::working_set::SettledAnswer;
use crate::decide::prelude::*;
use crate::sql::json;
use crate::{FetchAnswer, FetchOutcome, FetchSettlement, ItemResult, Lease};
use leadhost_domain::connection::ConnectionPause;

/// Stores the answer of a source with its fetch. Returns [`WriteOutcome::Stale`] if the lease is
/// not held.
pub(super) fn answer(
    set: &mut WorkingSet,
    answer: &FetchAnswer,
) -> Result<WriteOutcome, StoreError> {
    if !holds(set, answer.delivery, answer.index, answer.lease) {
        return Ok(WriteOutcome::Stale);
    }
    if let Some(fetch) = set.fetches.get_mut(&(answer.delivery, answer.index)) {
        fetch.request = json(&answer.request)?;
        fetch.state.clone_from(&answer.state);
        fetch.ran = answer.ran.clone();
        fetch.response = Some(answer.response.clone());
        fetch.change.touch();
    }
    Ok(match set.deliveries.get_mut(&answer.delivery) {
        Some(delivery) => WriteOutcome::Done(delivery.outcome(answer.delivery)),
        None => WriteOutcome::Stale,
    })
}

/// Settles a fetch: replaces its item with the answer's items, plans a retry, fails the item, or pauses the
/// connection. Returns [`WriteOutcome::Stale`] if the lease is not held.
pub(super) fn settle(
    set: &mut WorkingSet,
    new: &FetchSettlement,
) -> Result<WriteOutcome, StoreError> {
    if !holds(set, new.delivery, new.index, new.lease) {
        return Ok(WriteOutcome::Stale);
    }
    if let FetchOutcome::Items(_) | FetchOutcome::Failed { .. } = &new.outcome {
        earlier::keep_of_fetch(set, new);
    }
    match &new.outcome {
        FetchOutcome::Items(items) => replace(set, new, items)?,
        FetchOutcome::Retry { at, error } => wait(set, new, *at, error),
        FetchOutcome::Failed { error } => {
            drop_fetch(set, new.delivery, new.index);
            note(set, new, Some(ItemStatus::Failed), error);
        }
        FetchOutcome::Stop { at, reason } => {
            wait(set, new, *at, reason);
            let connection = set
                .fetches
                .get(&(new.delivery, new.index))
                .map(|fetch| fetch.connection.clone());
            let pause = ConnectionPause {
                since: set.now,
                reason: reason.clone(),
            };
            set.pauses
                .extend(connection.map(|connection| (connection, pause)));
        }
    }
    set.note(new.delivery, &new.notes);
    // While parts of its conversion are missing, the delivery waits for them.
    let waits = set
        .deliveries
        .get(&new.delivery)
        .filter(|delivery| delivery.is_to_be_converted())
        .map(|delivery| delivery.status);
    Ok(finish(set, new.delivery, waits))
}

fn holds(set: &WorkingSet, delivery: DeliveryId, index: u32, lease: Lease) -> bool {
    set.deliveries.contains_key(&delivery)
        && set.fetches.get(&(delivery, index)).is_some_and(|fetch| {
            fetch.held && fetch.lease == lease.0 && fetch.change != RowChange::Removed
        })
}

/// The first item takes the fetch's place. The others follow the last item.
fn replace(
    set: &mut WorkingSet,
    new: &FetchSettlement,
    items: &[ItemResult],
) -> Result<(), StoreError> {
    keep_answer(set, new.delivery, new.index);
    drop_fetch(set, new.delivery, new.index);
    let Some(delivery) = set.deliveries.get_mut(&new.delivery) else {
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
    let mut context = ItemContext {
        delivery: new.delivery,
        workspace: delivery.workspace,
        received_at: delivery.received_at,
        arrives: false,
        ran: ran.as_ref(),
        mode: None,
        used: HashSet::new(),
    };
    if items.is_empty() {
        return item_of(set, &mut context, new.index, &ItemResult::nothing());
    }
    for (at, item) in items.iter().enumerate() {
        let index = if at == 0 {
            new.index
        } else {
            next_place(set, new.delivery)
        };
        item_of(set, &mut context, index, item)?;
    }
    Ok(())
}

fn keep_answer(set: &mut WorkingSet, delivery: DeliveryId, index: u32) {
    let answer = set.fetches.get(&(delivery, index)).and_then(|fetch| {
        Some(SettledAnswer {
            workspace: fetch.workspace,
            delivery,
            item: index,
            hop: fetch.hop,
            external_id: fetch.external_id.clone(),
            request: fetch.request.clone(),
            response: fetch.response.clone()?,
        })
    });
    set.new_answers.extend(answer);
}

/// Schedules the fetch again without the stored answer, which had no result.
fn wait(set: &mut WorkingSet, new: &FetchSettlement, at: Micros, why: &str) {
    if let Some(fetch) = set.fetches.get_mut(&(new.delivery, new.index)) {
        fetch.due_at = at;
        fetch.attempts += 1;
        fetch.held = false;
        fetch.response = None;
        fetch.change.touch();
    }
    note(set, new, None, why);
}

fn note(set: &mut WorkingSet, new: &FetchSettlement, status: Option<ItemStatus>, message: &str) {
    if let Some(delivery) = set.deliveries.get_mut(&new.delivery)
        && let Some(item) = delivery.items.get_mut(&new.index)
    {
        item.status = status.unwrap_or(item.status);
        item.message = Some(message.to_owned());
        item.change.touch();
    }
}
