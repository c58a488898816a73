//! The wiring of a host: its core, the pipeline over the core, and the HTTP surfaces over
//! the pipeline.

use std::sync::Arc;

use crate::clock::SharedClock;
use crate::config::Config;
use crate::core::Core;
use crate::http::Http;
use crate::pipeline::Pipeline;
use crate::plugin::EngineError;
use crate::seal::Sealer;
use crate::shutdown::Shutdown;
use crate::store::Store;

/// One complete host.
#[derive(Clone)]
pub struct App {
    pub core: Arc<Core>,
    pub pipeline: Arc<Pipeline>,
    pub http: Arc<Http>,
}

impl App {
    /// Assembles the layers. Only the writer and the threads of the plugins run after it.
    ///
    /// # Errors
    ///
    /// [`EngineError`] if the plugin engine cannot be set up.
    pub fn new(
        config: Config,
        clock: SharedClock,
        store: Arc<dyn Store>,
        sealer: Arc<Sealer>,
        shutdown: Shutdown,
    ) -> Result<Self, EngineError> {
        let core = Arc::new(Core::new(config, clock, store, sealer, shutdown)?);
        let pipeline = Arc::new(Pipeline::new(Arc::clone(&core)));
        let http = Arc::new(Http::new(Arc::clone(&pipeline)));
        Ok(Self {
            core,
            pipeline,
            http,
        })
    }
}
