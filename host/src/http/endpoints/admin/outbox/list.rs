//! `GET /admin/v1/outbox?instance=&conversation=&state=&before=&limit=`, newest first: outgoing and
//! incoming messages.

use hyper::StatusCode;

use super::parse_id;
use crate::admin_api::outbox::{MessageView, Messages};
use crate::domain::message::MessageState;
use crate::http::call::Call;
use crate::http::endpoints::admin::{instances, last_of_full, page_limit};
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::store::{OutboxFilter, OutboxMessage};

/// Returns a page of the messages.
///
/// # Errors
///
/// A parameter is invalid or names an unknown instance, or the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let filter = filter(call).await?;
    let messages = call.http.core.store.outbox(&filter).await?;
    let next = last_of_full(&messages, filter.limit).map(|message| message.id);
    let messages = messages.into_iter().map(to_view).collect();
    reply::json(StatusCode::OK, &Messages { messages, next })
}

fn to_view(message: OutboxMessage) -> MessageView {
    MessageView {
        id: message.id,
        workspace_id: message.workspace_id,
        conversation_id: message.conversation_id,
        contact_id: message.contact_id,
        contact_name: message.contact_name,
        phone_number: message.phone_number,
        instance_id: message.instance_id,
        created_at: message.created_at,
        actor: message.actor,
        kind: message.kind,
        content: message.content,
        metadata: message.metadata,
        delivered_at: message.delivered_at,
        read_at: message.read_at,
        next_attempt_at: message.next_attempt_at,
    }
}

async fn filter(call: &Call<'_>) -> Result<OutboxFilter, ApiError> {
    let query = call.query();
    let mut filter = OutboxFilter {
        limit: page_limit(&query)?,
        ..OutboxFilter::default()
    };
    if let Some(word) = query.filled(&["state"]) {
        let state = MessageState::from_text(word).ok_or_else(|| {
            let words = MessageState::ALL.map(MessageState::as_str).join(", ");
            ApiError::BadRequest(format!("`state={word}` is not a state; there are {words}."))
        })?;
        filter.state = Some(state);
    }
    if let Some(text) = query.filled(&["instance"]) {
        let agent = instances::find(&*call.http.core.store, text).await?.agent;
        filter.workspace = Some(agent.workspace);
        filter.agent = Some(agent.id);
    }
    if let Some(text) = query.filled(&["conversation"]) {
        let conversation = text.parse().map_err(|_| {
            ApiError::BadRequest(format!(
                "`conversation={text}` is not the id of a conversation."
            ))
        })?;
        filter.conversation = Some(conversation);
    }
    if let Some(text) = query.filled(&["before"]) {
        filter.before = Some(parse_id(text)?);
    }
    Ok(filter)
}
