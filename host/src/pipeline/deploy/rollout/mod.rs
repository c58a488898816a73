//! Rollouts of versions. Operators start and change them ([`operate`]), every host follows them
//! ([`follow`]), compares deliveries after they were answered ([`sampling`]), and one host at a
//! time judges them ([`judge`]).

mod follow;
mod judge;
pub mod operate;
mod sampling;
pub mod standing;

pub use operate::{Begun, Change, RolloutError, RolloutOrder};
pub use standing::Standing;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;

use crate::domain::audit::{Act, ActOutcome};
use crate::domain::rollout::Rollout;
use crate::pipeline::fleet;
use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;
use crate::store::{Announcement, StoreError};

/// Between two looks while a rollout is open.
const LOOK: Duration = Duration::from_secs(1);

/// Between two looks while none is, if no announcement arrives.
const REST: Duration = Duration::from_secs(5);

/// Starts following and judging.
pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> [JoinHandle<()>; 2] {
    [
        tokio::spawn(follow::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(judge::run(Arc::clone(pipeline), shutdown.clone())),
    ]
}

/// Tells every host of a change of a rollout.
async fn announce(pipeline: &Pipeline) {
    fleet::announce(pipeline, Announcement::Plugins).await;
}

/// Adds what the service itself did with a rollout to the audit.
async fn record(pipeline: &Pipeline, rollout: &Rollout, act: &str) -> Result<(), StoreError> {
    let row = Act {
        at: pipeline.core.clock.now(),
        key_id: None,
        label: "rollout".to_owned(),
        role: None,
        address: String::new(),
        act: act.to_owned(),
        target: rollout.name.clone(),
        outcome: ActOutcome::Done,
        begun: None,
        detail: json!({
            "candidate": rollout.candidate,
            "stable": rollout.stable,
            "stage": rollout.stage,
            "percent": rollout.percent(),
            "why": rollout.why,
        })
        .to_string(),
    };
    pipeline.core.store.add_audit(row).await.map(|_row| ())
}
