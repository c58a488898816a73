//! The making of warm instances: when one is made, and on which threads.

use super::abi::of_either;
use super::instance::{self, Allowance};
use super::runtime::PluginRuntime;
use super::schedule::{Evicted, PluginTask};
use super::warm::WarmInstances;
use crate::prelude::*;

/// The lane in which warm instances are made, beside the connections' lanes.
const WARM_LANE: &str = "(warm)";

impl PluginRuntime {
    /// Wants a warm instance of this version from now on, which was just activated, and none of
    /// the version before it.
    pub(super) fn warm_from_now_on(
        self: &Arc<Self>,
        loaded: &Arc<Loaded>,
        before: Option<&Arc<Loaded>>,
    ) {
        if let Some(before) = before
            && !Arc::ptr_eq(before, loaded)
        {
            before.cool();
        }
        if let Some(warm) = loaded.warm.get() {
            warm.want(&self.warm);
            self.keep_warm(loaded);
        }
    }

    /// Has an instance made if the version lacks one, on the plugins' threads.
    pub(super) fn keep_warm(self: &Arc<Self>, loaded: &Arc<Loaded>) {
        let Some(warm) = loaded.warm.get() else {
            return;
        };
        if !warm.begin_making() {
            return;
        }
        self.warm.add(warm);
        let making = WarmingInstance(Arc::clone(warm));
        let (runtime, loaded) = (Arc::downgrade(self), Arc::clone(loaded));
        let digest = loaded.digest.clone();
        let future = Box::pin(async move {
            let making = making;
            if let Some(runtime) = runtime.upgrade() {
                runtime.make(&loaded, &making.0).await;
            }
        });
        let evicted = Arc::new(Evicted::default());
        let task = PluginTask { future, evicted };
        // If it is not taken, the next call asks for it again.
        let _ = self.threads.submit(WARM_LANE, &digest, true, task);
    }

    async fn make(&self, loaded: &Loaded, warm: &WarmInstances) {
        match self.warmed(loaded, warm).await {
            Ok(store) => warm.keep(&self.warm, store),
            Err(error) if error.is_fault() => {
                warm.give_up();
                tracing::warn!(
                    plugin = loaded.description.name,
                    version = loaded.description.version,
                    %error,
                    "plugin failed its golden case while a warm instance was made; its calls start \
                     cold until it is activated again"
                );
            }
            // Other calls use all the memory now: a later call asks for it again.
            Err(_) => {}
        }
    }

    async fn warmed(
        &self,
        loaded: &Loaded,
        warm: &WarmInstances,
    ) -> Result<Store<InstanceState>, CallError> {
        let handle = Arc::new(CallHandle::default());
        let running = self.ticker.guest_runs();
        let environment = loaded.imports_wasi.then(CallEnvironment::before_a_call);
        let environment = environment.as_ref();
        let mut store = instance::store(&self.engine, self.memory, &self.pool, environment);
        let allowance = Allowance {
            memory: self.memory,
            output: self.output,
            time: self.deadline,
            inline: false,
            code: self.code,
        };
        instance::begin(&mut store, allowance, &handle);
        let warmed = of_either!(&loaded.guest, warm_up(&mut store, warm.case()));
        drop(running);
        instance::conclude(&store, allowance, warmed).map(|_| store)
    }
}

/// A version one of whose instances is being made. It is dropped when that has ended, however.
struct WarmingInstance(Arc<WarmInstances>);

impl Drop for WarmingInstance {
    fn drop(&mut self) {
        self.0.end_making();
    }
}
