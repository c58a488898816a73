//! `GET /admin/v1/deliveries?status=&connection=&since=&before=&limit=`, newest first.

use hyper::StatusCode;
use serde_json::json;

use super::parse_id;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::time;
use crate::http::endpoints::admin::connections;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::limits;
use crate::store::DeliveryFilter;

pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let filter = filter(call).await?;
    let deliveries = call.app.store.deliveries(&filter).await?;
    let full = deliveries.len() >= filter.limit as usize;
    let next = deliveries
        .last()
        .filter(|_| full)
        .map(|delivery| delivery.id);
    reply::json(
        StatusCode::OK,
        &json!({ "deliveries": deliveries, "next": next }),
    )
}

async fn filter(call: &Call<'_>) -> Result<DeliveryFilter, ApiError> {
    let query = call.query();
    let mut filter = DeliveryFilter {
        limit: 50,
        ..DeliveryFilter::default()
    };
    if let Some(word) = query.filled(&["status"]) {
        let status = DeliveryStatus::of(word).ok_or_else(|| {
            let words: Vec<_> = DeliveryStatus::ALL.iter().map(|one| one.as_str()).collect();
            ApiError::BadRequest(format!(
                "`{word}` is no status; there are {}.",
                words.join(", ")
            ))
        })?;
        filter.status = Some(status);
    }
    if let Some(text) = query.filled(&["connection"]) {
        filter.connection = Some(connections::find(&*call.app.store, text).await?.id);
    }
    if let Some(text) = query.filled(&["since"]) {
        let since = time::parse(text).ok_or_else(|| {
            ApiError::BadRequest(format!(
                "`since={text}` is no time: write 2026-01-31 or 2026-01-31T12:00:00Z."
            ))
        })?;
        filter.since = Some(since);
    }
    if let Some(text) = query.filled(&["before"]) {
        filter.before = Some(parse_id(text)?);
    }
    if let Some(text) = query.filled(&["limit"]) {
        let limit: u32 = text.parse().map_err(|_| {
            ApiError::BadRequest(format!("`limit={text}`: expected a whole number."))
        })?;
        filter.limit = limit.clamp(1, limits::DELIVERIES_PER_PAGE);
    }
    Ok(filter)
}
