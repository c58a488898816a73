use super::connection_names::connection_names;
use super::order::{refuses_component, refuses_concerns};
use super::{
    comparison,
    order::{accepted, audit_accepted, while_wanted, whole},
    outcome::refusal,
};
use crate::endpoints::admin::audit::actor;
use crate::endpoints::admin::outbox::SANDBOX;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::open_rollouts::{OpenRollout, RolloutVersion};
use leadhost_admin_api::rollouts::{
    CheckDifferences, RolledBack, RolloutChangeRequest, RolloutConnection, RolloutList,
    RolloutRequest, RolloutView,
};
use leadhost_domain::rollout::{Rollout, RolloutMode, RolloutPlan, RolloutStage};
use leadhost_domain::time::{self, whole_seconds};
use leadhost_pipeline::deploy::rollout::{self, RolloutOrder, RolloutStatus, StartedRollout};
use leadhost_pipeline::deploy::{self, Verified};

/// The steps of a canary, unless the operator names others.
const STEPS: [u8; 4] = [1, 10, 50, 100];

/// How long a step of a canary lasts, unless the operator names another time.
const STEP: Duration = Duration::from_mins(5);

/// How long a shadow and the probation last, unless the operator names another time.
const HOUR: Duration = Duration::from_hours(1);

describe!(start, |operation| {
    refuses_concerns(
        refuses_component(operation),
        "The version",
        "no other version of the plugin is active, a rollout is open, or another version was activated meanwhile",
        "the rollout of portal 1.3.0 is not started",
    )
        .summary("Starts a rollout of a stored version")
        .describe("In a `shadow`, candidate and active version convert deliveries after they were answered, and only the \
             differences are kept. In a `canary`, the candidate gets a growing part of the deliveries and is activated at the \
             end; the version is tried and compared first, as for an activation. The answer waits a bounded time for all \
             hosts: those in `behind` follow later.")
        .takes::<RolloutRequest>(&[
            (
                "canary",
                "A canary in three steps of ten minutes",
                json!({
                    "digest": "9b0f7a3c5d2e",
                    "mode": "canary",
                    "steps": [5, 25, 100],
                    "everySeconds": 600,
                    "probationSeconds": 3_600,
                    "guards": true,
                    "stepComparisons": 10,
                    "accept": [],
                }),
            ),
            (
                "shadow",
                "A shadow, with the defaults",
                json!({"digest": "9b0f7a3c5d2e", "mode": "shadow"}),
            ),
        ])
        .answers::<RolloutView>(201, "It has begun.")
        .refuses(&[404])
});
pub async fn start(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> ApiResult {
    let request: RolloutRequest = read_json(call, body).await?;
    let digest = whole(call.http, name, &request.digest).await?.digest;
    call.audit(json!({ "digest": digest, "mode": request.mode }));
    let accept = accepted(call, caller, request.accept.iter().map(String::as_str))?;
    let order = RolloutOrder {
        plan: plan(&request)?,
        by: actor(call, caller),
    };
    call.audit(json!({ "plan": order.plan }));
    let begun = if request.mode == RolloutMode::Shadow {
        let shadow = call.to_end(|http| async move {
            rollout::operate::shadow(&http.pipeline, &digest, order).await
        });
        shadow.await?
    } else {
        // Its comparison takes seconds.
        let pipeline = &call.http.pipeline;
        let may_begin = rollout::operate::may_begin_canary(pipeline, name).await;
        may_begin.map_err(refusal)?;
        let tried = deploy::try_stored(pipeline, name, &digest);
        let tried = while_wanted(call, tried).await?;
        let canary = call.to_end(|http| async move {
            rollout::operate::canary(&http.pipeline, tried, &accept, order).await
        });
        canary.await?
    };
    let StartedRollout {
        status,
        rolled_back,
        verified,
        accepted,
    } = begun.map_err(refusal)?;
    audit_accepted(call, &accepted);
    let mut view = to_view(call, status, verified).await?;
    view.rolled_back = rolled_back.map(|last| RolledBack {
        at: last.stage_at,
        why: last.why,
    });
    reply::json(StatusCode::CREATED, &view)
}

describe!(show, |operation| {
    operation
        .summary("Shows the last rollout of a plugin")
        .describe("The numbers are sums over all hosts, at most a few seconds old. Values of examples are masked.")
        .answers::<RolloutView>(200, "How it stands.")
        .refuses(&[404])
});
pub async fn show(call: &Call<'_>, name: &str) -> ApiResult {
    let status = rollout::status::latest(&call.http.pipeline, name).await?;
    let status = status.ok_or_else(|| {
        ApiError::NotFound(format!(
            "There was no rollout of `{name}`; `leadhost plugin list` shows the plugins."
        ))
    })?;
    reply::ok(&to_view(call, status, None).await?)
}

describe!(list, |operation| operation
    .summary("Lists the last rollout of each plugin")
    .describe("A plugin that never had a rollout is left out.")
    .answers::<RolloutList>(
        200,
        "The rollouts, by the names of their plugins."
    ));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let mut rollouts = Vec::new();
    for last in call.http.core.store.rollouts().await? {
        let status = rollout::status::load(&call.http.pipeline, last).await?;
        rollouts.push(to_view(call, status, None).await?);
    }
    reply::ok(&RolloutList { rollouts })
}

