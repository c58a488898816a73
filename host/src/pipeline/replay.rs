//! Converts a delivery again on an operator's request, with the active version. It shows
//! what would change in completed items, and changes it only with `apply`. A fetched lead
//! is completed from the stored answer. One replay of a delivery runs at a time.

use std::sync::Arc;

use serde_json::{Value, json};

use super::replay_answers::{self, CompletionError, ReplayAnswerError};
use super::{parts, worker};
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::{ContactId, DeliveryId, WorkspaceId};
use crate::pipeline::state::Pipeline;
use crate::plugin::Budget;
use crate::store::{
    DeliveryOutcome, FieldDiff, HeldDelivery, Mode, Reconversion, StoreError, Write, Written,
};

#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions {
    /// Write the differences, except where a person has edited since.
    pub apply: bool,
    /// Release a quarantined delivery if its sender check passes now.
    pub release: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(
        "there is no delivery {0}, or a host is working on it: check with `leadhost delivery show {0}`"
    )]
    NotFound(DeliveryId),
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

/// Replays one delivery.
///
/// # Errors
///
/// [`ReplayError`] if the delivery cannot be claimed, was emptied or stays in quarantine, a
/// stored answer cannot be completed, or the store fails.
pub async fn one(
    pipeline: &Arc<Pipeline>,
    id: DeliveryId,
    options: ReplayOptions,
) -> Result<DeliveryOutcome, ReplayError> {
    let now = pipeline.core.clock.now();
    let until = now.plus(pipeline.core.config.worker.lease());
    let held = pipeline
        .core
        .store
        .claim_delivery(id, now, until)
        .await?
        .ok_or(ReplayError::NotFound(id))?;
    if held.delivery.is_emptied() {
        release(pipeline, &held).await;
        return Err(ReplayError::Emptied(id));
    }
    let quarantined = held.status == DeliveryStatus::Quarantined;
    // The conversion itself repeats a failed sender check; without `release` the delivery
    // goes back unchanged.
    let mut result = if quarantined && !options.release {
        let mut same = super::failure::empty(DeliveryStatus::Quarantined);
        same.presented.clone_from(&held.presented);
        same.error = Some("the sender check failed".to_owned());
        same
    } else {
        worker::reconvert(pipeline, &held, Budget::Operator).await
    };
    if let Err(error) = replay_answers::complete(pipeline, &held.delivery, &mut result).await {
        release(pipeline, &held).await;
        return Err(match error {
            ReplayAnswerError::Store(error) => error.into(),
            ReplayAnswerError::Completion { item, source } => ReplayError::Completion {
                delivery: id,
                item,
                source,
            },
        });
    }
    let why = result.error.clone().unwrap_or_default();
    let still = result.status == Some(DeliveryStatus::Quarantined);
    let mode = Mode::Replay {
        apply: options.apply,
    };
    let conversion = Reconversion {
        delivery: id,
        lease: held.lease,
        mode,
        result,
        part: None,
    };
    let written = if conversion.result.is_large() {
        parts::commit(pipeline, conversion).await?
    } else {
        let write = Write::Convert(Box::new(conversion));
        pipeline.core.writer.submit(write).await?
    };
    if let Written::Done(outcome) = &written {
        pipeline
            .core
            .metrics
            .intake
            .quarantine_evicted(outcome.evicted);
    }
    match written {
        Written::Done(_) if still && !options.release => Err(ReplayError::Quarantined(id)),
        Written::Done(_) if still => Err(ReplayError::StillUnproven { delivery: id, why }),
        Written::Done(mut outcome) => {
            pipeline.wake();
            merge(pipeline, held.delivery.workspace, &mut outcome).await?;
            Ok(outcome)
        }
        _ => Err(ReplayError::TakenOver(id)),
    }
}

/// Merges contacts that a version created because it lost a key, if their deals have moved
/// by now, so that no contact without data is left behind.
async fn merge(
    pipeline: &Pipeline,
    workspace: WorkspaceId,
    outcome: &mut DeliveryOutcome,
) -> Result<(), StoreError> {
    for item in &mut outcome.items {
        let Some((from, into)) = item.diff.iter().find_map(moved) else {
            continue;
        };
        if pipeline
            .core
            .store
            .merge_contact(workspace, from, into)
            .await?
        {
            item.diff.push(FieldDiff {
                field: "contact.merged".to_owned(),
                before: json!(from),
                after: json!(into),
                applied: true,
                edited_by_person: false,
            });
        }
    }
    Ok(())
}

/// Returns the contacts between which a deal moved.
fn moved(diff: &FieldDiff) -> Option<(ContactId, ContactId)> {
    let id = |value: &Value| value.as_str()?.parse().ok();
    (diff.applied && diff.field == "deal.person")
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
    if let Err(error) = pipeline.core.writer.submit(write).await {
        tracing::warn!(delivery = %held.delivery.id, %error, "delivery not released, its lease will expire");
    }
}
