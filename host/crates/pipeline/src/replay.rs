//! Converts a delivery again on an operator's request, with the active version. It shows
//! what would be made or changed, and does it only with `apply`; a failed or parked delivery is tried
//! again at once. A fetched lead
//! is completed from the stored answer. One replay of a delivery runs at a time. A repair
//! converts deliveries in the same way ([`prepare`]), and commits one after the other ([`commit_in_repair`]).

use super::replay_answers::{self, CompletionError, ReplayAnswerError};
use super::{greeting, parts, worker};
use crate::prelude::*;
use futures_util::future::join_all;
use leadhost_domain::delivery::status_of;
use leadhost_domain::repair::{MERGED, PERSON};
use leadhost_store::{
    ContactMerge, ConversionResult, DeliveryOutcome, FieldDiff, HeldDelivery, Mode, Reconversion,
    RepairWrite,
};

#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions {
    /// Write what the conversion makes, and the differences except where a person has edited since.
    /// Without it, nothing is made or changed, unless the delivery failed or is parked: its replay is
    /// another try.
    pub apply: bool,
    /// Release a quarantined delivery if its sender check passes now.
    pub release: bool,
    /// Refuse the replay if the delivery's status has changed since it was looked at: another operator may
    /// have converted it.
    pub expected: Option<DeliveryStatus>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("there is no delivery {0}")]
    NotFound(DeliveryId),
    #[error("a host is working on delivery {0}: try again in a moment")]
    Busy(DeliveryId),
    #[error("delivery {delivery} is now {}, not {}: look at it again first", .status.as_str(), .expected.as_str())]
    Changed {
        delivery: DeliveryId,
        status: DeliveryStatus,
        expected: DeliveryStatus,
    },
    #[error("delivery {delivery} is not in quarantine: it is {}", .status.as_str())]
    NotQuarantined {
        delivery: DeliveryId,
        status: DeliveryStatus,
    },
    #[error(
        "delivery {0} is quarantined: correct the secret, then run `leadhost delivery replay {0} --release`"
    )]
    Quarantined(DeliveryId),
    #[error("delivery {delivery} stays in quarantine: {why}")]
    StillUnproven { delivery: DeliveryId, why: String },
    #[error(
        "delivery {0} was emptied by the erasure of one of its people: there is nothing to replay"
    )]
    Emptied(DeliveryId),
    #[error("delivery {0} was taken over by another host meanwhile; try again")]
    TakenOver(DeliveryId),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "item {item} of delivery {delivery} cannot be completed from its stored answer: {source}; nothing was changed"
    )]
    Completion {
        delivery: DeliveryId,
        item: u32,
        #[source]
        source: CompletionError,
    },
}

#[leadhost_boxed::boxed]
pub async fn one(
    pipeline: &Arc<Pipeline>,
    id: DeliveryId,
    options: ReplayOptions,
) -> Result<DeliveryOutcome, ReplayError> {
    let held = claim(pipeline, id).await?;
    let (delivery, status) = (id, held.status);
    let quarantined = status == DeliveryStatus::Quarantined;
    let refused = match options.expected {
        Some(expected) if !is_still(expected, status) => Some(ReplayError::Changed {
            delivery,
            status,
            expected,
        }),
        _ if options.release && !quarantined => {
            Some(ReplayError::NotQuarantined { delivery, status })
        }
        _ => None,
    };
    if let Some(refused) = refused {
        release(pipeline, &held).await;
        return Err(refused);
    }
    // The conversion itself repeats a failed sender check; without `release` the delivery
    // goes back unchanged.
    let mut result = if quarantined && !options.release {
        let mut same = super::failure::empty(DeliveryStatus::Quarantined);
        same.presented.clone_from(&held.presented);
        same.error = Some("the sender check failed".to_owned());
        same
    } else {
        worker::reconvert(pipeline, &held, CallBudget::Operator).await
    };
    complete(pipeline, &held, &mut result).await?;
    let why = result.error.clone().unwrap_or_default();
    let still = result.status == Some(DeliveryStatus::Quarantined);
    let is_asked_for = options.release || quarantined || held.status.is_tried_again();
    let mode = if options.apply || is_asked_for {
        Mode::Replay {
            apply: options.apply,
        }
    } else {
        Mode::Preview
    };
    let is_preview = mode == Mode::Preview;
    let conversion = reconversion(&held, mode, result);
    let is_large = conversion.result.is_large();
    let written = if is_large {
        parts::commit(pipeline, conversion).await?
    } else {
        let write = Write::Convert(Box::new(conversion));
        let committing = Instant::now();
        let written = pipeline.writer.submit(write).await?;
        if let WriteOutcome::Done(outcome) = &written {
            greeting::trace_stored(&outcome.greeted, committing);
        }
        written
    };
    if let WriteOutcome::Done(outcome) = &written {
        pipeline.metrics.intake.quarantine_evicted(outcome.evicted);
    }
    match written {
        WriteOutcome::Done(mut outcome) if is_preview => {
            if is_large {
                let statuses: Vec<_> = outcome.items.iter().map(|item| item.status).collect();
                outcome.status = status_of(&statuses);
            }
            Ok(outcome)
        }
        WriteOutcome::Done(_) if still && !options.release => Err(ReplayError::Quarantined(id)),
        WriteOutcome::Done(_) if still => Err(ReplayError::StillUnproven { delivery: id, why }),
        WriteOutcome::Done(mut outcome) => {
            pipeline.wake();
            merge(pipeline, held.delivery.workspace, &mut outcome).await?;
            Ok(outcome)
        }
        _ => Err(ReplayError::TakenOver(id)),
    }
}

