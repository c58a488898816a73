//! `GET /admin/v1/outbox?instance=&state=&before=&limit=`, newest first: outgoing and incoming
//! messages.

use hyper::StatusCode;
use serde_json::json;

use super::parse_id;
use crate::domain::message::State;
use crate::http::call::Call;
use crate::http::endpoints::admin::{instances, last_of_full, page_limit};
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::store::OutboxFilter;

/// # Errors
///
/// A parameter is invalid or names an unknown instance, or the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let filter = filter(call).await?;
    let messages = call.http.core.store.outbox(&filter).await?;
    let next = last_of_full(&messages, filter.limit).map(|message| message.id);
    reply::json(
        StatusCode::OK,
        &json!({ "messages": messages, "next": next }),
    )
}

async fn filter(call: &Call<'_>) -> Result<OutboxFilter, ApiError> {
    let query = call.query();
    let mut filter = OutboxFilter {
        limit: page_limit(&query)?,
        ..OutboxFilter::default()
    };
    if let Some(word) = query.filled(&["state"]) {
        let state = State::from_text(word).ok_or_else(|| {
            let words = State::ALL.map(State::as_str).join(", ");
            ApiError::BadRequest(format!("`{word}` is not a state; there are {words}."))
        })?;
        filter.state = Some(state);
    }
    if let Some(text) = query.filled(&["instance"]) {
        let agent = instances::find(&*call.http.core.store, text).await?.agent;
        filter.workspace = Some(agent.workspace);
        filter.agent = Some(agent.id);
    }
    if let Some(text) = query.filled(&["before"]) {
        filter.before = Some(parse_id(text)?);
    }
    Ok(filter)
}
