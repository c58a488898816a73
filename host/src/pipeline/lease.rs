//! A lease on a piece of work, and the commit of its result.

use std::time::{Duration, Instant};

use super::state::Pipeline;
use super::{greeting, parts};
use crate::clock;
use crate::store::{Reconversion, StoreError, Write, WriteOutcome};

/// The end of a lease, by a clock that counts suspension too. After it another host may have
/// claimed the work.
#[derive(Clone, Copy, Debug)]
pub struct LeaseDeadline {
    until: Duration,
}

impl LeaseDeadline {
    /// Returns a lease that begins now.
    pub fn lasting(lease: Duration) -> Self {
        Self {
            until: clock::boot() + lease,
        }
    }

    /// Returns whether the lease has expired.
    pub fn has_ended(self) -> bool {
        clock::boot() >= self.until
    }
}

/// Commits the result of a piece of work. If the store does not answer, the lease expires and
/// the work is repeated; deduplication makes it one lead.
pub async fn settle(pipeline: &Pipeline, write: Write) {
    let committing = Instant::now();
    let written = pipeline.core.writer.submit_background(write).await;
    if let Ok(WriteOutcome::Done(outcome)) = &written {
        greeting::trace_stored(&outcome.greeted, committing);
    }
    settled(pipeline, written);
}

/// Commits the result of a conversion, in parts if it is large.
pub async fn settle_conversion(pipeline: &Pipeline, conversion: Reconversion) {
    settled(pipeline, parts::commit(pipeline, conversion).await);
}

fn settled(pipeline: &Pipeline, written: Result<WriteOutcome, StoreError>) {
    match written {
        Ok(WriteOutcome::Done(outcome)) => {
            pipeline.core.metrics.intake.delivery(outcome.status);
            pipeline
                .core
                .metrics
                .intake
                .quarantine_evicted(outcome.evicted);
        }
        Ok(_) => tracing::debug!("lease expired, another host has the work"),
        Err(error) if error.is_logged() => {}
        Err(error) => {
            tracing::warn!(%error, "result not committed, retrying after the lease expires")
        }
    }
}
