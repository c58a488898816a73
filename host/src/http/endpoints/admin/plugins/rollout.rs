//! `POST /admin/v1/plugins/{name}/rollout` starts a rollout of a stored version, `GET` shows the
//! last one, and `PATCH` with `{change}` pauses, resumes, promotes or aborts it.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{accepted, refusal, verify, while_wanted, whole};
use crate::admin_api::rollouts::{
    RolloutChange, RolloutChangeRequest, RolloutConnection, RolloutRequest, RolloutVersion,
    RolloutView,
};
use crate::domain::plugin::Digest;
use crate::domain::rollout::{RolloutMode, RolloutPlan};
use crate::http::auth::AdminCaller;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::limits;
use crate::pipeline::deploy::rollout::{self, Begun, Change, RolloutOrder, Standing};
use crate::pipeline::deploy::{self, Verified};
use crate::pipeline::verify::drift;

/// The steps of a canary, unless the operator names others.
const STEPS: [u8; 4] = [1, 10, 50, 100];

/// Seconds of a step of a canary, unless the operator names others.
const STEP_SECONDS: u64 = 300;

/// Seconds of a shadow, and of the probation, unless the operator names others.
const HOUR: u64 = 3_600;

/// # Errors
///
/// The body is invalid, the digest matches no stored version or several, the rollout is refused,
/// the client leaves, or the store fails.
pub async fn start(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: Unread,
) -> Result<Reply, ApiError> {
    let request: RolloutRequest = read_json(call, body).await?;
    let accept = accepted(caller, request.accept.iter().map(String::as_str))?;
    let order = RolloutOrder {
        plan: plan(&request)?,
        started_by: caller.label().to_owned(),
    };
    let digest = whole(call.http, name, &request.digest).await?.digest;
    call.audit(json!({
        "digest": digest,
        "mode": request.mode,
        "plan": order.plan,
        "accept": request.accept,
    }));
    let http = Arc::clone(call.http);
    let begun = if request.mode == RolloutMode::Shadow {
        let shadow = async move { rollout::operate::shadow(&http.pipeline, &digest, order).await };
        call.http.core.spawn(shadow)
    } else {
        let tried = deploy::try_stored(&http.pipeline, name, &digest);
        let tried = while_wanted(call, tried).await?;
        let canary =
            async move { rollout::operate::canary(&http.pipeline, tried, &accept, order).await };
        call.http.core.spawn(canary)
    };
    let Begun { standing, verified } = begun.await.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::CREATED, &shown(call, standing, verified).await?)
}

/// # Errors
///
/// The plugin never had a rollout, or the store fails.
pub async fn show(call: &Call<'_>, name: &str) -> Result<Reply, ApiError> {
    let standing = rollout::standing::of(&call.http.pipeline, name).await?;
    let standing = standing.ok_or_else(|| {
        ApiError::NotFound(format!(
            "There was no rollout of `{name}`; `leadhost plugin list` shows the plugins."
        ))
    })?;
    reply::json(StatusCode::OK, &shown(call, standing, None).await?)
}

/// # Errors
///
/// The body is invalid, no rollout is open, its stage does not allow the change, or the store or
/// the fleet fails.
pub async fn change(call: &Call<'_>, name: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: RolloutChangeRequest = read_json(call, body).await?;
    call.audit(json!({ "change": request.change }));
    let change = match request.change {
        RolloutChange::Pause => Change::Pause,
        RolloutChange::Resume => Change::Resume,
        RolloutChange::Promote => Change::Promote,
        RolloutChange::Abort => Change::Abort,
    };
    let (http, name) = (Arc::clone(call.http), name.to_owned());
    let changed = async move { rollout::operate::change(&http.pipeline, &name, change).await };
    let standing = call
        .http
        .core
        .spawn(changed)
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    reply::json(StatusCode::OK, &shown(call, standing, None).await?)
}

