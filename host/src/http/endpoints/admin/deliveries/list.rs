//! `GET /admin/v1/deliveries?status=&connection=&instance=&since=&until=&version=&before=&limit=`, newest first.

use hyper::StatusCode;

use super::{Channels, parse_id};
use crate::admin_api::deliveries::{Deliveries, DeliveryView};
use crate::domain::delivery::DeliveryStatus;
use crate::domain::plugin::Digest;
use crate::http::call::Call;
use crate::http::endpoints::admin::{connections, instances, last_of_full, moment, page_limit};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::reply::{self, ApiResponse};
use crate::store::DeliveryFilter;

/// Returns a page of the deliveries.
///
/// # Errors
///
/// A parameter is invalid or names something unknown, or the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let filter = filter(call).await?;
    let deliveries = call.http.core.store.deliveries(&filter).await?;
    let next = last_of_full(&deliveries, filter.limit).map(|delivery| delivery.id);
    let channels = Channels::load(&*call.http.core.store).await?;
    let deliveries = deliveries
        .into_iter()
        .map(|delivery| DeliveryView {
            items: delivery.items,
            facts: channels.facts(delivery),
        })
        .collect();
    reply::json(StatusCode::OK, &Deliveries { deliveries, next })
}

async fn filter(call: &Call<'_>) -> Result<DeliveryFilter, ApiError> {
    let query = call.query();
    let mut filter = DeliveryFilter {
        limit: page_limit(&query)?,
        ..DeliveryFilter::default()
    };
    if let Some(word) = query.filled(&["status"]) {
        let status = DeliveryStatus::from_text(word).ok_or_else(|| {
            let words: Vec<_> = DeliveryStatus::ALL.iter().map(|one| one.as_str()).collect();
            ApiError::BadRequest(format!(
                "`status={word}` is not a status; there are {}.",
                words.join(", ")
            ))
        })?;
        filter.status = Some(status);
    }
    if let Some(text) = query.filled(&["connection"]) {
        filter.connection = Some(connections::find(&*call.http.core.store, text).await?.id);
    }
    if let Some(text) = query.filled(&["instance"]) {
        let instance = instances::find(&*call.http.core.store, text).await?;
        filter.connection = Some(instance.channel()?.id.clone());
    }
    filter.since = moment(call, "since")?;
    filter.until = moment(call, "until")?;
    filter.version = version(&query)?;
    if let Some(text) = query.filled(&["before"]) {
        filter.before = Some(parse_id(text)?);
    }
    Ok(filter)
}

/// Returns a version, or the beginning of a digest.
fn version(query: &Query<'_>) -> Result<Option<String>, ApiError> {
    let Some(text) = query.filled(&["version"]) else {
        return Ok(None);
    };
    let is_digest =
        text.len() >= Digest::SHORTEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest && !text.contains('.') {
        return Err(ApiError::BadRequest(format!(
            "`version={text}` is not a version: write 1.2.0, or at least {} characters of its digest.",
            Digest::SHORTEST
        )));
    }
    Ok(Some(text.to_owned()))
}
