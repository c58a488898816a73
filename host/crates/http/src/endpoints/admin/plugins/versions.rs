//! The small operations on the stored versions of a plugin: activate one, roll back to the previous one,
//! remove one, and show the golden cases that one carries. A digest may be shortened as long as it names
//! one version.

use leadhost_golden::Case;

use super::order::{accepted, audit_accepted, while_wanted, whole};
use super::order::{refuses_activation, refuses_component};
use super::outcome::{activated, refusal};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::plugin_calls::{CarriedCase, CarriedCases};
use leadhost_admin_api::plugins::{
    ActivateRequest, DeployedPlugin, RemovedPlugin, RollbackRequest,
};
use leadhost_domain::key::Role;
use leadhost_pipeline::deploy;
use leadhost_plugin as plugin;

describe!(activate, |operation| {
    refuses_activation(operation)
        .summary("Activates a stored version")
        .describe("Calls in progress end on the old version. Calls that begin after the answer run on the new one.")
        .takes::<ActivateRequest>(&[(
            "short",
            "The beginning of a digest, and the acceptance of an older version",
            json!({"digest": "9b0f7a3c5d2e", "accept": ["older"]}),
        )])
        .answers::<DeployedPlugin>(200, "It is active.")
        .refuses(&[404])
});
pub async fn activate(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> ApiResult {
    let request: ActivateRequest = read_json(call, body).await?;
    let digest = whole(call.http, name, &request.digest).await?.digest;
    call.audit(json!({ "digest": digest }));
    let accept = accepted(call, caller, request.accept.iter().map(String::as_str))?;
    let tried = deploy::try_stored(&call.http.pipeline, name, &digest);
    let tried = while_wanted(call, tried).await?;
    let swapped =
        call.to_end(|http| async move { deploy::activate(&http.pipeline, tried, &accept).await });
    let swapped = swapped.await?.map_err(refusal)?;
    call.audit(json!({ "previous": swapped.before }));
    audit_accepted(call, &swapped.accepted);
    let answer = activated(call.http, swapped).await?;
    call.audit(json!({ "version": answer.version }));
    reply::ok(&answer)
}

describe!(roll_back, |operation| {
    refuses_component(operation)
        .summary("Activates the previous version again")
        .may_take::<RollbackRequest>(&[(
            "restored",
            "The acceptance of a version that was itself rolled back",
            json!({"accept": ["rolled-back"]}),
        )])
        .answers::<DeployedPlugin>(200, "The previous version is active.")
        .refuses(&[404])
        .refuses_with(409, "No version was active before, another activation is in progress or happened meanwhile, or the previous version was itself rolled back (`accept`: `rolled-back`), or has another kind while the name is in use. In the last two cases `concerns` says so.", &[])
});
pub async fn roll_back(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> ApiResult {
    let request: RollbackRequest = read_json(call, body).await?;
    let accept = accepted(call, caller, request.accept.iter().map(String::as_str))?;
    let begun = call.audited().begun;
    let may_widen = caller.role() == Role::Admin;
    let name = name.to_owned();
    let swapped = call.to_end(|http| async move {
        deploy::rollback(&http.pipeline, &name, may_widen, &accept, begun).await
    });
    let swapped = swapped.await?.map_err(refusal)?;
    call.audit(json!({
        "digest": swapped.activation.digest,
        "previous": swapped.before,
    }));
    let answer = activated(call.http, swapped).await?;
    call.audit(json!({ "version": answer.version }));
    reply::ok(&answer)
}

describe!(remove, |operation| {
    operation
        .summary("Removes a stored version that nothing names")
        .describe("A version is kept while it is active, a rollback would activate it, the last rollout names it, fetches that it began are not finished, it converted deliveries that are kept, or an open repair replays those. A file of the inbox with its bytes is not stored again; an upload is.")
        .answers::<RemovedPlugin>(200, "It is removed.")
        .refuses(&[400, 404])
        .refuses_with(409, "Something names the version: the message says what.", &[])
});
pub async fn remove(call: &Call<'_>, name: &str, digest: &str) -> ApiResult {
    let version = whole(call.http, name, digest).await?;
    call.audit(json!({ "digest": version.digest, "version": version.description.version }));
    let removed = RemovedPlugin {
        name: version.description.name.clone(),
        version: version.description.version.clone(),
        digest: version.digest.clone(),
        removed: true,
    };
    let work = call.to_end(|http| async move { deploy::remove(&http.pipeline, &version).await });
    work.await?.map_err(refusal)?;
    reply::ok(&removed)
}

describe!(golden_cases, |operation| operation
    .summary("Lists the golden cases that a version carries, or shows one of them")
    .query(
        "case",
        word(),
        "The name of a case: only this one, with its body and its expected answer."
    )
    .answers::<CarriedCases>(200, "The cases.")
    .refuses(&[400, 404]));
pub async fn golden_cases(call: &Call<'_>, name: &str, digest: &str) -> ApiResult {
    let record = whole(call.http, name, digest).await?;
    let gone = || {
        ApiError::NotFound(format!(
            "There is no version {digest} of `{name}`; `leadhost plugin list` shows the versions that exist."
        ))
    };
    let wasm = call.http.core.store.plugin_wasm(&record.digest).await?;
    let cases = plugin::carried_cases(wasm.ok_or_else(gone)?).await;
    let cases = cases.map_err(ApiError::internal)?;
    let query = call.query();
    let wanted = query.filled(&["case"]);
    let cases: Vec<CarriedCase> = match wanted {
        None => cases.iter().map(|case| view(case, false)).collect(),
        Some(wanted) => {
            let found = cases.iter().find(|case| case.name == wanted);
            let found = found.ok_or_else(|| {
                ApiError::NotFound(format!(
                    "{} of `{name}` has no golden case `{wanted}`.",
                    record.description.version
                ))
            })?;
            vec![view(found, true)]
        }
    };
    reply::ok(&CarriedCases {
        version: record.description.version,
        digest: record.digest,
        cases,
    })
}

fn view(case: &Case, with_content: bool) -> CarriedCase {
    CarriedCase {
        name: case.name.clone(),
        about: case.about.clone(),
        call: case.call.name().to_owned(),
        body_bytes: case.body.len() as u64,
        body: case.body_text().filter(|_| with_content).map(str::to_owned),
        expect: case.expect.clone().filter(|_| with_content),
    }
}
