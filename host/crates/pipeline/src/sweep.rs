//! Removes rows that are past their retention, in small steps behind live traffic, on one
//! host at a time.

use super::fleet::FleetJob;
use crate::prelude::*;
use leadhost_store::RetentionPeriods;

const PERIOD: Duration = Duration::from_secs(300);

/// Rows of a kind in one step, few enough not to delay requests.
const STEP: u32 = 500;

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let retention = RetentionPeriods {
        deliveries: pipeline.config.retention.deliveries(),
        quarantine: pipeline.config.retention.quarantine(),
    };
    let mut job = FleetJob::new("sweep");
    let mut due = Instant::now();
    while !shutdown.has_begun() {
        match step(&pipeline, &retention, &mut job, due).await {
            Ok(SweepStep::More) => {
                tokio::task::yield_now().await;
                continue;
            }
            Ok(SweepStep::Done) => due = Instant::now() + PERIOD,
            Ok(SweepStep::NotDue) => {}
            // The time of the last sweep on another host is not known.
            Ok(SweepStep::AnotherHost) => due = Instant::now(),
            Err(error) if error.is_logged() => {}
            Err(error) => tracing::warn!(%error, "sweep failed"),
        }
        // On a store that is not shared, no other host waits for the job.
        let rest = if pipeline.store.is_shared() {
            FleetJob::period()
        } else {
            PERIOD
        };
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = shutdown.begun() => {}
        }
    }
    job.leave(&pipeline).await;
}

enum SweepStep {
    More,
    Done,
    NotDue,
    AnotherHost,
}

async fn step(
    pipeline: &Pipeline,
    retention: &RetentionPeriods,
    job: &mut FleetJob,
    due: Instant,
) -> Result<SweepStep, StoreError> {
    // Idempotent: removing rows twice has no effect, so the fencing token is not checked.
    if job.hold(pipeline).await?.is_none() {
        return Ok(SweepStep::AnotherHost);
    }
    if Instant::now() < due {
        return Ok(SweepStep::NotDue);
    }
    let (store, now) = (&pipeline.store, pipeline.clock.now());
    let audited = now.minus(pipeline.config.retention.audit());
    let mut removed = store.sweep(retention, now, STEP).await?;
    removed += store.remove_audit(audited, now, STEP).await?;
    if removed == 0 {
        return Ok(SweepStep::Done);
    }
    tracing::debug!(removed, "rows past their retention removed");
    Ok(SweepStep::More)
}
