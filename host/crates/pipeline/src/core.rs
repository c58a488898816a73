//! The base layer that everything above the store and the plugins shares. It knows neither
//! HTTP nor the pipeline.

use std::pin::Pin;

use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::prelude::*;
use leadhost_config::Config;
use leadhost_domain::clock::SharedClock;
use leadhost_egress::Egress;
use leadhost_egress::seal::Sealer;
use leadhost_plugin::{EngineError, Plugins};
use leadhost_store::Store;
use leadhost_store::writer::Writer;
use leadhost_telemetry::{Metrics, TraceExport};
use leadhost_trace::{self as trace, Tracer};

pub struct Core {
    pub config: Config,
    pub clock: SharedClock,
    pub store: Arc<Store>,
    pub writer: Writer,
    pub sealer: Arc<Sealer>,
    pub plugins: Plugins,
    pub egress: Egress,
    pub metrics: Arc<Metrics>,
    pub traces: TraceExport,
    pub shutdown: Shutdown,
}

impl Core {
    pub fn new(
        config: Config,
        clock: SharedClock,
        store: Arc<Store>,
        sealer: Arc<Sealer>,
        shutdown: Shutdown,
    ) -> Result<Self, EngineError> {
        let plugins = Plugins::new(&config.plugins, &config.store.data_dir, Arc::clone(&clock))?;
        let metrics = Arc::new(Metrics::new());
        Ok(Self {
            writer: Writer::watched(Arc::clone(&store), config.store.writes_per_commit, {
                let metrics = Arc::clone(&metrics);
                move |commit| metrics.store.commit(commit)
            }),
            egress: Egress::new(Duration::from_secs(config.worker.fetch_seconds)),
            traces: TraceExport::start(&config.telemetry, HostId::new(clock.now())),
            plugins,
            metrics,
            config,
            clock,
            store,
            sealer,
            shutdown,
        })
    }

    pub fn tracer(&self) -> &Tracer {
        &self.traces.tracer
    }

    /// Runs a piece of work to its end even if the caller stops waiting for it: a sender that
    /// disconnects does not cancel it, and a shutdown waits for it. The work is a part of the caller's
    /// trace, and its log lines name the caller's request.
    pub fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let hold = self.shutdown.hold();
        // Spawning moves the future several times, and is compiled for each type of it.
        let work: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(work);
        let work = trace::carried(work);
        let working = async move {
            let output = work.await;
            drop(hold);
            output
        };
        tokio::spawn(working.in_current_span())
    }
}
