//! Deliveries: what senders sent, and its outcome.

pub mod list;
pub mod replay;
pub mod show;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::domain::connection::ConnectionKind;
use crate::domain::id::{AgentId, ConnectionId, DeliveryId};
use crate::http::error::ApiError;
use crate::store::{DeliverySummary, Store, StoreError};

/// The instances of channels: a delivery of a channel is its provider's webhook.
struct Channels(HashMap<ConnectionId, Option<AgentId>>);

impl Channels {
    async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let channels = store
            .connections(None)
            .await?
            .into_iter()
            .filter(|one| one.kind == ConnectionKind::Channel)
            .map(|one| (one.id, one.agent));
        Ok(Self(channels.collect()))
    }

    /// Returns the delivery with `instanceId`, which is null if it came from a source. If it
    /// came from a channel, `connection` is the instance's name.
    fn shown(&self, delivery: &DeliverySummary) -> Result<Value, ApiError> {
        let mut shown = serde_json::to_value(delivery).map_err(ApiError::internal)?;
        let instance = self.0.get(&delivery.connection_id).copied().flatten();
        shown["instanceId"] = json!(instance);
        Ok(shown)
    }
}

fn parse_id(text: &str) -> Result<DeliveryId, ApiError> {
    text.parse()
        .map_err(|_| ApiError::NotFound(format!("There is no delivery `{text}`.")))
}
