//! Erases a person: the contact, its deals and messages, and the raw data about it. It runs in
//! bounded steps beside live traffic, the contact last: an interrupted erasure continues if the
//! same request is repeated.
//!
//! The keys of the person's leads and requests stay known, so that a repeat is recognised and does
//! not bring the person back. Deliveries with items that led to no contact are searched for the
//! person's e-mail addresses and numbers. Deliveries that are not converted yet, or that contain
//! such a lead, may hold leads of others. They are named in the receipt and left, unless the
//! operator wants them removed too. Their ids are stored, because after the contact is removed
//! nothing else shows which person they name. The log contains nothing of the person.

mod search;

use self::search::PersonSearch;
use crate::prelude::*;
use leadhost_domain::contact::FoundBy;
use leadhost_domain::id::ErasureId;
use leadhost_store::{
    EraseStep, Erased, Erasure, Extent, LeftDelivery, NewErasure, Person, RemainingData,
    StandingDelivery,
};

#[derive(Clone, Copy, Debug)]
pub struct ErasureRequest {
    pub found_by: FoundBy,
    pub key: KeyId,
    /// Remove unconverted deliveries that name the person too.
    pub unconverted: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the service is stopping: repeat the request, and the erasure continues")]
    Stopping,
}

/// The rows that an erasure would remove, and the deliveries that would remain.
#[derive(Debug)]
pub struct Preview {
    pub erased: Erased,
    pub remaining: RemainingData,
}

#[leadhost_boxed::boxed]
pub async fn preview(
    pipeline: &Pipeline,
    person: &Person,
    order: &ErasureRequest,
) -> Result<Preview, EraseError> {
    let mut erased = pipeline.store.count_person(person).await?;
    let mut found = UnlinkedDeliveries::default();
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
        remaining: found.remaining.for_display(),
    })
}

/// Erases the person, or continues an interrupted erasure. Returns the record of the completed
/// erasure.
#[leadhost_boxed::boxed]
pub async fn erase(
    pipeline: &Pipeline,
    person: &Person,
    order: &ErasureRequest,
) -> Result<Erasure, EraseError> {
    let now = pipeline.clock.now();
    let new = NewErasure {
        id: ErasureId::new(now),
        workspace: person.workspace,
        contact: person.id,
        found_by: order.found_by,
        key: order.key,
        began_at: now,
    };
    let mut erasure = pipeline.store.begin_erasure(&new).await?;
    let of_record = erasure.id;
    tracing::info!(erasure = %of_record, workspace = %person.workspace, "erasure started");
    steps(
        pipeline,
        person,
        of_record,
        Extent::ButContact,
        &mut erasure,
    )
    .await?;
    let mut found = UnlinkedDeliveries::default();
    let mut after = None;
    loop {
        after = look(pipeline, person, order, after, &mut found).await?;
        for some in found.gone.chunks(limits::ERASED_WHOLE_AT_ONCE as usize) {
            let gone = pipeline
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
    erasure.remaining = found.remaining.for_display();
    tracing::info!(erasure = %of_record, "erasure completed");
    Ok(erasure)
}

/// Repeats steps until nothing is left, and returns when that was. If other writes touch the same
/// rows, it retries a bounded number of times.
async fn steps(
    pipeline: &Pipeline,
    person: &Person,
    of_record: ErasureId,
    extent: Extent<'_>,
    erasure: &mut Erasure,
) -> Result<Micros, EraseError> {
    let mut idle = 0;
    loop {
        if pipeline.shutdown.has_begun() {
            return Err(EraseError::Stopping);
        }
        let step = pipeline.store.erase_step(person, of_record, extent).await;
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
        tokio::time::sleep(limits::ERASE_PAUSE).await;
    }
}

/// Deliveries that name the person and contain items that led to no contact.
#[derive(Default)]
struct UnlinkedDeliveries {
    gone: Vec<DeliveryId>,
    /// The number of these that are only emptied, because other items in them led to other people.
    shared: u64,
    remaining: RemainingData,
}

impl UnlinkedDeliveries {
    fn add(&mut self, delivery: &StandingDelivery, order: &ErasureRequest) {
        let (id, status) = (delivery.id, delivery.status);
        if (is_finished(status) && !delivery.is_pending) || order.unconverted {
            self.gone.push(id);
            self.shared += u64::from(delivery.is_shared && is_finished(status));
        } else {
            self.remaining.add(LeftDelivery { id, status });
        }
    }
}

/// Searches the next deliveries. Returns where to continue, or `None` after the last. If the person
/// is already erased, there is nothing to search for, and the stored ids are used.
async fn look(
    pipeline: &Pipeline,
    person: &Person,
    order: &ErasureRequest,
    after: Option<DeliveryId>,
    found: &mut UnlinkedDeliveries,
) -> Result<Option<DeliveryId>, EraseError> {
    if pipeline.shutdown.has_begun() {
        return Err(EraseError::Stopping);
    }
    let search = PersonSearch::new(person);
    if search.is_empty() {
        let left = pipeline.store.left_deliveries(person.workspace, person.id);
        for delivery in left.await? {
            found.add(&delivery, order);
        }
        return Ok(None);
    }
    let page = pipeline
        .store
        .unlinked_deliveries(person.workspace, person.id, after)
        .await?;
    // Megabytes of text: not on a thread that serves requests.
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
