//! Counts, and how current they are.

use leadhost_domain::time::Micros;
use leadhost_store::{RollupState, is_stale};

/// The freshness of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    pub as_of: Option<Micros>,
    pub stale: bool,
}

impl Fresh {
    pub fn from_state(state: &RollupState, now: Micros) -> Self {
        Self {
            as_of: state.as_of,
            stale: is_stale(state.as_of, now),
        }
    }
}
