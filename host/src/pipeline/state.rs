//! The state of the pipeline between requests.

use std::sync::Arc;

use tokio::sync::Notify;

use super::catalogue::shelves::Catalogue;
use super::connections::Connections;
use super::fleet::state::Fleet;
use super::keys::Keys;
use super::rollup::state::Rollup;
use super::templates::lists::Templates;
use super::turns::Turns;
use super::waiting::Waiting;
use crate::core::Core;
use crate::domain::id::ConnectionId;
use crate::limits;

/// The shared state of the pipeline, one per host, over the [`Core`].
pub struct Pipeline {
    pub core: Arc<Core>,
    pub catalogue: Catalogue,
    pub connections: Connections,
    /// This host in the fleet.
    pub fleet: Fleet,
    pub keys: Keys,
    pub rollup: Rollup,
    pub templates: Templates,
    pub turns: Turns,
    /// Signals work that was stored and is due now.
    pub(super) wake: Notify,
    pub waiting: Waiting,
    /// Held during an activation: one runs at a time.
    pub(super) deploying: tokio::sync::Mutex<()>,
}

impl Pipeline {
    /// Returns the state at the start, with empty caches.
    pub fn new(core: Arc<Core>) -> Self {
        let (config, store) = (&core.config, &core.store);
        Self {
            catalogue: Catalogue::new(config.search.memory_mib),
            turns: Turns::new(limits::TURNS_PER_WRITE * store.writes_of_one()),
            connections: Connections::new(Arc::clone(store), Arc::clone(&core.sealer)),
            fleet: Fleet::new(&config.server, core.clock.now()),
            keys: Keys::default(),
            rollup: Rollup::default(),
            templates: Templates::default(),
            wake: Notify::new(),
            waiting: Waiting::default(),
            deploying: tokio::sync::Mutex::new(()),
            core,
        }
    }

    /// Wakes the worker for work that is due.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Counts a delivery that waits, and wakes the worker.
    pub(super) fn one_more_waits(&self, connection: &ConnectionId) {
        self.waiting.one_more(connection);
        self.wake();
    }
}
