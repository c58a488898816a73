//! This host as one of the hosts that share a store.
//!
//! Every host sends heartbeats that report its active versions, polls which versions it
//! should run, and prepares proposed ones; announcements only trigger a poll at once. A
//! host that the others must consider dead, because it was stopped or cut off, begins no
//! work until it has polled again, so that no call begins on a version that the fleet has
//! left. A host alone on its store does none of this.

mod activations;
mod announcements;
mod jobs;
mod lead;
pub(super) mod state;

use std::sync::atomic::Ordering;

use crate::prelude::*;
use tokio::task::JoinHandle;

pub use activations::join;
pub use announcements::announce;
pub use jobs::FleetJob;
pub use lead::{FleetError, hosts_that_serve};
pub(super) use lead::{converged, flip, flip_in_rollout};

pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> Vec<JoinHandle<()>> {
    if !pipeline.store.is_shared() || pipeline.fleet.started.swap(true, Ordering::Relaxed) {
        return Vec::new();
    }
    vec![
        tokio::spawn(activations::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(announcements::run(Arc::clone(pipeline), shutdown.clone())),
    ]
}