describe!(change, |operation| {
    refuses_component(operation)
        .summary("Changes the open rollout")
        .describe("`pause` and `resume` are for a canary: a paused one stays in its step, and the guards stay on. `promote` \
             activates the candidate of a canary now. `abort` ends any open rollout; in the probation it activates the stable \
             version again.")
        .takes::<RolloutChangeRequest>(&[("abort", "End it", json!({"change": "abort"}))])
        .answers::<RolloutView>(200, "How it stands now.")
        .refuses(&[404])
        .refuses_with(409, "No rollout is open, its stage does not allow the change, or it was changed meanwhile.", &[])
});
pub async fn change(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> ApiResult {
    let request: RolloutChangeRequest = read_json(call, body).await?;
    call.audit(json!({ "change": request.change }));
    let rollouts = call.http.core.store.rollouts().await?;
    if let Some(before) = rollouts.iter().find(|one| one.name == name) {
        call.audit(json!({ "candidate": before.candidate, "before": audited_state(before) }));
    }
    let (name, by) = (name.to_owned(), actor(call, caller));
    let changed = call.to_end(|http| async move {
        rollout::operate::change(&http.pipeline, &name, request.change, &by).await
    });
    let status = changed.await?.map_err(refusal)?;
    call.audit(json!({ "after": audited_state(&status.rollout) }));
    reply::ok(&to_view(call, status, None).await?)
}

/// Returns what an operator's change can change, for the audit.
fn audited_state(rollout: &Rollout) -> Value {
    json!({ "stage": rollout.stage, "percent": rollout.share(), "paused": rollout.paused })
}

pub async fn open(call: &Call<'_>) -> ApiResult<HashMap<String, OpenRollout>> {
    let core = &call.http.core;
    let now = core.clock.now();
    let mut open = HashMap::new();
    for rollout in core.store.rollouts().await? {
        let Some(left) = rollout.left(now) else {
            continue;
        };
        let status = rollout::status::load(&call.http.pipeline, rollout).await?;
        let rollout = &status.rollout;
        let view = OpenRollout {
            candidate: version(call, &rollout.candidate).await?,
            stage: rollout.stage,
            paused: rollout.paused,
            percent: rollout.share(),
            seconds_left: whole_seconds(left),
            waits_for: status.waits_for(rollout.spent(now)),
        };
        open.insert(status.rollout.name, view);
    }
    Ok(open)
}

fn plan(request: &RolloutRequest) -> ApiResult<RolloutPlan> {
    if let Some(fault) = request.fault() {
        return Err(ApiError::BadRequest(format!("{fault}.")));
    }
    let is_shadow = request.mode == RolloutMode::Shadow;
    let (steps, every) = if is_shadow {
        (vec![100], HOUR)
    } else {
        (STEPS.to_vec(), STEP)
    };
    Ok(RolloutPlan {
        mode: request.mode,
        steps: request.steps.clone().unwrap_or(steps),
        every: request.every_seconds.map_or(every, Duration::from_secs),
        probation: request.probation_seconds.map_or(HOUR, Duration::from_secs),
        guards: request.guards.unwrap_or(true),
        step_comparisons: if is_shadow {
            0
        } else {
            request
                .step_comparisons
                .unwrap_or(limits::ROLLOUT_STEP_COMPARISONS)
        },
    })
}

async fn to_view(
    call: &Call<'_>,
    status: RolloutStatus,
    verified: Option<Box<Verified>>,
) -> ApiResult<RolloutView> {
    let core = &call.http.core;
    let drift = status.drift(&core.config.verify);
    let step_compared = status.step_compared();
    let spent = status.rollout.spent(core.clock.now());
    let waits_for = status.waits_for(spent);
    let warning = traffic_warning(call, &status.rollout).await?;
    let RolloutStatus {
        rollout,
        seen,
        hosts,
        behind,
    } = status;
    let candidate = version(call, &rollout.candidate).await?;
    let stable = version(call, &rollout.stable).await?;
    let mean = seen.mean_times();
    let micros = |took: Duration| time::micros(took).unsigned_abs();
    let tally = seen.tally;
    let mean_memory = |total: u64| total.checked_div(seen.measured);
    let (sends, checks) = (seen.sends, seen.checks.differences);
    let names = if tally.connections.is_empty() {
        HashMap::new()
    } else {
        connection_names(core.store.as_ref()).await?
    };
    let connections = tally.connections.into_iter();
    Ok(
        view! { RolloutView from rollout: name, stage, paused, plan, generation, started_by,
            started_at, stage_at, why;
            rolled_back: None,
            percent: match rollout.stage {
                RolloutStage::Verified => 0,
                _ => rollout.percent(),
            },
            spent_seconds: spent.as_secs(),
            step_compared,
            waits_for,
            warning,
            candidate,
            stable,
            deliveries: tally.differences,
            served: seen.served,
            saved: seen.saved,
            dropped: seen.dropped,
            waiting: seen.waiting,
            stable_us: mean.map(|mean| micros(mean.stable)),
            candidate_us: mean.map(|mean| micros(mean.candidate)),
            stable_bytes: mean_memory(seen.stable_bytes),
            candidate_bytes: mean_memory(seen.candidate_bytes),
            sends: (sends.differences.compared > 0).then(|| comparison::send_differences(sends)),
            checks: (checks.compared > 0).then_some(CheckDifferences {
                compared: checks.compared,
                refused: checks.newly_failing,
            }),
            connections: connections
                .map(|(connection_id, counts)| RolloutConnection {
                    name: names.get(&connection_id.to_string()).cloned(),
                    connection_id,
                    counts,
                })
                .collect(),
            drift,
            hosts,
            behind,
            verification: verified.map(|verified| comparison::to_view(*verified))
        },
    )
}

/// Returns why an open rollout gets no traffic, or none that the candidate may serve.
async fn traffic_warning(call: &Call<'_>, rollout: &Rollout) -> ApiResult<Option<String>> {
    let name = &rollout.name;
    if !rollout.stage.is_open() {
        return Ok(None);
    }
    let using = call.http.pipeline.connections_using(name).await?;
    if !using.iter().any(|one| !one.settings.retired) {
        let why = format!("No connection or instance uses `{name}`, so nothing is compared.");
        return Ok(Some(why));
    }
    let begins = matches!(rollout.stage, RolloutStage::Verified | RolloutStage::Canary);
    let is_of_sandbox = name == SANDBOX && begins;
    Ok(is_of_sandbox.then(|| SANDBOX_WARNING.to_owned()))
}

const SANDBOX_WARNING: &str = "The sandbox makes no requests, so the candidate sends no message: both versions are compared on each, and the stable one sends it.";

async fn version(call: &Call<'_>, digest: &Digest) -> ApiResult<RolloutVersion> {
    let record = call.http.core.store.plugin(digest).await?;
    Ok(RolloutVersion {
        version: record.map(|record| record.description.version),
        digest: digest.clone(),
    })
}
