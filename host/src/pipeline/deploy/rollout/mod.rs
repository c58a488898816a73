//! Rollouts of versions. Operators start and change them ([`operate`]), every host follows them
//! ([`follow`]), compares deliveries after they were answered ([`sampling`]), and one host at a
//! time judges them ([`judge`]).

mod follow;
mod judge;
pub mod operate;
mod sampling;
pub mod status;

pub use operate::{RolloutError, RolloutOrder, StartedRollout};
pub use status::RolloutStatus;

use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinHandle;

use crate::domain::audit::{Act, AuditActor};
use crate::domain::rollout::{Rollout, RolloutStage};
use crate::pipeline::fleet;
use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;
use crate::store::{Announcement, StoreError};

/// Starts following and judging.
pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> [JoinHandle<()>; 2] {
    [
        tokio::spawn(follow::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(judge::run(Arc::clone(pipeline), shutdown.clone())),
    ]
}

/// Announces a change of a rollout to every host.
async fn announce(pipeline: &Pipeline) {
    fleet::announce(pipeline, Announcement::Plugins).await;
}

/// The service itself, which judges rollouts.
fn service() -> AuditActor {
    AuditActor::service("service")
}

/// Adds a change of a rollout to the audit, by the service or by an operator. A rollback names the
/// guard that tripped.
async fn record(
    pipeline: &Pipeline,
    rollout: &Rollout,
    act: &str,
    by: &AuditActor,
) -> Result<(), StoreError> {
    let why = match rollout.stage {
        RolloutStage::RolledBack => "guard",
        _ => "why",
    };
    let detail = json!({
        "candidate": rollout.candidate,
        "stable": rollout.stable,
        "stage": rollout.stage,
        "percent": rollout.last_share(),
        why: rollout.why,
    });
    let now = pipeline.core.clock.now();
    let row = Act::done(by.clone(), now, (act, &rollout.name), &detail);
    pipeline.core.store.add_audit(row).await.map(|_row| ())
}
