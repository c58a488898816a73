//! A person is erased: contact, deals, messages, and what came in about it, raw. All
//! of it in bounded steps beside live traffic, the contact last, so that whoever is
//! interrupted asks again with the same words and it goes on.
//!
//! What a source or a partner may repeat is still known by its key, so that a repeat
//! is one and does not bring the person back. Deliveries of which something led to
//! nobody are searched for its e-mail addresses and numbers. Those that are to be
//! converted yet, or a lead of which is, are named in the receipt and left, unless the
//! operator wants them gone too: they may hold others' leads. Their ids are remembered, for when the contact is
//! gone nothing else tells whom they name. Nothing of the person goes to the log.

mod search;

use std::time::Duration;

use serde::Serialize;

use self::search::Search;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::{DeliveryId, ErasureId, KeyId};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::store::{
    EraseStep, Erased, Erasure, Extent, FoundBy, LeftDelivery, NewErasure, Person, Remaining,
    StandingDelivery, StoreError,
};

/// What an operator asks for.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub found_by: FoundBy,
    /// The operator's.
    pub key: KeyId,
    /// Deliveries that are not converted yet and name the person go too.
    pub unconverted: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the service is stopping: ask again, and it goes on where it was")]
    Stopping,
}

/// What would go.
#[derive(Debug, Serialize)]
pub struct Preview {
    pub erased: Erased,
    pub remaining: Remaining,
}

/// What erasing would do, without doing it.
pub async fn preview(
    pipeline: &Pipeline,
    person: &Person,
    order: &Order,
) -> Result<Preview, EraseError> {
    let mut erased = pipeline.core.store.count_person(person).await?;
    let mut found = Found::default();
    let mut after = None;
    loop {
        after = look(pipeline, person, order, after, &mut found).await?;
        erased.deliveries += count(&found.gone) - found.shared;
        erased.shared_deliveries += found.shared;
        (found.gone, found.shared) = (Vec::new(), 0);
        if after.is_none() {
            break;
        }
    }
    Ok(Preview {
        erased,
        remaining: found.remaining.told(),
    })
}

/// Erases the person, or goes on with it; the record when it is done.
pub async fn erase(
    pipeline: &Pipeline,
    person: &Person,
    order: &Order,
) -> Result<Erasure, EraseError> {
    let now = pipeline.core.clock.now();
    let new = NewErasure {
        id: ErasureId::new(now),
        workspace: person.workspace,
        contact: person.id,
        found_by: order.found_by,
        key: order.key,
        began_at: now,
    };
    let mut erasure = pipeline.core.store.begin_erasure(&new).await?;
    let of_record = erasure.id;
    tracing::info!(erasure = %of_record, workspace = %person.workspace, "a person is being erased");
    steps(
        pipeline,
        person,
        of_record,
        Extent::ButContact,
        &mut erasure,
    )
    .await?;
    let mut found = Found::default();
    let mut after = None;
    loop {
        after = look(pipeline, person, order, after, &mut found).await?;
        for some in found.gone.chunks(limits::ERASED_WHOLE_AT_ONCE as usize) {
            let gone = pipeline
                .core
                .store
                .erase_deliveries(person.workspace, of_record, some)
                .await?;
            erasure.erased.add(&gone);
        }
        found.gone.clear();
        if after.is_none() {
            break;
        }
    }
    let extent = Extent::Whole(&found.remaining);
    let done_at = steps(pipeline, person, of_record, extent, &mut erasure).await?;
    erasure.done_at = Some(done_at);
    erasure.remaining = found.remaining.told();
    tracing::info!(erasure = %of_record, "a person was erased");
    Ok(erasure)
}

/// Step by step until nothing is left, and when that was. Somebody may write what is to
/// go: then it is tried again, for a while.
async fn steps(
    pipeline: &Pipeline,
    person: &Person,
    of_record: ErasureId,
    extent: Extent<'_>,
    erasure: &mut Erasure,
) -> Result<Micros, EraseError> {
    let mut idle = 0;
    loop {
        if pipeline.core.shutdown.has_begun() {
            return Err(EraseError::Stopping);
        }
        let step = pipeline
            .core
            .store
            .erase_step(person, of_record, extent)
            .await;
        let error = match step {
            Ok(EraseStep { erased, done, at }) => {
                erasure.erased.add(&erased);
                if done {
                    return Ok(at);
                }
                if !erased.is_empty() {
                    idle = 0;
                    tokio::task::yield_now().await;
                    continue;
                }
                StoreError::Contended
            }
            Err(error) => error,
        };
        idle += 1;
        if !matches!(error, StoreError::Contended) || idle >= limits::ERASE_ATTEMPTS {
            return Err(error.into());
        }
        tokio::time::sleep(Duration::from_millis(limits::ERASE_PAUSE_MS)).await;
    }
}

/// Deliveries that name the person, with what of them led to nobody.
#[derive(Default)]
struct Found {
    /// Those that go.
    gone: Vec<DeliveryId>,
    /// How many of these are emptied, since something else of them led to others.
    shared: u64,
    remaining: Remaining,
}

impl Found {
    fn add(&mut self, delivery: &StandingDelivery, order: &Order) {
        let (id, status) = (delivery.id, delivery.status);
        if (is_finished(status) && !delivery.is_pending) || order.unconverted {
            self.gone.push(id);
            self.shared += u64::from(delivery.is_shared && is_finished(status));
        } else {
            self.remaining.add(LeftDelivery { id, status });
        }
    }
}

/// Searches the next deliveries; where to go on, unless these were the last. Of
/// somebody who is erased there is nothing to search for, but what is remembered.
async fn look(
    pipeline: &Pipeline,
    person: &Person,
    order: &Order,
    after: Option<DeliveryId>,
    found: &mut Found,
) -> Result<Option<DeliveryId>, EraseError> {
    if pipeline.core.shutdown.has_begun() {
        return Err(EraseError::Stopping);
    }
    let search = Search::of(person);
    if search.is_empty() {
        let left = pipeline
            .core
            .store
            .left_deliveries(person.workspace, person.id);
        for delivery in left.await? {
            found.add(&delivery, order);
        }
        return Ok(None);
    }
    let page = pipeline
        .core
        .store
        .unlinked_deliveries(person.workspace, person.id, after)
        .await?;
    // Megabytes of text: not on a thread that serves.
    let searched = tokio::task::spawn_blocking(move || {
        let mut named = Vec::new();
        for delivery in page.deliveries {
            if delivery.is_own || search.finds(&delivery) {
                named.push(delivery.standing);
            }
        }
        (named, page.next)
    });
    let (named, next) = searched.await.expect("the search does not panic");
    for delivery in named {
        found.add(&delivery, order);
    }
    Ok(next)
}

/// Nothing will come of it any more.
fn is_finished(status: DeliveryStatus) -> bool {
    match status {
        DeliveryStatus::Converted
        | DeliveryStatus::Duplicate
        | DeliveryStatus::Rejected
        | DeliveryStatus::Ignored => true,
        DeliveryStatus::Queued
        | DeliveryStatus::Failed
        | DeliveryStatus::Parked
        | DeliveryStatus::Unrouted
        | DeliveryStatus::Quarantined => false,
    }
}

fn count(ids: &[DeliveryId]) -> u64 {
    u64::try_from(ids.len()).unwrap_or(u64::MAX)
}
