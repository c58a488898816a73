//! After an activation: retries deliveries that failed on the previous versions, oldest
//! first, a few at a time, behind live traffic. It stops when the new version fails on all
//! of them too.

use super::worker;
use crate::prelude::*;
use leadhost_store::HeldDelivery;

/// Deliveries between two checks of progress.
const STEP: u32 = 8;

const AGAIN: Duration = Duration::from_secs(1);

#[leadhost_boxed::boxed]
pub async fn resume(pipeline: Arc<Pipeline>) {
    match pipeline.store.activations().await {
        Ok(activations) => {
            for activation in activations {
                run(&pipeline, &activation.name, &activation.digest).await;
            }
        }
        Err(error) => {
            tracing::warn!(%error, "redrives not resumed");
        }
    }
}

pub async fn run(pipeline: &Arc<Pipeline>, plugin: &str, digest: &Digest) {
    let mut redriven = 0u64;
    let mut after = None;
    let serves = |pipeline: &Pipeline| {
        let active = pipeline.plugins.active(plugin);
        active.is_some_and(|active| active.digest == *digest)
    };
    // Another activation has its own redrive, and the next start continues.
    while serves(pipeline) && !pipeline.shutdown.has_begun() {
        let now = pipeline.clock.now();
        let until = now.plus(pipeline.config.worker.lease());
        let held = match pipeline
            .store
            .claim_failed(plugin, digest, after, STEP, now, until)
            .await
        {
            Ok(held) => held,
            Err(StoreError::Lost(_) | StoreError::Unavailable(_) | StoreError::Busy) => {
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => continue,
                    () = pipeline.shutdown.begun() => return,
                }
            }
            Err(error) => {
                return tracing::warn!(plugin, %error, "redrive stopped");
            }
        };
        if held.is_empty() {
            break;
        }
        after = held.last().map(|last| last.delivery.id);
        let mut better = 0;
        for held in held {
            redriven += 1;
            if one(pipeline, held).await {
                better += 1;
            }
        }
        if better == 0 {
            return tracing::warn!(
                plugin,
                digest = digest.short(),
                "redrive stopped, the new version fails on the same deliveries"
            );
        }
    }
    if redriven > 0 {
        tracing::info!(
            plugin,
            digest = digest.short(),
            redriven,
            "redrive completed"
        );
    }
}

/// Returns whether the new version did better, or cannot be called for the delivery at all.
async fn one(pipeline: &Arc<Pipeline>, held: HeldDelivery) -> bool {
    match worker::retry(pipeline, held).await {
        (Some(DeliveryStatus::Parked), _) => false,
        (Some(DeliveryStatus::Failed), next_attempt_at) => next_attempt_at.is_none(),
        _ => true,
    }
}
