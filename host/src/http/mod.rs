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
mod budget;
mod closing;
mod conditional;
mod crowd;
pub mod decoding;
mod encoding;
pub mod endpoints;
pub mod error;
mod failures;
mod feed;
mod head;
mod http2;
mod idempotency;
mod io;
mod json;
mod lines;
pub mod openapi;
mod operators;
mod pace;
pub mod payload;
mod peer;
mod pieces;
pub mod presence;
pub mod query;
pub mod rate;
pub mod reply;
pub mod request_id;
pub mod route;
pub mod router;
pub mod server;
mod tls;
pub mod zod;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::domain::id::{ConnectionId, PartnerId};
use crate::domain::time::Micros;
use crate::limits;

/// What the surfaces remember between requests.
pub struct Http {
    /// Who is connected, over the gateway's and the data API's addresses.
    crowd: Arc<crowd::Crowd>,
    /// The admin surface has places of its own, so that a crowd outside does not lock
    /// operators out; and room for their bodies.
    operators: Arc<crowd::Crowd>,
    bodies: Arc<budget::Budget>,
    operators_bodies: Arc<budget::Budget>,
    /// Of large answers that clients have not taken yet.
    answers: Arc<budget::Budget>,
    failures: failures::Failures,
    connection_pace: pace::Pace<ConnectionId>,
    partner_pace: pace::Pace<PartnerId>,
    pub keys: auth::KeyCache,
    pub rate: rate::RateLimiter,
}

impl Http {
    pub fn new(config: &Config) -> Self {
        let server = &config.server;
        let operators = limits::ADMIN_CONNECTIONS;
        let component = config.plugins.component_mib << 20;
        Self {
            crowd: Arc::new(crowd::Crowd::new(
                server.connections,
                server.connections_per_peer,
                Duration::from_millis(limits::RESTS_MS),
            )),
            operators: Arc::new(crowd::Crowd::new(operators, operators, Duration::ZERO)),
            bodies: Arc::new(budget::Budget::configured(server)),
            operators_bodies: Arc::new(budget::Budget::whole(
                2 * component.max(limits::ADMIN_BODY_BYTES),
            )),
            answers: Arc::new(budget::Budget::of_answers(server)),
            failures: failures::Failures::new(server.failed_keys),
            connection_pace: pace::Pace::new(config.intake.connection_rate, Micros::SECOND),
            partner_pace: pace::Pace::new(server.partner_rate, Micros::MINUTE),
            keys: auth::KeyCache::default(),
            rate: rate::RateLimiter::default(),
        }
    }
}
