//! Repairs: replays of all deliveries that a version converted, with their receipts.

pub mod changes;
pub mod start;
pub mod view;

use std::sync::Arc;

use hyper::StatusCode;

use self::view::{Versions, find, parse_id, refusal, to_view};
use crate::call::Call;
use crate::endpoints::admin::request::{last_of_full, page_limit};
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::repairs::{RepairFacts, RepairList};
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_domain::repair::{Repair, RepairState};
use leadhost_pipeline::repair::operate;

/// `GET /admin/v1/repairs?before=&limit=`: a page of the repairs, newest first.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let query = call.query();
    let limit = page_limit(&query)?;
    let before = query.filled(&["before"]).map(parse_id).transpose()?;
    let store = &call.http.core.store;
    let repairs = store.repairs(before, limit).await?;
    let next = last_of_full(&repairs, limit).map(|repair| repair.id);
    let versions = Versions::load(store).await?;
    let repairs = repairs.into_iter().map(|repair| versions.facts(repair));
    let answer = RepairList {
        repairs: repairs.collect(),
        next,
    };
    reply::json(StatusCode::OK, &answer)
}

/// `GET /admin/v1/repairs/{id}`: how far a repair is, and the sum of its receipt.
pub async fn show(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let repair = find(call, id).await?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}

/// `POST /admin/v1/repairs/{id}/cancel`: ends a running repair or an undo. Changes that it has already
/// made, or not yet undone, stay.
pub async fn cancel(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let http = Arc::clone(call.http);
    let cancelled = async move { operate::cancel(&http.pipeline, id).await };
    let cancelled = call.http.core.spawn(cancelled).await;
    let repair = cancelled.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}

/// `POST /admin/v1/repairs/{id}/undo`: undoes the changes of an ended repair, in the background.
/// The answer is the repair at the begin of its undo.
pub async fn undo(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let http = Arc::clone(call.http);
    let begun = async move { operate::undo(&http.pipeline, id).await };
    let begun = call.http.core.spawn(begun).await;
    let repair = begun.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}

/// Returns the newest repairs of a version that are running, are being undone, or wrote changes that are not
/// undone, at most [`limits::IMPACT_REPAIRS`], out of the newest [`limits::IMPACT_REPAIRS_READ`] repairs.
pub async fn relevant(
    call: &Call<'_>,
    converted_by: &Digest,
) -> Result<Vec<RepairFacts>, ApiError> {
    let store = &call.http.core.store;
    let newest = store.repairs(None, limits::IMPACT_REPAIRS_READ).await?;
    let relevant: Vec<Repair> = newest
        .into_iter()
        .filter(|repair| repair.plan.converted_by == *converted_by)
        .filter(|repair| match repair.state {
            RepairState::Running | RepairState::Undoing => true,
            state if state.stands() => repair.plan.apply,
            _ => false,
        })
        .take(limits::IMPACT_REPAIRS)
        .collect();
    if relevant.is_empty() {
        return Ok(Vec::new());
    }
    let versions = Versions::load(store).await?;
    Ok(relevant
        .into_iter()
        .map(|repair| versions.facts(repair))
        .collect())
}
