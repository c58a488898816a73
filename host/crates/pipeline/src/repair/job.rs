//! Works on the open repair until shutdown, on one host at a time. A host that stops, or loses the
//! job, leaves the repair to the next one.

use super::pass::RepairPass;
use super::{replaying, undoing};
use crate::fleet::FleetJob;
use crate::prelude::*;
use crate::rounds::Rounds;
use leadhost_domain::repair::RepairState;

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut job = FleetJob::new("repairs");
    let mut rounds = Rounds::new("repair interrupted, retrying");
    while !shutdown.has_begun() {
        let round = Box::pin(step(&pipeline, &shutdown, &mut job)).await;
        rounds
            .ended(round, &pipeline.repairs.begun, &shutdown)
            .await;
    }
    job.leave(&pipeline).await;
}

/// Works on the open repair, if this host has the job. Returns whether one was open.
async fn step(
    pipeline: &Arc<Pipeline>,
    shutdown: &Shutdown,
    job: &mut FleetJob,
) -> Result<bool, StoreError> {
    let Some(open) = pipeline.store.open_repair().await? else {
        job.leave(pipeline).await;
        return Ok(false);
    };
    if job.hold(pipeline).await?.is_none() {
        return Ok(true);
    }
    // From now on, commits of a host that had the job before have no effect.
    let Some(repair) = pipeline.store.take_repair(&open).await? else {
        return Ok(true);
    };
    let mut pass = RepairPass::new(pipeline, shutdown, job, repair);
    match pass.repair.state {
        RepairState::Undoing => undoing::run(&mut pass).await?,
        _ => replaying::run(&mut pass).await?,
    }
    Ok(true)
}
