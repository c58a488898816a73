//! This host among those that work on the same store.
//!
//! Every host gives a sign of life with what it serves, looks what it should
//! serve, and prepares what is proposed; announcements only make it look at once.
//! A host that the others must take for dead, because it was stopped or cut off,
//! begins nothing until it has looked again: so no call begins on a version that
//! the fleet has left. A host alone on its store does none of this.

mod follow;
mod hear;
mod jobs;
mod lead;
pub(super) mod state;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinHandle;

pub use follow::join;
pub use hear::tell;
pub use jobs::Job;
pub use lead::{Behind, FleetError, where_it_serves};
pub(super) use lead::{converged, flip};

use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;

/// Starts what keeps this host with the others, once.
pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> Vec<JoinHandle<()>> {
    if !pipeline.core.store.is_shared() || pipeline.fleet.started.swap(true, Ordering::Relaxed) {
        return Vec::new();
    }
    vec![
        tokio::spawn(follow::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(hear::run(Arc::clone(pipeline), shutdown.clone())),
    ]
}
