//! Rollouts of versions. Operators start and change them ([`operate`]), every host follows them
//! ([`follow`]), compares deliveries after they were answered ([`sampling`]), and one host at a
//! time judges them ([`judge`]).

pub mod error;
mod follow;
mod judge;
pub mod operate;
mod sampling;
pub mod status;
pub mod step;

pub use error::RolloutError;
pub use operate::{RolloutOrder, StartedRollout};
pub use status::RolloutStatus;

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::state::Pipeline;
use leadhost_config::shutdown::Shutdown;

pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> [JoinHandle<()>; 2] {
    [
        tokio::spawn(follow::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(judge::run(Arc::clone(pipeline), shutdown.clone())),
    ]
}
