//! `POST /admin/v1/apply?dryRun=`: applies a workspace file, sent as JSON. 422 lists every
//! problem, and then nothing is changed.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{flag, read_json};
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline;
use crate::pipeline::apply::ApplyError;

/// # Errors
///
/// The body is not JSON, the file has problems, or the store fails.
pub async fn apply(call: &Call<'_>, body: Unread) -> Result<Reply, ApiError> {
    let dry_run = flag(call, "dryRun")?;
    let file: Value = read_json(call, body).await?;
    let http = Arc::clone(call.http);
    // Runs to its end even if the operator hangs up: keys are made after the commit.
    let applied = call
        .http
        .core
        .spawn(async move { pipeline::apply::apply(&http.pipeline, &file, dry_run).await });
    let report = applied
        .await
        .map_err(ApiError::internal)?
        .map_err(refused)?;
    reply::json(StatusCode::OK, &report)
}

/// Returns the error for declarations that were not applied.
pub fn refused(error: ApplyError) -> ApiError {
    let message = error.to_string();
    match error {
        ApplyError::Problems(problems) => ApiError::Unprocessable {
            message,
            details: json!({ "problems": problems }),
        },
        ApplyError::Sealed { .. } => ApiError::conflict(message),
        ApplyError::Store(error) => error.into(),
    }
}
