//! `GET /admin/v1/repairs?before=&limit=`, newest first.

use hyper::StatusCode;

use super::{Versions, parse_id};
use crate::admin_api::repairs::RepairList;
use crate::http::call::Call;
use crate::http::endpoints::admin::{last_of_full, page_limit};
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};

/// # Errors
///
/// A parameter is invalid, or the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let query = call.query();
    let limit = page_limit(&query)?;
    let before = query.filled(&["before"]).map(parse_id).transpose()?;
    let store = &*call.http.core.store;
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
