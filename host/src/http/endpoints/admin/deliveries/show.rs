//! `GET /admin/v1/deliveries/{id}`: the request as it is stored, with its secrets redacted, and
//! the outcome of each item.

use hyper::StatusCode;

use super::{Channels, parse_id, request_view, unknown};
use crate::admin_api::deliveries::DeliveryDetailView;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::store::DeliveryDetail;

/// Returns a delivery with its request and the outcomes of its items.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such delivery, and [`ApiError::Store`] if the store
/// cannot be read.
pub async fn show(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let delivery = call
        .http
        .core
        .store
        .delivery(id)
        .await?
        .ok_or_else(|| unknown(&id.to_string()))?;
    let channels = Channels::load(&*call.http.core.store).await?;
    reply::json(StatusCode::OK, &to_view(delivery, &channels))
}

fn to_view(delivery: DeliveryDetail, channels: &Channels) -> DeliveryDetailView {
    DeliveryDetailView {
        facts: channels.facts(delivery.summary),
        workspace_id: delivery.workspace,
        items: delivery.items.into_iter().map(Into::into).collect(),
        notes: delivery.notes,
        next_attempt_at: delivery.next_attempt_at,
        request: request_view(delivery.request),
    }
}
