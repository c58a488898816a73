//! What a request or a worker can reach. Wiring only: who makes the parts is
//! `main`, what they do is their own.

use std::sync::Arc;

use crate::clock::SharedClock;
use crate::config::Config;
use crate::http::Http;
use crate::shutdown::Shutdown;
use crate::store::Store;
use crate::telemetry::Metrics;

pub struct App {
    pub config: Config,
    pub clock: SharedClock,
    pub store: Arc<dyn Store>,
    pub metrics: Arc<Metrics>,
    pub shutdown: Shutdown,
    /// What the surfaces remember between requests.
    pub http: Http,
}
