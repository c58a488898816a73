//! The small operations on the stored versions of a plugin: activate one, roll back to the previous one,
//! remove one, and show the golden cases that one carries. A digest may be shortened as long as it names
//! one version.

use std::sync::Arc;

use hyper::StatusCode;
use leadhost_golden::Case;
use serde_json::json;

use super::order::{accepted, audit_accepted, while_wanted, whole};
use super::outcome::{activated, refusal};
use crate::auth::AdminCaller;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::endpoints::admin::request::read_json;
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::plugin_calls::{CarriedCase, CarriedCases};
use leadhost_admin_api::plugins::{ActivateRequest, RemovedPlugin, RollbackRequest};
use leadhost_domain::key::Role;
use leadhost_pipeline::deploy;
use leadhost_plugin as plugin;

/// `POST /admin/v1/plugins/{name}/activate {digest, accept}`: activates a stored version. Returns it.
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
    let answer = activated(call.http, swapped).await?;
    call.audit(json!({ "version": answer.version }));
    reply::json(StatusCode::OK, &answer)
}

/// `POST /admin/v1/plugins/{name}/rollback {accept}`: activates the previous version of a plugin. Returns
/// it.
pub async fn roll_back(
    call: &Call<'_>,
    caller: &AdminCaller,
    name: &str,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let request: RollbackRequest = read_json(call, body).await?;
    let accept = accepted(call, caller, request.accept.iter().map(String::as_str))?;
    let begun = call.audited().begun;
    let may_widen = caller.role() == Role::Admin;
    let (http, name) = (Arc::clone(call.http), name.to_owned());
    let swapped = call.http.core.spawn(async move {
        deploy::rollback(&http.pipeline, &name, may_widen, &accept, begun).await
    });
    let swapped = swapped
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    call.audit(json!({
        "digest": swapped.activation.digest,
        "previous": swapped.before,
    }));
    let answer = activated(call.http, swapped).await?;
    call.audit(json!({ "version": answer.version }));
    reply::json(StatusCode::OK, &answer)
}

/// `DELETE /admin/v1/plugins/{name}/versions/{digest}`: removes a stored version that nothing names.
/// Returns which one.
pub async fn remove(call: &Call<'_>, name: &str, digest: &str) -> Result<ApiResponse, ApiError> {
    let version = whole(call.http, name, digest).await?;
    call.audit(json!({ "digest": version.digest, "version": version.description.version }));
    let removed = RemovedPlugin {
        name: version.description.name.clone(),
        version: version.description.version.clone(),
        digest: version.digest.clone(),
        removed: true,
    };
    let http = Arc::clone(call.http);
    let work = call
        .http
        .core
        .spawn(async move { deploy::remove(&http.pipeline, &version).await });
    work.await.map_err(ApiError::internal)?.map_err(refusal)?;
    reply::json(StatusCode::OK, &removed)
}

/// `GET /admin/v1/plugins/{name}/versions/{digest}/golden?case=`: returns the golden cases that a stored
/// version carries, or one of them with its content.
pub async fn golden_cases(
    call: &Call<'_>,
    name: &str,
    digest: &str,
) -> Result<ApiResponse, ApiError> {
    let record = whole(call.http, name, digest).await?;
    let gone = || {
        ApiError::NotFound(format!(
            "There is no version {digest} of `{name}` any more; `leadhost plugin list` shows those that exist."
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
    let answer = CarriedCases {
        version: record.description.version,
        digest: record.digest,
        cases,
    };
    reply::json(StatusCode::OK, &answer)
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
