//! The state of the pipeline between requests.

use std::ops::Deref;

use tokio::sync::Notify;

use super::activity::ActivityCounter;
use super::catalogue::index_cache::Catalogue;
use super::connections::ConnectionCache;
use super::delivery_turns::DeliveryTurns;
use super::fleet::state::FleetMembership;
use super::keys::KeyCache;
use super::repair::Repairs;
use super::rollout::state::Rollouts;
use super::rollup::state::Rollup;
use super::source_changes::SourceChanges;
use super::templates::lists::TemplateCache;
use super::troubles::Troubles;
use super::verify::progress::Verifications;
use super::waiting_deliveries::WaitingDeliveries;
use crate::prelude::*;
use leadhost_plugin::BoundedQueue;

/// The shared state of the pipeline, one per host, over the [`Core`].
pub struct Pipeline {
    pub core: Arc<Core>,
    pub activity: ActivityCounter,
    pub catalogue: Catalogue,
    pub connections: ConnectionCache,
    pub fleet: FleetMembership,
    pub keys: KeyCache,
    pub repairs: Repairs,
    pub rollouts: Rollouts,
    pub rollup: Rollup,
    pub source_changes: SourceChanges,
    pub templates: TemplateCache,
    pub troubles: Troubles,
    pub turns: DeliveryTurns,
    /// Signals work that was stored and is due now.
    pub(super) wake: Notify,
    pub waiting: WaitingDeliveries,
    /// Verifications, which are many conversions each.
    pub(super) verifications: BoundedQueue,
    /// The progress of those that run now.
    pub verifying: Verifications,
    /// Held during an activation: one runs at a time.
    pub(super) deploying: tokio::sync::Mutex<()>,
}

impl Deref for Pipeline {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Pipeline {
    pub fn new(core: Arc<Core>) -> Self {
        let (config, store) = (&core.config, &core.store);
        Self {
            activity: ActivityCounter::default(),
            catalogue: Catalogue::new(config.search.memory_mib),
            turns: DeliveryTurns::new(limits::TURNS_PER_WRITE * store.writes_of_one()),
            connections: ConnectionCache::new(Arc::clone(store), Arc::clone(&core.sealer)),
            fleet: FleetMembership::new(&config.server, core.clock.now()),
            keys: KeyCache::default(),
            repairs: Repairs::default(),
            rollouts: Rollouts::default(),
            rollup: Rollup::default(),
            source_changes: SourceChanges::default(),
            templates: TemplateCache::default(),
            troubles: Troubles::default(),
            wake: Notify::new(),
            waiting: WaitingDeliveries::default(),
            verifications: BoundedQueue::new(
                limits::VERIFICATIONS_AT_ONCE,
                limits::VERIFICATIONS_WAITING,
            ),
            verifying: Verifications::default(),
            deploying: tokio::sync::Mutex::new(()),
            core,
        }
    }

    pub async fn connections_using(&self, plugin: &str) -> Result<Vec<Connection>, StoreError> {
        let mut connections = self.store.connections(None).await?;
        connections.retain(|connection| connection.plugin == plugin);
        Ok(connections)
    }

    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Counts a delivery that waits, and wakes the worker.
    pub(super) fn one_more_waits(&self, connection: &ConnectionId) {
        self.waiting.one_more(connection);
        self.wake();
    }
}