/// Returns whether a delivery has the status that it had. The next try of a failed one may have parked it.
fn is_still(expected: DeliveryStatus, status: DeliveryStatus) -> bool {
    status == expected || status.is_tried_again() && expected.is_tried_again()
}

#[derive(Debug)]
pub enum InRepair {
    /// It was converted again, and the changes of the repair are committed.
    Replayed(DeliveryOutcome),
    Failed(String),
    Rejected,
    Quarantined,
    /// The version could not be called just now: the host is busy or stops. It is as it was.
    Later(String),
    Stale,
}

/// A delivery of a repair that is claimed and converted, or why it is not.
pub type Prepared = Result<Result<Box<(HeldDelivery, ConversionResult)>, InRepair>, ReplayError>;

/// Claims and converts deliveries of a repair. They are converted at once: no conversion needs another one.
pub async fn prepare(
    pipeline: &Arc<Pipeline>,
    ids: &[DeliveryId],
) -> Result<Vec<Prepared>, StoreError> {
    let mut held = claim_all(pipeline, ids.to_vec()).await?;
    let prepared = ids.iter().map(|id| {
        let held = held.remove(id);
        async move {
            let held = claimed(pipeline, *id, held).await?;
            convert_in_repair(pipeline, held).await
        }
    });
    Ok(join_all(prepared).await)
}

#[leadhost_boxed::boxed]
async fn convert_in_repair(pipeline: &Arc<Pipeline>, held: HeldDelivery) -> Prepared {
    if held.status == DeliveryStatus::Quarantined {
        release(pipeline, &held).await;
        return Ok(Err(InRepair::Quarantined));
    }
    if let Ok(None) = pipeline.connections.get(&held.delivery.connection).await {
        release(pipeline, &held).await;
        return Ok(Err(InRepair::Failed(
            "its connection no longer exists".to_owned(),
        )));
    }
    let mut result = worker::reconvert(pipeline, &held, CallBudget::Operator).await;
    complete(pipeline, &held, &mut result).await?;
    if let Some(status) = result.status {
        release(pipeline, &held).await;
        let why = result.error.unwrap_or_default();
        return Ok(Err(match status {
            DeliveryStatus::Queued => InRepair::Later(why),
            DeliveryStatus::Rejected => InRepair::Rejected,
            DeliveryStatus::Quarantined => InRepair::Quarantined,
            _ => InRepair::Failed(why),
        }));
    }
    // A fetch that is queued now would bring its lead later, outside of the repair and its receipt.
    if result.has_fetch() {
        release(pipeline, &held).await;
        let why = "no answer is stored for a lead that it has to fetch";
        return Ok(Err(InRepair::Failed(why.to_owned())));
    }
    Ok(Ok(Box::new((held, result))))
}

