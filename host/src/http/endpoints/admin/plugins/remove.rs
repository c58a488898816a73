//! `DELETE /admin/v1/plugins/{name}/versions/{digest}`: removes a stored version that nothing names.
//! The digest may be shortened as long as it names one version.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{refusal, whole};
use crate::admin_api::plugins::RemovedPlugin;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::deploy;

/// Removes a stored version. Returns which one.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the digest is too short or matches several versions,
/// [`ApiError::NotFound`] if it matches none, [`ApiError::Conflict`] if something names the version,
/// and [`ApiError::Store`] if the store fails.
pub async fn remove(call: &Call<'_>, name: &str, digest: &str) -> Result<ApiResponse, ApiError> {
    let version = whole(call.http, name, digest).await?;
    call.audit(json!({ "digest": version.digest, "version": version.description.version }));
    let removed = RemovedPlugin {
        name: version.description.name.clone(),
        version: version.description.version.clone(),
        digest: version.digest.clone(),
        removed: true,
    };
    let http = Arc::clone(call.http);
    let work = call
        .http
        .core
        .spawn(async move { deploy::remove(&http.pipeline, &version).await });
    work.await.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &removed)
}
