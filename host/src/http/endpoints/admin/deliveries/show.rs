//! `GET /admin/v1/deliveries/{id}`: the request as it is stored, with its secrets redacted, and
//! the outcome of each item.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;

use super::{Channels, parse_id, unknown};
use crate::admin_api::deliveries::{DeliveryDetailView, RequestView};
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
        .ok_or_else(|| unknown(&id.to_string()))?;
    let channels = Channels::load(&*call.http.core.store).await?;
    reply::json(StatusCode::OK, &shown(delivery, &channels))
}

fn shown(delivery: DeliveryDetail, channels: &Channels) -> DeliveryDetailView {
    let request = delivery.request;
    let (body, body_base64) = match String::from_utf8(request.body.into()) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    };
    DeliveryDetailView {
        facts: channels.facts(delivery.summary),
        workspace_id: delivery.workspace,
        items: delivery.items.into_iter().map(Into::into).collect(),
        notes: delivery.notes,
        next_attempt_at: delivery.next_attempt_at,
        request: RequestView {
            method: request.method,
            path: request.path,
            query: request.query,
            headers: request.headers,
            body,
            body_base64,
        },
    }
}