/// Reads the plan, with its defaults.
fn plan(request: &RolloutRequest) -> Result<RolloutPlan, ApiError> {
    let is_shadow = request.mode == RolloutMode::Shadow;
    let (steps, every) = match is_shadow {
        true => (vec![100], HOUR),
        false => (STEPS.to_vec(), STEP_SECONDS),
    };
    let plan = RolloutPlan {
        mode: request.mode,
        steps: request.steps.clone().unwrap_or(steps),
        every_seconds: request.every_seconds.unwrap_or(every),
        probation_seconds: request.probation_seconds.unwrap_or(HOUR),
        guards: request.guards.unwrap_or(true),
    };
    let most = if is_shadow { 1 } else { limits::ROLLOUT_STEPS };
    let grows = plan.steps.is_sorted_by(|one, next| one < next);
    let is_percent = plan.steps.iter().all(|step| (1..=100).contains(step));
    if plan.steps.is_empty() || plan.steps.len() > most || !grows || !is_percent {
        return Err(ApiError::BadRequest(format!(
            "`steps`: expected 1 to {most} percentages from 1 to 100, each greater than the one before."
        )));
    }
    let longest = limits::ROLLOUT_LONGEST.as_secs();
    if !(1..=longest).contains(&plan.every_seconds) {
        return Err(ApiError::BadRequest(format!(
            "`everySeconds`: expected a whole number from 1 to {longest}."
        )));
    }
    if plan.probation_seconds > longest {
        return Err(ApiError::BadRequest(format!(
            "`probationSeconds`: expected a whole number from 0 to {longest}."
        )));
    }
    Ok(plan)
}

async fn shown(
    call: &Call<'_>,
    standing: Standing,
    verified: Option<Box<Verified>>,
) -> Result<RolloutView, ApiError> {
    let core = &call.http.core;
    let Standing {
        rollout,
        seen,
        hosts,
        behind,
    } = standing;
    let candidate = version(call, &rollout.candidate).await?;
    let stable = version(call, &rollout.stable).await?;
    let tally = seen.tally;
    let drift = drift(&tally, &core.config.verify);
    let mean = |total: u64| total.checked_div(seen.timed);
    let connections = tally.connections.into_iter();
    Ok(RolloutView {
        percent: rollout.percent(),
        name: rollout.name,
        candidate,
        stable,
        stage: rollout.stage,
        paused: rollout.paused,
        plan: rollout.plan,
        spent_seconds: rollout.spent_seconds,
        generation: rollout.generation,
        started_by: rollout.started_by,
        started_at: rollout.started_at,
        stage_at: rollout.stage_at,
        why: rollout.why,
        compared: tally.compared,
        same: tally.same,
        served: seen.served,
        saved: seen.saved,
        dropped: seen.dropped,
        leads: tally.leads,
        candidate_leads: tally.candidate_leads,
        stable_us: mean(seen.stable_us),
        candidate_us: mean(seen.candidate_us),
        newly_failing: verify::group(tally.newly_failing),
        no_longer_failing: verify::group(tally.no_longer_failing),
        appeared: verify::group(tally.appeared),
        vanished: verify::group(tally.vanished),
        items: verify::group(tally.items),
        fields: verify::fields(tally.fields),
        connections: connections
            .map(|(connection_id, counts)| RolloutConnection {
                connection_id,
                compared: counts.compared,
                failing: counts.failing,
                lost: counts.lost,
                vanished: counts.vanished,
                appeared: counts.appeared,
            })
            .collect(),
        drift,
        hosts,
        behind: behind.into_iter().map(Into::into).collect(),
        verification: verified.map(|verified| verify::shown(*verified)),
    })
}

async fn version(call: &Call<'_>, digest: &Digest) -> Result<RolloutVersion, ApiError> {
    let record = call.http.core.store.plugin(digest).await?;
    Ok(RolloutVersion {
        version: record.map(|record| record.description.version),
        digest: digest.clone(),
    })
}
