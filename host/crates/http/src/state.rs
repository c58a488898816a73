//! The state that the surfaces keep between requests.

use tokio::sync::Semaphore;

use super::console::sessions::Sessions;
use super::endpoints::admin::audit::refused::RefusedActs;
use super::refused_requests::RefusedRequestCounter;
use super::{budget, connection_limit, failures, rate};
use crate::prelude::*;
use leadhost_admin_api::identity::ServiceSecret;
use leadhost_domain::id::{KeyId, PartnerId};
use leadhost_pipeline::Pipeline;
use leadhost_pipeline::core::Core;
use leadhost_pipeline::local_rate::LocalRateLimiter;

/// The surfaces over the [`Pipeline`], one per host.
pub struct Http {
    pub core: Arc<Core>,
    pub pipeline: Arc<Pipeline>,
    /// By which commands with this host's data folder recognise it.
    pub secret: ServiceSecret,
    /// The open connections of the gateway's and the data API's addresses.
    pub(super) connection_limit: Arc<connection_limit::ConnectionLimit>,
    /// The admin surface has separate bounds on connections and on bodies, so that outside clients
    /// cannot lock operators out.
    pub(super) admin_connections: Arc<connection_limit::ConnectionLimit>,
    pub(super) bodies: Arc<budget::ByteBudget>,
    pub(super) admin_bodies: Arc<budget::ByteBudget>,
    /// The budget of large answers that clients have not read yet.
    pub(super) answers: Arc<budget::ByteBudget>,
    pub(super) failures: failures::AuthFailures,
    pub(super) connection_rate: LocalRateLimiter<ConnectionId>,
    pub(super) partner_rate: LocalRateLimiter<PartnerId>,
    pub(super) admin_rate: LocalRateLimiter<KeyId>,
    pub rate: rate::RateLimiter,
    pub(super) sessions: Sessions,
    pub(super) refused_requests: RefusedRequestCounter,
    pub(super) refused_acts: RefusedActs,
    /// The places of the console's streams.
    pub(super) console_streams: Arc<Semaphore>,
}

impl Http {
    /// Returns the state at the start: no connections, and the bounds of the configuration.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        let core = Arc::clone(&pipeline.core);
        let (config, server) = (&core.config, &core.config.server);
        let admin = limits::ADMIN_CONNECTIONS;
        let component = config.plugins.component_mib << 20;
        Self {
            secret: ServiceSecret::random(),
            connection_limit: Arc::new(connection_limit::ConnectionLimit::new(
                server.connections,
                server.connections_per_peer,
                limits::IDLE_BEFORE_CLOSING,
            )),
            admin_connections: Arc::new(connection_limit::ConnectionLimit::new(
                admin,
                admin,
                Duration::ZERO,
            )),
            bodies: Arc::new(budget::ByteBudget::configured(server)),
            admin_bodies: Arc::new(budget::ByteBudget::whole(
                2 * component.max(limits::ADMIN_BODY_BYTES),
            )),
            answers: Arc::new(budget::ByteBudget::for_answers(server)),
            failures: failures::AuthFailures::new(server.failed_keys),
            connection_rate: LocalRateLimiter::new(
                config.intake.connection_rate,
                Duration::from_secs(1),
            ),
            partner_rate: LocalRateLimiter::new(server.partner_rate, Duration::from_mins(1)),
            admin_rate: LocalRateLimiter::new(server.admin_rate, Duration::from_mins(1)),
            rate: rate::RateLimiter::default(),
            sessions: Sessions::default(),
            refused_requests: RefusedRequestCounter::default(),
            refused_acts: RefusedActs::default(),
            console_streams: Arc::new(Semaphore::new(limits::CONSOLE_STREAMS)),
            core,
            pipeline,
        }
    }
}
