//! The surfaces: gateway, data API and admin API, on hyper itself.
//!
//! A request passes one plain chain of functions: `server` (connection),
//! `answer` (request id, deadline, log, metrics), `route` (what is asked),
//! `router` (proof of who asks, then the endpoint). An endpoint returns a reply
//! or an [`error::ApiError`], which one match turns into the shape of its family.

pub mod accept;
pub mod answer;
pub mod auth;
pub mod body;
mod conditional;
pub mod encoding;
pub mod endpoints;
pub mod error;
mod feed;
mod idempotency;
mod io;
mod json;
mod lines;
pub mod openapi;
pub mod query;
pub mod rate;
pub mod reply;
pub mod request_id;
pub mod route;
pub mod router;
pub mod server;
pub mod zod;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::config::Config;
use crate::limits;

/// What the surfaces remember between requests.
pub struct Http {
    /// One permit a connection, over the gateway's and the data API's addresses.
    pub(crate) connections: Arc<Semaphore>,
    /// The admin surface has its own, so that a crowd outside does not lock operators out.
    pub(crate) admin_connections: Arc<Semaphore>,
    pub(crate) bodies: body::Budget,
    pub keys: auth::KeyCache,
    pub rate: rate::RateLimiter,
}

impl Http {
    pub fn new(config: &Config) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(config.server.connections)),
            admin_connections: Arc::new(Semaphore::new(limits::ADMIN_CONNECTIONS)),
            bodies: body::Budget::new(limits::BODY_BYTES_IN_FLIGHT),
            keys: auth::KeyCache::default(),
            rate: rate::RateLimiter::default(),
        }
    }
}
