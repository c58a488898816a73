//! `POST /admin/v1/repairs/{id}/cancel`: ends a running repair or an undo. What it has changed, or not
//! yet taken back, stays.

use std::sync::Arc;

use hyper::StatusCode;

use super::{parse_id, refusal, to_view};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::repair::operate;

/// # Errors
///
/// There is no such repair, it is not under way, or the store fails.
pub async fn cancel(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let http = Arc::clone(call.http);
    let cancelled = async move { operate::cancel(&http.pipeline, id).await };
    let cancelled = call.http.core.spawn(cancelled).await;
    let repair = cancelled.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}
