//! `POST /admin/v1/plugins/check`: the body is a component. It is compiled, tried and compared
//! with the active version, and nothing is kept.

use std::sync::Arc;

use hyper::StatusCode;

use super::{component, while_wanted};
use crate::admin_api::plugins::CheckedPlugin;
use crate::http::auth::AdminCaller;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::deploy::{self, ComponentOrigin};

/// Checks a component without storing it. Returns its description and the concerns about it.
///
/// # Errors
///
/// [`ApiError::BodyTooLarge`] or another error of [`UnreadBody::read`] if the body cannot be read,
/// [`ApiError::Unprocessable`] if the component is refused, [`ApiError::Overloaded`] if too many trials
/// wait, [`ApiError::BadRequest`] if the client leaves, and [`ApiError::Store`] if the store fails.
pub async fn check(
    call: &Call<'_>,
    caller: &AdminCaller,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let wasm = component(call, body).await?;
    let http = Arc::clone(call.http);
    let origin = ComponentOrigin::upload(caller.key());
    let report = while_wanted(call, deploy::check(&http.pipeline, wasm, origin)).await?;
    let checked = CheckedPlugin {
        name: report.description.name,
        version: report.description.version,
        digest: report.digest,
        kind: report.kind,
        contract: report.contract,
        golden: report.golden,
        publisher: report.publisher,
        concerns: report.concerns.into_iter().map(Into::into).collect(),
    };
    reply::json(StatusCode::OK, &checked)
}
