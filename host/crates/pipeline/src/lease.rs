//! A lease on a piece of work, and the commit of its result.

use std::pin::pin;

use super::{greeting, parts};
use crate::prelude::*;
use leadhost_domain::clock;
use leadhost_store::{HeldDelivery, Reconversion};

/// The end of a lease, by a clock that counts suspension too. After it another host may have
/// claimed the work.
#[derive(Clone, Copy, Debug)]
pub struct LeaseDeadline {
    until: Duration,
}

impl LeaseDeadline {
    pub fn lasting(lease: Duration) -> Self {
        Self {
            until: clock::boot() + lease,
        }
    }

    pub fn has_ended(self) -> bool {
        clock::boot() >= self.until
    }
}

/// Runs the conversion of a delivery, and renews the lease on it whenever half of it is over. A
/// conversion that takes longer than a lease would otherwise be claimed again and again, each time
/// before its result is committed.
pub async fn renewed<T>(
    pipeline: &Pipeline,
    held: &HeldDelivery,
    conversion: impl Future<Output = T>,
) -> T {
    let lasts = pipeline.config.worker.lease();
    let renewing = async {
        loop {
            tokio::time::sleep(lasts / 2).await;
            let renewal = Write::Renew {
                delivery: held.delivery.id,
                lease: held.lease,
                until: pipeline.clock.now().plus(lasts),
            };
            // Not behind other writes: they could take longer than the rest of the lease. If the
            // store does not answer now, the next one may still be in time.
            if let Ok(WriteOutcome::Stale) = pipeline.writer.submit(renewal).await {
                return;
            }
        }
    };
    let mut conversion = pin!(conversion);
    tokio::select! {
        converted = &mut conversion => return converted,
        () = renewing => {}
    }
    conversion.await
}

/// Commits the result of a piece of work. If the store does not answer, the lease expires and
/// the work is repeated; deduplication makes it one lead. Returns whether this result is stored.
pub async fn settle(pipeline: &Pipeline, write: Write) -> bool {
    let committing = Instant::now();
    let written = pipeline.writer.submit_background(write).await;
    if let Ok(WriteOutcome::Done(outcome)) = &written {
        greeting::trace_stored(&outcome.greeted, committing);
    }
    let is_stored = matches!(written, Ok(WriteOutcome::Done(_)));
    settled(pipeline, written);
    is_stored
}

pub async fn settle_conversion(pipeline: &Pipeline, conversion: Reconversion) {
    settled(pipeline, parts::commit(pipeline, conversion).await);
}

fn settled(pipeline: &Pipeline, written: Result<WriteOutcome, StoreError>) {
    match written {
        Ok(WriteOutcome::Done(outcome)) => {
            pipeline.metrics.intake.delivery(outcome.status);
            pipeline.metrics.intake.quarantine_evicted(outcome.evicted);
        }
        Ok(_) => tracing::debug!("lease expired, another host has the work"),
        Err(error) if error.is_logged() => {}
        Err(error) => {
            tracing::warn!(%error, "result not committed, retrying after the lease expires")
        }
    }
}
