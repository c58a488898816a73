//! Messages as operators see them: sent, waiting, and with an unknown outcome. If an instance
//! has the sandbox as its channel, the actions of its contact are simulated here: they are
//! composed as the sandbox's webhook and taken in like any webhook.

pub mod list;
pub mod reply;
pub mod resolve;
pub mod resolve_many;
pub mod status;

use uuid::Uuid;

use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::outbox::SimulatedEvent;
use leadhost_domain::connection::{Connection, ConnectionKind};
use leadhost_domain::id::MessageId;
use leadhost_pipeline::connections::webhook_path;
use leadhost_pipeline::intake::{self, Address, InboundRequest, Received};
use leadhost_store::{DeliveryOutcome, OutboxFilter, OutboxMessage};

/// The adapter whose contacts can be simulated, and which makes no requests.
pub const SANDBOX: &str = "sandbox";

const SIMULATED: &str = "The event is processed like a webhook of the instance's provider. \
                      It needs an instance with the adapter `sandbox`; others are refused with 409.";

fn parse_id(text: &str) -> ApiResult<MessageId> {
    text.parse().map_err(|_| unknown(text))
}

fn unknown(text: &str) -> ApiError {
    ApiError::NotFound(format!(
        "There is no message `{text}`; `leadhost outbox` shows those that exist."
    ))
}

async fn find(store: &Store, id: MessageId) -> ApiResult<OutboxMessage> {
    // The newest message below the next id is the one with this id, if it exists.
    let next = Uuid::from_u128(id.0.as_u128().saturating_add(1));
    let filter = OutboxFilter {
        before: Some(MessageId(next)),
        limit: 1,
        ..OutboxFilter::default()
    };
    let found = store.outbox(&filter).await?;
    found
        .into_iter()
        .find(|message| message.id == id)
        .ok_or_else(|| unknown(&id.to_string()))
}

async fn channel_of(store: &Store, message: &OutboxMessage) -> ApiResult<Connection> {
    let connections = store.connections(Some(message.workspace_id)).await?;
    connections
        .into_iter()
        .find(|one| one.kind == ConnectionKind::Channel && one.agent == message.instance_id)
        .ok_or_else(|| {
            ApiError::conflict(format!(
                "The instance of message {} no longer has an adapter.",
                message.id
            ))
        })
}

async fn sandbox_of(store: &Store, message: &OutboxMessage) -> ApiResult<Connection> {
    let channel = channel_of(store, message).await?;
    if channel.plugin == SANDBOX {
        Ok(channel)
    } else {
        Err(not_simulated(&channel))
    }
}

fn not_simulated(channel: &Connection) -> ApiError {
    ApiError::conflict(format!(
        "Instance `{}` has the adapter `{}`: its contacts can be simulated only with `{SANDBOX}`.",
        channel.name, channel.plugin
    ))
}

/// Takes an event in as the sandbox's webhook.
async fn play(call: &Call<'_>, channel: &Connection, event: Value) -> ApiResult<DeliveryOutcome> {
    let instance = channel.agent.ok_or_else(|| not_simulated(channel))?;
    let path = webhook_path(instance, &channel.id);
    let inbound = InboundRequest {
        address: Address::Channel {
            instance,
            token: channel.id.clone(),
        },
        peer: call.peer,
        method: "POST".to_owned(),
        public_url: call
            .http
            .core
            .config
            .server
            .public(&path)
            .unwrap_or_else(|| path.clone()),
        path,
        query: Vec::new(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: json!({ "events": [event] }).to_string().into(),
        sent: None,
        by_operator: false,
    };
    let work = call.to_end(|http| async move { intake::receive(&http.pipeline, inbound).await });
    match work.await?? {
        Received::Stored { outcome, .. } => Ok(outcome),
        Received::Rejected { delivery, message } => Err(ApiError::unprocessable(format!(
            "The sandbox refuses the event: {message}. It is stored as delivery {delivery}."
        ))),
        Received::Unproven => Err(ApiError::conflict(format!(
            "Instance `{}` has `checks` of its own, which its provider has to pass: it cannot be simulated.",
            channel.name
        ))),
    }
}

fn simulated(outcome: DeliveryOutcome) -> SimulatedEvent {
    SimulatedEvent {
        delivery: outcome.delivery,
        status: outcome.status,
        items: outcome.items,
    }
}
