//! `POST /admin/v1/plugins/verify`, whose body is a component, and
//! `POST /admin/v1/plugins/{name}/verify {digest}` for a stored version: both the version and
//! the one that serves convert stored deliveries now, and the answer says what differs.
//! `POST /admin/v1/plugins/{name}/impact {digest, against}` compares a version with another one on
//! the deliveries that it converted. The query has `last`, `since`, `failed` and `seconds`. Nothing
//! is changed. `GET /admin/v1/plugins/verify` shows the progress of those that run on this host, also
//! of those before an activation.

use super::comparison::to_view;
use super::order::{audit_version, component, while_wanted, whole};
use super::order::{refuses_component, takes_component};
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::repairs;
use leadhost_admin_api::plugins::{
    ImpactRequest, RunningVerifications, VerificationView, VerifiedPlugin, VerifyRequest,
};
use leadhost_pipeline::deploy::rolled_back::is_discarded;
use leadhost_pipeline::deploy::{self, ComponentOrigin};
use leadhost_pipeline::verify::Choice;

fn verification(operation: Operation<'_>) -> Operation<'_> {
    let whole = |most: u64, default: u64| json!({"type": "integer", "minimum": 1, "maximum": most, "default": default});
    operation
        .describe(
            "Both versions convert the same stored deliveries of the connections that use the plugin, and nothing that they \
             return has an effect. Fetched leads are completed from the stored answers. Values of examples are masked.",
        )
        .query(
            "last",
            whole(limits::VERIFY_DELIVERIES_MOST.into(), limits::VERIFY_DELIVERIES.into()),
            "The greatest number of deliveries: the newest of each connection and outcome. Failed and parked ones take at most half of the places, unless there are too few others.",
        )
        .query("since", word(), "Only deliveries received since this date or time.")
        .flag("failed", "Only failed and parked deliveries.")
        .query(
            "seconds",
            whole(limits::VERIFY_LONGEST.as_secs(), limits::VERIFY_TIME.as_secs()),
            "The comparison ends after this time at the latest, with the comparisons made by then.",
        )
        .answers::<VerifiedPlugin>(200, "The differences.")
        .refuses(&[400])
}

describe!(upload, |operation| takes_component(verification(operation))
    .summary(
        "Compares a component with the active version, and changes nothing"
    ));
pub async fn upload(call: &Call<'_>, caller: &AdminCaller, body: UnreadBody) -> ApiResult {
    let (choice, budget) = bounds(call)?;
    let wasm = component(call, body).await?;
    let http = Arc::clone(call.http);
    let origin = ComponentOrigin::upload(caller.key());
    let verified = deploy::verify::component(&http.pipeline, wasm, origin, choice, budget);
    let verified = while_wanted(call, verified).await?;
    audit_version(call, &verified.candidate.description);
    reply::ok(&to_view(verified))
}

describe!(stored, |operation| {
    refuses_component(verification(operation))
        .summary("Compares a stored version with the active one, and changes nothing")
        .takes::<VerifyRequest>(&[(
            "short",
            "The beginning of a digest",
            json!({"digest": "9b0f7a3c5d2e"}),
        )])
        .refuses(&[404])
});
pub async fn stored(call: &Call<'_>, name: &str, body: UnreadBody) -> ApiResult {
    let (choice, budget) = bounds(call)?;
    let request: VerifyRequest = read_json(call, body).await?;
    let digest = whole(call.http, name, &request.digest).await?.digest;
    let http = Arc::clone(call.http);
    let verified = deploy::verify::stored(&http.pipeline, &digest, choice, budget);
    let verified = while_wanted(call, verified).await?;
    reply::ok(&to_view(verified))
}

describe!(impact, |operation| {
    refuses_component(verification(operation))
        .summary("Compares a version with another one on the deliveries that it converted, and changes nothing")
        .takes::<ImpactRequest>(&[("short", "The beginning of a digest", json!({"digest": "9b0f7a3c5d2e", "against": null}))])
        .refuses(&[404, 409])
});
pub async fn impact(call: &Call<'_>, name: &str, body: UnreadBody) -> ApiResult {
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
    reply::ok(&view)
}

describe!(running, |operation| operation
    .summary("Shows how far the comparisons are that run on this host")
    .answers::<RunningVerifications>(
        200,
        "The comparisons that run now."
    ));
pub async fn running(call: &Call<'_>) -> ApiResult {
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
    reply::ok(&RunningVerifications { verifications })
}

fn bounds(call: &Call<'_>) -> ApiResult<(Choice, Duration)> {
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
