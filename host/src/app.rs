//! What a request or a worker can reach. Wiring only: what the parts do is
//! their own.

use std::path::Path;
use std::sync::Arc;

use crate::clock::SharedClock;
use crate::config::Config;
use crate::http::Http;
use crate::pipeline::Pipeline;
use crate::pipeline::fleet::Fleet;
use crate::plugin::{EngineError, Plugins};
use crate::seal::Sealer;
use crate::shutdown::Shutdown;
use crate::store::Store;
use crate::store::writer::Writer;
use crate::telemetry::Metrics;

pub struct App {
    pub config: Config,
    pub clock: SharedClock,
    pub store: Arc<dyn Store>,
    /// The way of a lead writes through this, many requests in one commit.
    pub writer: Writer,
    pub sealer: Arc<Sealer>,
    pub plugins: Plugins,
    pub pipeline: Pipeline,
    /// This host among those that work on the same store.
    pub fleet: Fleet,
    pub metrics: Arc<Metrics>,
    pub shutdown: Shutdown,
    /// What the surfaces remember between requests.
    pub http: Http,
}

impl App {
    /// Puts the parts together. Nothing runs yet but the writer and the
    /// threads of the plugins.
    pub fn new(
        config: Config,
        clock: SharedClock,
        store: Arc<dyn Store>,
        sealer: Arc<Sealer>,
        shutdown: Shutdown,
    ) -> Result<Arc<Self>, EngineError> {
        let data_dir: &Path = &config.store.data_dir;
        let plugins = Plugins::new(&config.plugins, data_dir, Arc::clone(&clock))?;
        let metrics = Arc::new(Metrics::new());
        Ok(Arc::new(Self {
            writer: Writer::watched(Arc::clone(&store), config.store.writes_per_commit, {
                let metrics = Arc::clone(&metrics);
                move |commit| metrics.commit(commit)
            }),
            pipeline: Pipeline::new(&config, Arc::clone(&store), Arc::clone(&sealer)),
            http: Http::new(&config),
            fleet: Fleet::new(&config.server, clock.now()),
            plugins,
            metrics,
            config,
            clock,
            store,
            sealer,
            shutdown,
        }))
    }
}
