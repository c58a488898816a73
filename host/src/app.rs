//! The wiring of a host: its core, the pipeline over the core, and the HTTP surfaces over
//! the pipeline.

use std::sync::Arc;

use leadhost_http::Http;
use leadhost_pipeline::Pipeline;
use leadhost_pipeline::core::Core;

/// One complete host.
#[derive(Clone)]
pub struct App {
    pub core: Arc<Core>,
    pub pipeline: Arc<Pipeline>,
    pub http: Arc<Http>,
}

impl App {
    /// Assembles the layers over a core. Nothing runs yet beyond what the core started.
    pub fn new(core: Core) -> Self {
        let core = Arc::new(core);
        let pipeline = Arc::new(Pipeline::new(Arc::clone(&core)));
        let http = Arc::new(Http::new(Arc::clone(&pipeline)));
        Self {
            core,
            pipeline,
            http,
        }
    }
}
