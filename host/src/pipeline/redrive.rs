//! After an activation: what the versions before it failed on is tried again,
//! oldest first, a few at a time, behind live traffic. It stops when the new
//! version fails on everything too.

use std::sync::Arc;
use std::time::Duration;

use super::worker;
use crate::app::App;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::plugin::Digest;
use crate::plugin::Budget;
use crate::store::{HeldDelivery, Mode, Reconversion, StoreError};

/// Deliveries tried between two looks at how it goes.
const STEP: u32 = 8;

/// Between two attempts while the store does not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// Goes on with what a stop or a crash cut short.
pub async fn resume(app: Arc<App>) {
    match app.store.activations().await {
        Ok(activations) => {
            for activation in activations {
                run(&app, &activation.name, &activation.digest).await;
            }
        }
        Err(error) => {
            tracing::warn!(%error, "failed deliveries cannot be tried again now");
        }
    }
}

pub async fn run(app: &Arc<App>, plugin: &str, digest: &Digest) {
    let mut redriven = 0u64;
    let serves = |app: &App| {
        let active = app.plugins.active(plugin);
        active.is_some_and(|active| active.digest == *digest)
    };
    // Another activation has a redrive of its own, and the next start goes on.
    while serves(app) && !app.shutdown.has_begun() {
        let now = app.clock.now();
        let until = now.plus_seconds(app.config.worker.lease_seconds);
        let held = match app
            .store
            .claim_failed(plugin, digest, STEP, now, until)
            .await
        {
            Ok(held) => held,
            Err(StoreError::Lost(_) | StoreError::Unavailable(_) | StoreError::Busy) => {
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => continue,
                    () = app.shutdown.begun() => return,
                }
            }
            Err(error) => {
                return tracing::warn!(plugin, %error, "failed deliveries cannot be tried again now");
            }
        };
        if held.is_empty() {
            break;
        }
        let mut better = 0;
        for held in held {
            redriven += 1;
            if one(app, held).await {
                better += 1;
            }
        }
        if better == 0 {
            return tracing::warn!(
                plugin,
                digest = digest.short(),
                "the new version fails on what the old one failed on; the rest waits"
            );
        }
    }
    if redriven > 0 {
        tracing::info!(
            plugin,
            digest = digest.short(),
            redriven,
            "failed deliveries were tried again with the new version"
        );
    }
}

/// Whether the new version did better.
async fn one(app: &Arc<App>, held: HeldDelivery) -> bool {
    let result = worker::reconvert(app, &held, Budget::Worker).await;
    let failed = matches!(
        result.status,
        Some(DeliveryStatus::Failed | DeliveryStatus::Parked)
    );
    let conversion = Reconversion {
        delivery: held.delivery.id,
        lease: held.lease,
        mode: Mode::Retry,
        result,
        part: None,
    };
    worker::settle_conversion(app, conversion).await;
    !failed
}
