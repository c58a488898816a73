//! `POST /admin/v1/plugins/{name}/rollback`: activates the previous version.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{activated, refusal};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::deploy;

/// # Errors
///
/// There is no such plugin or no previous version, the activation is refused, or the store
/// fails.
pub async fn roll_back(call: &Call<'_>, name: &str) -> Result<Reply, ApiError> {
    let (http, name) = (Arc::clone(call.http), name.to_owned());
    let swapped = call
        .http
        .core
        .spawn(async move { deploy::rollback(&http.pipeline, &name).await });
    let swapped = swapped
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    call.audit(json!({
        "digest": swapped.activation.digest,
        "previous": swapped.activation.previous,
    }));
    reply::json(StatusCode::OK, &activated(call.http, swapped).await?)
}
