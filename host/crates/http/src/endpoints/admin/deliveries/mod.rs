//! Deliveries: what senders sent, and its outcome.

pub mod capture;
pub mod golden;
pub mod list;
pub mod replay;
pub mod replay_many;
pub mod show;

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::ApiError;
use leadhost_admin_api::deliveries::{DeliveryFacts, RequestView};
use leadhost_domain::connection::ConnectionKind;
use leadhost_domain::id::{AgentId, ConnectionId, DeliveryId};
use leadhost_store::{DeliverySummary, NewDelivery, Store, StoreError};

/// The instances of channels: a delivery of a channel is its provider's webhook.
struct Channels(HashMap<ConnectionId, Option<AgentId>>);

impl Channels {
    async fn load(store: &Store) -> Result<Self, StoreError> {
        let channels = store
            .connections(None)
            .await?
            .into_iter()
            .filter(|one| one.kind == ConnectionKind::Channel)
            .map(|one| (one.id, one.agent));
        Ok(Self(channels.collect()))
    }

    /// Returns what a list and a single answer say about a delivery.
    fn facts(&self, delivery: DeliverySummary) -> DeliveryFacts {
        let instance = self.0.get(&delivery.connection_id).copied().flatten();
        DeliveryFacts {
            id: delivery.id,
            connection_id: delivery.connection_id,
            connection: delivery.connection,
            instance_id: instance,
            received_at: delivery.received_at,
            status: delivery.status,
            bytes: delivery.bytes,
            attempts: delivery.attempts,
            ran: delivery.ran,
            error: delivery.error,
        }
    }
}

/// Returns a request as it is stored.
fn request_view(request: NewDelivery) -> RequestView {
    let (body, body_base64) = text_or_base64(request.body.into());
    RequestView {
        method: request.method,
        path: request.path,
        query: request.query,
        headers: request.headers,
        body,
        body_base64,
    }
}

/// Returns bytes as text if they are UTF-8, and in base64 otherwise.
fn text_or_base64(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    }
}

fn parse_id(text: &str) -> Result<DeliveryId, ApiError> {
    text.parse().map_err(|_| unknown(text))
}

fn unknown(text: &str) -> ApiError {
    ApiError::NotFound(format!(
        "There is no delivery `{text}`; `leadhost delivery list` shows those that exist."
    ))
}
