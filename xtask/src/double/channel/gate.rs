//! The gate at which sends hang until they are released or the double ends.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::double::server::locked;

#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    releases: u64,
    waiting: usize,
    /// Open for good: the double ends.
    open: bool,
}

impl Gate {
    /// Waits. Returns whether it was released, rather than opened for good.
    pub fn wait(&self) -> bool {
        let mut state = locked(&self.state);
        let before = state.releases;
        state.waiting += 1;
        let mut state = self
            .changed
            .wait_while(state, |state| state.releases == before && !state.open)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.releases != before
    }

    pub fn waiting(&self) -> usize {
        locked(&self.state).waiting
    }

    /// Lets the sends go that wait now; later ones wait again.
    pub fn release(&self) {
        locked(&self.state).releases += 1;
        self.changed.notify_all();
    }

    pub fn open(&self) {
        locked(&self.state).open = true;
        self.changed.notify_all();
    }
}
