//! `POST /admin/v1/plugins/verify`, whose body is a component, and
//! `POST /admin/v1/plugins/{name}/verify {digest}` for a stored version: both the version and
//! the one that serves convert stored deliveries now, and the answer says what differs.
//! `POST /admin/v1/plugins/{name}/impact {digest, against}` compares a version with another one on
//! the deliveries that it converted. The query has `last`, `since`, `failed` and `seconds`. Nothing
//! is changed. `GET /admin/v1/plugins/verify` shows the progress of those that run on this host, also
//! of those before an activation.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;

use super::comparison::to_view;
use super::order::{component, while_wanted, whole};
use crate::auth::AdminCaller;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::endpoints::admin::{
    repairs,
    request::{flag, moment, read_json},
};
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::plugins::{
    ImpactRequest, RunningVerifications, VerificationView, VerifiedPlugin, VerifyRequest,
};
use leadhost_domain::limits;
use leadhost_pipeline::deploy::rolled_back::is_discarded;
use leadhost_pipeline::deploy::{self, ComponentOrigin};
use leadhost_pipeline::verify::Choice;

/// Compares a component with the version that serves. Returns the differences.
pub async fn upload(
    call: &Call<'_>,
    caller: &AdminCaller,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let (choice, budget) = bounds(call)?;
    let wasm = component(call, body).await?;
    let http = Arc::clone(call.http);
    let origin = ComponentOrigin::upload(caller.key());
    let verified = deploy::verify::component(&http.pipeline, wasm, origin, choice, budget);
    let verified = while_wanted(call, verified).await?;
    reply::json(StatusCode::OK, &to_view(verified))
}

/// Compares a stored version with the one that serves. Returns the differences.
pub async fn stored(
    call: &Call<'_>,
    name: &str,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let (choice, budget) = bounds(call)?;
    let request: VerifyRequest = read_json(call, body).await?;
    let digest = whole(call.http, name, &request.digest).await?.digest;
    let http = Arc::clone(call.http);
    let verified = deploy::verify::stored(&http.pipeline, &digest, choice, budget);
    let verified = while_wanted(call, verified).await?;
    reply::json(StatusCode::OK, &to_view(verified))
}

/// Compares a version with another one on the deliveries that it converted. Returns the
/// differences.
pub async fn impact(
    call: &Call<'_>,
    name: &str,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let (choice, budget) = bounds(call)?;
    let request: ImpactRequest = read_json(call, body).await?;
    let record = whole(call.http, name, &request.digest).await?;
    let against = match request.against {
        Some(start) => Some(whole(call.http, name, &start).await?.digest),
        None => None,
    };
    let http = Arc::clone(call.http);
    let verified = deploy::verify::impact(&http.pipeline, &record, against, choice, budget);
    let verified = while_wanted(call, verified).await?;
    let mut view = VerifiedPlugin {
        repairs: repairs::relevant(call, &record.digest).await?,
        ..to_view(verified)
    };
    if let Some(other) = &mut view.against {
        let active = call.http.core.store.activations().await?;
        let mut of_name = active.iter().filter(|one| one.name == name);
        other.previous = of_name.any(|one| one.previous.as_ref() == Some(&other.digest));
        other.discarded = is_discarded(&call.http.pipeline, &other.digest).await?;
    }
    reply::json(StatusCode::OK, &view)
}

/// Lists the comparisons that run on this host, with their progress.
pub fn running(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let running = call.http.pipeline.verifying.list();
    let views = running.iter().map(|one| VerificationView {
        name: one.name.clone(),
        digest: one.candidate.clone(),
        chosen: one.chosen(),
        done: one.done(),
        since: one.since,
        seconds_left: one.left().as_secs(),
    });
    let verifications = views.collect();
    reply::json(StatusCode::OK, &RunningVerifications { verifications })
}

/// Reads which deliveries are converted, and for how long.
fn bounds(call: &Call<'_>) -> Result<(Choice, Duration), ApiError> {
    let query = call.query();
    let number = |name: &str, least: u64, most: u64, default: u64| {
        let Some(text) = query.filled(&[name]) else {
            return Ok(default);
        };
        text.parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| {
                ApiError::BadRequest(format!(
                    "`{name}={text}`: expected a whole number from {least} to {most}."
                ))
            })
    };
    let most = u64::from(limits::VERIFY_DELIVERIES_MOST);
    let last = number("last", 1, most, limits::VERIFY_DELIVERIES.into())?;
    let longest = limits::VERIFY_LONGEST.as_secs();
    let seconds = number("seconds", 1, longest, limits::VERIFY_TIME.as_secs())?;
    let choice = Choice {
        last: u32::try_from(last).unwrap_or(u32::MAX),
        since: moment(call, "since")?,
        failed: flag(call, "failed")?,
        converted_by: None,
    };
    Ok((choice, Duration::from_secs(seconds)))
}
