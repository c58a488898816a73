//! Timeouts of conversations: a conversation without an answer becomes `no_response`, and
//! is transferred to people if that was requested; an idle one closes. One host runs this
//! at a time, in batches behind live traffic. Each change is decided again under the write
//! lock, so that an answer that arrives meanwhile wins.

use tokio::task::JoinSet;

use super::fleet::FleetJob;
use crate::prelude::*;

/// Between two checks: timeouts have a resolution of a second.
const PERIOD: Duration = Duration::from_secs(1);

/// Conversations per check: a few commits.
const STEP: u32 = 500;

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut job = FleetJob::new("unanswered");
    let mut held_until = Instant::now();
    while !shutdown.has_begun() {
        match step(&pipeline, &mut job, &mut held_until).await {
            Ok(0) => {}
            Ok(changed) => {
                tracing::debug!(changed, "due conversations updated");
                continue;
            }
            Err(error) if error.is_logged() => {}
            Err(error) => tracing::warn!(%error, "due conversations not updated"),
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = shutdown.begun() => {}
        }
    }
    job.leave(&pipeline).await;
}

async fn step(
    pipeline: &Arc<Pipeline>,
    job: &mut FleetJob,
    held_until: &mut Instant,
) -> Result<usize, StoreError> {
    if pipeline.store.outage().is_some() || !pipeline.fleet.is_current() {
        return Ok(0);
    }
    // Idempotent: applying a timeout twice has no effect, so the fencing token is not
    // checked.
    let now = Instant::now();
    if now >= *held_until {
        if job.hold(pipeline).await?.is_none() {
            return Ok(0);
        }
        *held_until = now + FleetJob::period();
    }
    let due = pipeline
        .store
        .conversations_due(pipeline.clock.now(), STEP)
        .await?;
    // Submitted together, so that the writer commits them together.
    let mut writes = JoinSet::new();
    for elapse in due {
        let pipeline = Arc::clone(pipeline);
        writes.spawn(async move {
            let write = Write::Elapse(elapse);
            pipeline.writer.submit_background(write).await
        });
    }
    let mut changed = 0;
    while let Some(written) = writes.join_next().await {
        match written {
            Ok(Ok(WriteOutcome::Elapsed(true))) => changed += 1,
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(error),
            Err(error) => tracing::error!(%error, "conversation update did not finish"),
        }
    }
    Ok(changed)
}
