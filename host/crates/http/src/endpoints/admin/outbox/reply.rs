//! `POST /admin/v1/outbox/reply {to, text, instance}`: simulates a contact of a sandbox who writes.
//! `to` is a message of the conversation, or the contact's phone.

use super::{SANDBOX, find, not_simulated, play, sandbox_of, simulated};
use crate::endpoints::admin::instances;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::outbox::{ReplyRequest, SimulatedEvent};
use leadhost_domain::connection::{Connection, ConnectionKind};
use leadhost_domain::id::MessageId;
use leadhost_domain::message::MessageState;
use leadhost_domain::phone;
use leadhost_pipeline::apply::DEFAULT_REGION;
use leadhost_store::OutboxFilter;

describe!(run, |operation| operation
    .summary("Simulates a contact of the sandbox who writes")
    .describe(super::SIMULATED)
    .takes::<ReplyRequest>(&[
        (
            "phone",
            "To an instance",
            json!({"to": "+5511900000001", "text": "Oi", "instance": "voice"}),
        ),
        (
            "message",
            "To a message",
            json!({"to": "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2", "text": "Oi"})
        ),
    ])
    .answers::<SimulatedEvent>(200, "The event is stored.")
    .refuses(&[404, 409, 422]));
pub async fn run(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: ReplyRequest = read_json(call, body).await?;
    if request.text.trim().is_empty() {
        return Err(ApiError::BadRequest(
            "`text` is empty: give what the contact writes.".to_owned(),
        ));
    }
    let store = &call.http.core.store;
    let (channel, event) = match request.to.trim().parse::<MessageId>() {
        Ok(id) => to_message(store, id, &request.text).await?,
        Err(_) => {
            let channel = by_phone(store, &request).await?;
            let event = json!({ "inbound": { "from": request.to.trim(), "text": request.text } });
            (channel, event)
        }
    };
    let outcome = play(call, &channel, event).await?;
    reply::ok(&simulated(outcome))
}

async fn to_message(store: &Store, id: MessageId, text: &str) -> ApiResult<(Connection, Value)> {
    let message = find(store, id).await?;
    let channel = sandbox_of(store, &message).await?;
    let recipient = message.metadata.recipient_id.as_deref();
    let from = message
        .phone_number
        .as_deref()
        .or(recipient)
        .ok_or_else(|| {
            ApiError::conflict(format!("The recipient of message {id} is not known."))
        })?;
    let mut inbound = json!({ "from": from, "text": text });
    if let Some(name) = &message.contact_name {
        inbound["name"] = json!(name);
    }
    // Only an outgoing message has an id that can be answered.
    if message.metadata.status != MessageState::Received.as_str()
        && let Some(external_id) = message.metadata.external_ids.first()
    {
        inbound["replyTo"] = json!(external_id);
    }
    Ok((channel, json!({ "inbound": inbound })))
}

/// Returns the sandbox that this phone writes to: the named one, the only one, or the one that
/// wrote to it last.
async fn by_phone(store: &Store, request: &ReplyRequest) -> ApiResult<Connection> {
    if let Some(text) = &request.instance {
        let instance = instances::find(store, text).await?;
        let channel = instance.channel()?;
        return if channel.plugin == SANDBOX {
            Ok(channel.clone())
        } else {
            Err(not_simulated(channel))
        };
    }
    let sandboxes: Vec<Connection> = store
        .connections(None)
        .await?
        .into_iter()
        .filter(|one| one.kind == ConnectionKind::Channel && one.plugin == SANDBOX)
        .collect();
    let region = sandboxes
        .first()
        .map_or(DEFAULT_REGION, |one| one.region.as_str());
    let phone = phone::normalise(&request.to, region);
    let number = phone.e164.ok_or_else(|| {
        ApiError::BadRequest(format!(
            "`{}` is neither a message's id nor a phone number.",
            request.to
        ))
    })?;
    if let [only] = sandboxes.as_slice() {
        return Ok(only.clone());
    }
    let filter = OutboxFilter {
        limit: LOOKED_THROUGH,
        ..OutboxFilter::default()
    };
    let wrote = store
        .outbox(&filter)
        .await?
        .into_iter()
        .filter(|message| message.phone_number.as_ref() == Some(&number))
        .find_map(|message| {
            sandboxes.iter().find(|one| {
                one.workspace == message.workspace_id && one.agent == message.instance_id
            })
        });
    wrote.cloned().ok_or_else(|| {
        let names: Vec<_> = sandboxes.iter().map(|one| one.name.as_str()).collect();
        if names.is_empty() {
            return ApiError::conflict(format!(
                "No instance has the adapter `{SANDBOX}`: no contact can be simulated."
            ));
        }
        ApiError::BadRequest(format!(
            "Nothing was sent to {number} lately: set `instance` to the instance that the contact writes to: {}.",
            names.join(" or ")
        ))
    })
}

/// The number of messages in which a phone is looked up.
const LOOKED_THROUGH: u32 = 500;
