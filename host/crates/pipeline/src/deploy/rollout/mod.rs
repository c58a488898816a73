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

use crate::prelude::*;
use tokio::task::JoinHandle;

pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> [JoinHandle<()>; 2] {
    [
        tokio::spawn(follow::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(judge::run(Arc::clone(pipeline), shutdown.clone())),
    ]
}
