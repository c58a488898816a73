//! `POST /admin/v1/repairs/{id}/undo`: takes the changes of an ended repair back, in the background.
//! The answer is the repair at the begin of its undo.

use std::sync::Arc;

use hyper::StatusCode;

use super::{parse_id, refusal, to_view};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::repair::operate;

/// # Errors
///
/// There is no such repair, it wrote nothing, is running or was undone, its receipt is being removed,
/// another one is open, or the store fails.
pub async fn undo(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let id = parse_id(id)?;
    let http = Arc::clone(call.http);
    let begun = async move { operate::undo(&http.pipeline, id).await };
    let begun = call.http.core.spawn(begun).await;
    let repair = begun.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}
