//! `POST /admin/v1/plugins/{name}/rollback`: activates the previous version.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{activated, refusal};
use crate::domain::key::Role;
use crate::http::auth::AdminCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::deploy;

/// Activates the previous version of a plugin. Returns it.
///
/// # Errors
///
/// There is no such plugin or no previous version, the activation is refused, or the store
/// fails.
pub async fn roll_back(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
) -> Result<ApiResponse, ApiError> {
    let may_widen = caller.role() == Role::Admin;
    let (http, name) = (Arc::clone(call.http), name.to_owned());
    let swapped = call
        .http
        .core
        .spawn(async move { deploy::rollback(&http.pipeline, &name, may_widen).await });
    let swapped = swapped
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    call.audit(json!({
        "digest": swapped.activation.digest,
        "previous": swapped.before,
    }));
    reply::json(StatusCode::OK, &activated(call.http, swapped).await?)
}
