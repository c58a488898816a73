pub mod capture;
pub mod golden;
pub mod list;
pub mod replay;
pub mod replay_many;
pub mod show;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::deliveries::{DeliveryFacts, RequestView};
use leadhost_domain::connection::ConnectionKind;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_store::{DeliverySummary, NewDelivery};

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

    fn facts(&self, delivery: DeliverySummary) -> DeliveryFacts {
        let instance = self.0.get(&delivery.connection_id).copied().flatten();
        view! { DeliveryFacts from delivery: id, connection_id, connection, received_at, status,
            bytes, attempts, ran, error;
            instance_id: instance
        }
    }
}

/// Describes the filters for replaying many deliveries: the filters of the list, without its search.
pub fn with_filters(operation: Operation<'_>) -> Operation<'_> {
    let time = "a date, a time such as 2026-01-31T12:00:00Z, or how long ago it was, such as 24h.";
    let words = DeliveryStatus::ALL.map(DeliveryStatus::as_str);
    operation
        .query("status", one_of(&words, ""), "Only deliveries in this state.")
        .query("connection", word(), "Only deliveries of this connection: its id, its name, or `workspace/name`.")
        .query("instance", word(), "Only deliveries of this instance's provider: its number, its name, or `workspace/name`.")
        .query("since", word(), format!("Only deliveries received at this time or later: {time}"))
        .query("until", word(), format!("Only deliveries received before this time: {time}"))
}

pub fn with_version(operation: Operation<'_>) -> Operation<'_> {
    operation.query("version", word(), "Only deliveries last converted by this version of their plugin: 1.2.0, or at least 8 characters of the beginning of its digest.")
}

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

fn text_or_base64(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    }
}

fn parse_id(text: &str) -> ApiResult<DeliveryId> {
    text.parse().map_err(|_| unknown(text))
}

fn unknown(text: &str) -> ApiError {
    ApiError::NotFound(format!(
        "There is no delivery `{text}`; `leadhost delivery list` shows those that exist."
    ))
}