/// Commits the conversion of a delivery as part of a repair. A delivery that could not be converted stays as it
/// is.
pub async fn commit_in_repair(
    pipeline: &Arc<Pipeline>,
    prepared: Prepared,
    repair: RepairWrite,
) -> Result<InRepair, ReplayError> {
    let (held, result) = match prepared? {
        Ok(converted) => *converted,
        Err(left) => return Ok(left),
    };
    let conversion = reconversion(&held, Mode::Repair(repair), result);
    match parts::commit(pipeline, conversion).await {
        Ok(WriteOutcome::Done(outcome)) => {
            pipeline.wake();
            Ok(InRepair::Replayed(outcome))
        }
        Ok(_) => {
            release(pipeline, &held).await;
            Ok(InRepair::Stale)
        }
        Err(error) => {
            // Release the delivery, or the lease of this attempt would block the next one.
            release(pipeline, &held).await;
            Err(error.into())
        }
    }
}

/// Releases what was prepared and is not committed.
pub async fn release_prepared(pipeline: &Pipeline, prepared: Prepared) {
    if let Ok(Ok(converted)) = prepared {
        release(pipeline, &converted.0).await;
    }
}

async fn claim(pipeline: &Pipeline, id: DeliveryId) -> Result<HeldDelivery, ReplayError> {
    let held = claim_all(pipeline, vec![id]).await?.remove(&id);
    claimed(pipeline, id, held).await
}

async fn claim_all(
    pipeline: &Pipeline,
    ids: Vec<DeliveryId>,
) -> Result<BTreeMap<DeliveryId, HeldDelivery>, StoreError> {
    let now = pipeline.clock.now();
    let until = now.plus(pipeline.config.worker.lease());
    pipeline.store.claim_deliveries(ids, now, until).await
}

/// Returns the delivery that a claim holds, or why there is nothing to convert.
async fn claimed(
    pipeline: &Pipeline,
    id: DeliveryId,
    held: Option<HeldDelivery>,
) -> Result<HeldDelivery, ReplayError> {
    let Some(held) = held else {
        return Err(match pipeline.store.delivery(id).await? {
            Some(_) => ReplayError::Busy(id),
            None => ReplayError::NotFound(id),
        });
    };
    if held.delivery.is_emptied() {
        release(pipeline, &held).await;
        return Err(ReplayError::Emptied(id));
    }
    Ok(held)
}

/// Completes pointers from stored answers. The delivery is released if that fails.
async fn complete(
    pipeline: &Pipeline,
    held: &HeldDelivery,
    result: &mut ConversionResult,
) -> Result<(), ReplayError> {
    let completed = replay_answers::complete(pipeline, &held.delivery, result).await;
    let Err(error) = completed else {
        return Ok(());
    };
    release(pipeline, held).await;
    Err(match error {
        ReplayAnswerError::Store(error) => error.into(),
        ReplayAnswerError::Completion { item, source } => ReplayError::Completion {
            delivery: held.delivery.id,
            item,
            source,
        },
    })
}

fn reconversion(held: &HeldDelivery, mode: Mode, result: ConversionResult) -> Reconversion {
    Reconversion {
        delivery: held.delivery.id,
        lease: held.lease,
        mode,
        result,
        part: None,
    }
}

/// Merges contacts that a version created because it lost a key, once their deals have moved, so that no
/// contact without data is left behind. A repair does so by its receipt.
async fn merge(
    pipeline: &Pipeline,
    workspace: WorkspaceId,
    outcome: &mut DeliveryOutcome,
) -> Result<(), StoreError> {
    for item in &mut outcome.items {
        let Some((from, into)) = item.diff.iter().find_map(moved) else {
            continue;
        };
        let store = &pipeline.store;
        let merged = store.merge_contact(workspace, from, into, None).await?;
        if merged == ContactMerge::Merged {
            item.diff.push(FieldDiff {
                field: MERGED.to_owned(),
                before: json!(from),
                after: json!(into),
                applied: true,
                edited_by_person: false,
            });
        }
    }
    Ok(())
}

fn moved(diff: &FieldDiff) -> Option<(ContactId, ContactId)> {
    let id = |value: &Value| value.as_str()?.parse().ok();
    (diff.applied && diff.field == PERSON)
        .then(|| Some((id(&diff.before)?, id(&diff.after)?)))
        .flatten()
}

/// Releases the delivery unchanged, so that other hosts need not wait for the lease to
/// expire.
async fn release(pipeline: &Pipeline, held: &HeldDelivery) {
    let write = Write::Release {
        delivery: held.delivery.id,
        lease: held.lease,
    };
    if let Err(error) = pipeline.writer.submit(write).await {
        tracing::warn!(delivery = %held.delivery.id, %error, "delivery not released, its lease will expire");
    }
}
