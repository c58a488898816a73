//! `POST /admin/v1/plugins/verify`, whose body is a component, and
//! `POST /admin/v1/plugins/{name}/verify {digest}` for a stored version: both the version and
//! the one that serves convert stored deliveries now, and the answer says what differs.
//! `POST /admin/v1/plugins/{name}/impact {digest, against}` compares a version with another one on
//! the deliveries that it converted. The query has `last`, `since`, `failed` and `seconds`. Nothing
//! is changed. `GET /admin/v1/plugins/verify` shows the progress of those that run on this host, also
//! of those before an activation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;

use super::{component, while_wanted, whole};
use crate::admin_api::plugins::{
    ComparedVersion, DifferenceView, ExampleView, FieldDifference, ImpactRequest, NeededView,
    RunningVerifications, SendDifferences, VerificationView, VerifiedCost, VerifiedPlugin,
    VerifiedSends, VerifyRequest,
};
use crate::domain::difference::DifferenceKind;
use crate::domain::plugin::PluginKind;
use crate::http::auth::AdminCaller;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::endpoints::admin::{flag, moment, read_json, repairs};
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::limits;
use crate::pipeline::deploy::{self, ComponentOrigin, Verified};
use crate::pipeline::verify::cost::NeededSummary;
use crate::pipeline::verify::{
    Choice, Covered, DifferenceGroup, Example, Subject, Tally, VerifyReport,
};

/// Compares a component with the version that serves. Returns the differences.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if a parameter is invalid or the client leaves, an error of
/// [`UnreadBody::read`] if the body cannot be read, [`ApiError::Unprocessable`] if the component is
/// refused, [`ApiError::Conflict`] if there is no version to compare with, and [`ApiError::Store`] if
/// the store fails.
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
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the body or a parameter is invalid, the digest is too short or matches
/// several versions, or the client leaves; [`ApiError::NotFound`] if it matches none;
/// [`ApiError::Conflict`] if there is no version to compare with; and [`ApiError::Store`] if the store
/// fails.
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
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the body or a parameter is invalid, a digest is too short or matches
/// several versions, or the client leaves; [`ApiError::NotFound`] if a digest matches none;
/// [`ApiError::Conflict`] if there is no version to compare with; and [`ApiError::Store`] if the store
/// fails.
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
    let view = VerifiedPlugin {
        repairs: repairs::relevant(call, &record.digest).await?,
        ..to_view(verified)
    };
    reply::json(StatusCode::OK, &view)
}

/// Lists the comparisons that run on this host, with their progress.
///
/// # Errors
///
/// [`ApiError::Internal`] if the answer cannot be written.
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

/// Returns the answer about a comparison.
pub fn to_view(verified: Verified) -> VerifiedPlugin {
    let Verified {
        candidate,
        golden,
        active,
        against,
        report,
        drift,
        concerns,
    } = verified;
    let VerifyReport {
        connections,
        connections_not_covered,
        total,
        deliveries,
        sends,
        costs,
        took,
    } = report;
    let Covered {
        chosen,
        emptied,
        not_tried,
        not_reached,
        tally,
    } = deliveries;
    let sends = (candidate.kind == PluginKind::Adapter).then(|| VerifiedSends {
        chosen: sends.chosen,
        emptied: sends.emptied,
        not_tried: sends.not_tried,
        not_reached: sends.not_reached,
        differences: send_differences(sends.tally),
    });
    VerifiedPlugin {
        name: candidate.description.name.clone(),
        version: candidate.description.version.clone(),
        digest: candidate.digest.clone(),
        golden,
        against: against.map(|against| ComparedVersion {
            version: against.description.version.clone(),
            digest: against.digest.clone(),
            active: active.as_ref() == Some(&against.digest),
        }),
        chosen,
        total: total.deliveries,
        total_is_least: total.is_least,
        connections,
        connections_not_covered,
        emptied,
        not_tried,
        not_reached,
        compared: tally.compared,
        same: tally.same,
        leads: tally.leads,
        candidate_leads: tally.candidate_leads,
        newly_failing: group(tally.newly_failing),
        no_longer_failing: group(tally.no_longer_failing),
        appeared: group(tally.appeared),
        vanished: group(tally.vanished),
        items: group(tally.items),
        fields: fields(tally.fields),
        sends,
        cost: costs.summaries().map(|(other, candidate)| VerifiedCost {
            conversions: costs.serving.len() as u64,
            other: needed(other),
            candidate: needed(candidate),
        }),
        drift,
        concerns: concerns.into_iter().map(Into::into).collect(),
        repairs: Vec::new(),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }
}

fn needed(summary: NeededSummary) -> NeededView {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    NeededView {
        mean_us: micros(summary.mean),
        p95_us: micros(summary.p95),
        memory_bytes: summary.memory,
    }
}

/// Returns the differences of sends.
pub fn send_differences(tally: Tally) -> SendDifferences {
    SendDifferences {
        compared: tally.compared,
        same: tally.same,
        changed: tally.harm.changed,
        newly_failing: group(tally.newly_failing),
        no_longer_failing: group(tally.no_longer_failing),
        items: group(tally.items),
        fields: fields(tally.fields),
    }
}

/// Returns the differences of fields.
pub fn fields(fields: BTreeMap<(String, DifferenceKind), DifferenceGroup>) -> Vec<FieldDifference> {
    fields.into_iter().map(Into::into).collect()
}

/// Returns differences of one kind.
pub fn group(group: DifferenceGroup) -> DifferenceView {
    group.into()
}

impl From<((String, DifferenceKind), DifferenceGroup)> for FieldDifference {
    fn from(((field, change), differences): ((String, DifferenceKind), DifferenceGroup)) -> Self {
        Self {
            field,
            change,
            differences: differences.into(),
        }
    }
}

impl From<DifferenceGroup> for DifferenceView {
    fn from(group: DifferenceGroup) -> Self {
        Self {
            count: group.count,
            examples: group.examples.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Example> for ExampleView {
    fn from(example: Example) -> Self {
        let Example {
            subject,
            connection,
            before,
            after,
        } = example;
        let (delivery_id, message_id) = match subject {
            Subject::Delivery(id) => (Some(id), None),
            Subject::Message(id) => (None, Some(id)),
        };
        Self {
            delivery_id,
            message_id,
            connection_id: connection,
            before,
            after,
        }
    }
}
