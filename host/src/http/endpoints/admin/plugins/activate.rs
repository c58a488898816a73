//! `POST /admin/v1/plugins/{name}/activate {digest, accept}`: activates a stored version. The
//! digest may be shortened as long as it names one version.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{accepted, activated, audit_accepted, audit_first, refusal, while_wanted, whole};
use crate::admin_api::plugins::ActivateRequest;
use crate::http::auth::AdminCaller;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::deploy;

/// Activates a stored version. Returns it.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the body is invalid, the digest is too short or matches several
/// versions, or the client leaves during the trial; [`ApiError::NotFound`] if no stored version
/// matches; [`ApiError::Forbidden`] if the role does not allow a word of `accept`;
/// [`ApiError::Unprocessable`] if the component is refused; [`ApiError::Conflict`] if a concern is not
/// accepted or another activation came first; [`ApiError::Overloaded`] if too many trials wait; and
/// [`ApiError::Store`] if the store fails.
pub async fn activate(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let request: ActivateRequest = read_json(call, body).await?;
    let digest = whole(call.http, name, &request.digest).await?.digest;
    call.audit(json!({ "digest": digest }));
    let accept = accepted(call, caller, request.accept.iter().map(String::as_str))?;
    let http = Arc::clone(call.http);
    let tried = deploy::try_stored(&http.pipeline, name, &digest);
    let tried = while_wanted(call, tried).await?;
    let swapped = call
        .http
        .core
        .spawn(async move { deploy::activate(&http.pipeline, tried, &accept).await });
    let swapped = swapped
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    call.audit(json!({ "previous": swapped.before }));
    audit_accepted(call, &swapped.accepted);
    audit_first(call, swapped.first_acceptance.as_ref());
    reply::json(StatusCode::OK, &activated(call.http, swapped).await?)
}
