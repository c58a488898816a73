//! The operations whose body is a component: it is checked without a trace, or stored and activated.

use super::order::{refuses_activation, takes_component};
use super::{
    order::{accepted, audit_accepted, audit_version, component, while_wanted},
    outcome::{refusal, to_view},
};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::plugins::{CheckedPlugin, DeployedPlugin};
use leadhost_domain::accept::AcceptWord;
use leadhost_pipeline::deploy::{self, ComponentOrigin};

describe!(check, |operation| takes_component(operation)
    .summary("Tries a component as an activation would, and changes nothing")
    .answers::<CheckedPlugin>(200, "The component is usable."));
pub async fn check(call: &Call<'_>, caller: &AdminCaller, body: UnreadBody) -> ApiResult {
    let wasm = component(call, body).await?;
    let origin = ComponentOrigin::upload(caller.key());
    let report = while_wanted(call, deploy::check(&call.http.pipeline, wasm, origin)).await?;
    audit_version(call, &report.description);
    reply::ok(
        &view! { CheckedPlugin from report: digest, kind, contract, golden, publisher,
            concerns;
            name: report.description.name,
            version: report.description.version
        },
    )
}

describe!(upload, |operation| {
    refuses_activation(takes_component(operation))
        .summary("Stores a component, and activates it if that is requested")
        .describe("The component is compiled, and runs its trial and its golden cases before it is stored. \
             If its activation raises concerns that must be accepted, nothing is stored.")
        .flag("activate", "Whether to activate the component too.")
        .query("accept", json!({"type": "array", "items": {"type": "string", "enum": AcceptWord::ALL}}), "Accepts the concerns of this word. May be repeated.")
        .query("source", json!({"type": "string", "maxLength": limits::SOURCE_BYTES, "pattern": "^oci://[!-~]+@sha256:[!-~]*$"}), "The address in a registry from which the component was pulled, with the digest of its manifest. It becomes the version's `origin`.")
        .answers::<DeployedPlugin>(201, "The component is stored.")
});
pub async fn upload(call: &Call<'_>, caller: &AdminCaller, body: UnreadBody) -> ApiResult {
    let activate = flag(call, "activate")?;
    let query = call.query();
    let accept = accepted(call, caller, query.all("accept"))?;
    let source = source(&query)?;
    let wasm = component(call, body).await?;
    let origin = ComponentOrigin::upload(caller.key()).from_registry(source);
    let tried = deploy::try_out(&call.http.pipeline, wasm.clone(), activate);
    let tried = while_wanted(call, tried).await?;
    audit_version(call, &tried.version().description);
    if let Some(source) = source {
        call.audit(json!({ "source": source }));
    }
    let deployed = call.to_end(|http| async move {
        deploy::admit(&http.pipeline, tried, wasm, origin, &accept).await
    });
    let deployed = deployed.await?.map_err(refusal)?;
    let record = deployed.record;
    let activation = deployed.activation.as_ref();
    call.audit(json!({
        "activated": activation.is_some(),
        "previous": activation.map(|one| &one.before),
    }));
    audit_accepted(call, activation.map_or(&[], |one| one.accepted.as_slice()));
    let answer = match deployed.activation {
        Some(activated) => to_view(activated, Some(record)),
        None => DeployedPlugin {
            name: record.description.name,
            version: Some(record.description.version),
            digest: record.digest,
            previous: None,
            generation: None,
            activated_at: None,
            golden: Some(record.golden),
            active: false,
            behind: None,
            verification: None,
        },
    };
    reply::json(StatusCode::CREATED, &answer)
}

/// Reads the address in a registry from which the client has pulled the component.
fn source<'q>(query: &'q Query<'_>) -> ApiResult<Option<&'q str>> {
    let Some(source) = query.filled(&["source"]) else {
        return Ok(None);
    };
    let is_pinned = source.starts_with("oci://") && source.contains("@sha256:");
    let is_text =
        source.len() <= limits::SOURCE_BYTES && source.bytes().all(|byte| byte.is_ascii_graphic());
    if is_pinned && is_text {
        return Ok(Some(source));
    }
    Err(ApiError::BadRequest(format!(
        "`source` is not the address of a component in a registry: expected oci://REGISTRY/NAME@sha256:DIGEST of at most {} bytes.",
        limits::SOURCE_BYTES
    )))
}
