//! `GET /admin/v1/deliveries/{id}`: the request as it is stored, with its secrets redacted, and
//! the outcome of each item.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::{Channels, parse_id};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::store::DeliveryDetail;

/// # Errors
///
/// [`ApiError::NotFound`] if there is no such delivery, and [`ApiError::Store`] if the store
/// cannot be read.
pub async fn show(call: &Call<'_>, id: &str) -> Result<Reply, ApiError> {
    let id = parse_id(id)?;
    let delivery = call
        .http
        .core
        .store
        .delivery(id)
        .await?
        .ok_or_else(|| ApiError::NotFound(format!("There is no delivery `{id}`.")))?;
    let channels = Channels::load(&*call.http.core.store).await?;
    reply::json(StatusCode::OK, &shown(&delivery, &channels)?)
}

fn shown(delivery: &DeliveryDetail, channels: &Channels) -> Result<Value, ApiError> {
    let request = &delivery.request;
    let (body, base64) = match std::str::from_utf8(&request.body) {
        Ok(text) => (Some(text), None),
        Err(_) => (None, Some(STANDARD.encode(&request.body))),
    };
    let mut shown = channels.shown(&delivery.summary)?;
    let items = serde_json::to_value(&delivery.items).map_err(ApiError::internal)?;
    shown["items"] = items;
    shown["workspaceId"] = json!(delivery.workspace);
    shown["notes"] = json!(delivery.notes);
    shown["nextAttemptAt"] = json!(delivery.next_attempt_at);
    shown["request"] = json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": request.headers,
        "body": body,
        "bodyBase64": base64,
    });
    Ok(shown)
}
