//! `POST /admin/v1/plugins/{name}/rollback {accept}`: activates the previous version.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{accepted, activated, refusal};
use crate::admin_api::plugins::RollbackRequest;
use crate::domain::key::Role;
use crate::http::auth::AdminCaller;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::deploy::{self, rolled_back};

/// Activates the previous version of a plugin. Returns it.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the body is invalid, [`ApiError::NotFound`] if there is no such plugin,
/// [`ApiError::Conflict`] if there is no previous version, that version was itself rolled back, or a
/// concern is not accepted, [`ApiError::Unprocessable`] if the version cannot be loaded, and
/// [`ApiError::Store`] if the store fails.
pub async fn roll_back(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let request: RollbackRequest = read_json(call, body).await?;
    let accept = accepted(call, caller, request.accept.iter().map(String::as_str))?;
    let checked = rolled_back::check_rollback(&call.http.pipeline, name, &accept).await;
    checked.map_err(refusal)?;
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
