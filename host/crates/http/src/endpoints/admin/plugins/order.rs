//! An order about a version: its query, its component and the words that it accepts, with their row of the audit.

use super::outcome::refusal;
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::request::needs;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::audit_text::reason;
use leadhost_domain::key::Role;
use leadhost_domain::plugin::Description;
use leadhost_pipeline::deploy::{AcceptedWords, Concern, DeployError};
use leadhost_store::PluginRecord;

/// Returns the one stored version of this plugin whose digest has this beginning.
pub async fn whole(http: &Http, name: &str, start: &str) -> ApiResult<PluginRecord> {
    if start.len() < Digest::SHORTEST {
        return Err(ApiError::BadRequest(format!(
            "`{start}` is too short for a digest: give at least {} characters of the version's, which `leadhost plugin list` shows.",
            Digest::SHORTEST
        )));
    }
    let start = start.to_ascii_lowercase();
    let mut found: Vec<PluginRecord> = http
        .core
        .store
        .plugins()
        .await?
        .into_iter()
        .filter(|record| record.description.name == name && record.digest.0.starts_with(&start))
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(ApiError::NotFound(format!(
            "There is no version {start} of `{name}`; `leadhost plugin list` shows those that exist."
        ))),
        _ => Err(ApiError::BadRequest(format!(
            "Several versions of `{name}` begin with {start}: give more of the digest."
        ))),
    }
}

/// Reads the component of the body, and adds its digest to the audit.
pub async fn component(call: &Call<'_>, body: UnreadBody) -> ApiResult<Vec<u8>> {
    let limit = call.http.core.config.plugins.component_mib << 20;
    let wasm = body.read(call.http, limit).await?.bytes.to_vec();
    // All of its bytes are hashed.
    let hashed = tokio::task::spawn_blocking(move || (Digest::compute(&wasm), wasm));
    let (digest, wasm) = hashed.await.map_err(ApiError::internal)?;
    call.audit(json!({ "digest": digest }));
    Ok(wasm)
}

/// Adds to the audit which version a component is, once that is known.
pub fn audit_version(call: &Call<'_>, description: &Description) {
    let Description { name, version, .. } = description;
    call.audit(json!({ "plugin": name, "version": version }));
}

pub fn takes_component(operation: Operation<'_>) -> Operation<'_> {
    refuses_component(
        operation.takes_content(&json!({"application/wasm": {"schema": {
            "type": "string",
            "format": "binary",
            "description": "A WebAssembly component. The content type is not checked.",
        }}})),
    )
}

pub fn refuses_component(operation: Operation<'_>) -> Operation<'_> {
    operation.refuses_with(
        422,
        "The component cannot be used. `kind` is a stable code of the reason. If it is `host`, `hosts` lists the hosts of the fleet that cannot serve the component, each with its `reason`.",
        &[
            (
                "text",
                "The body is not a component",
                json!({
                    "code": "component_refused", "error": "the file is not WebAssembly: it does not begin with the magic bytes",
                    "kind": "not_wasm",
                }),
            ),
            (
                "host",
                "A host of the fleet cannot serve it",
                json!({
                    "code": "unprocessable", "error": "it is not activated, because not every host can serve it: two: no memory",
                    "kind": "host",
                    "hosts": [{"host": "two", "reason": "no memory"}],
                }),
            ),
        ],
    )
}

/// Describes the refusal of a version that raises concerns that must be accepted. `others` says what is refused
/// too. `example` is the reason of the example.
pub fn refuses_concerns<'s>(
    operation: Operation<'s>,
    what: &str,
    others: &str,
    error: &str,
) -> Operation<'s> {
    operation.refuses_with(
        409,
        &format!("{what} raises concerns that must be accepted: `concerns` lists the reasons, and `accept` the words that accept them. Without these fields, {others}."),
        &[(
            "older",
            "The version is older than the active one",
            json!({
                "code": "acceptance_needed",
                "error": format!("{error}: version 1.3.0 is older than 1.4.0, the active one (accept with --accept older)"),
                "accept": ["older"],
                "concerns": [{"accept": "older", "what": "version 1.3.0 is older than 1.4.0, the active one"}],
            }),
        )],
    )
}

pub fn refuses_activation(operation: Operation<'_>) -> Operation<'_> {
    refuses_concerns(
        refuses_component(operation),
        "The activation",
        "the digest belongs to another plugin, or another activation is in progress or happened meanwhile",
        "portal 1.3.0 is not activated",
    )
}

/// Runs work that is for the client alone. When the client leaves, or its time is up, the work
/// is dropped and so ends where it is.
pub async fn while_wanted<T>(
    call: &Call<'_>,
    work: impl Future<Output = Result<T, DeployError>>,
) -> ApiResult<T> {
    let work = Box::pin(work);
    tokio::select! {
        done = work => done.map_err(refusal),
        () = call.client.left() => {
            tracing::info!("client disconnected, trial of its component cancelled");
            Err(ApiError::BadRequest("The client no longer waits for the answer.".to_owned()))
        }
    }
}

/// Reads the words that the caller accepts, and adds them to the audit: also of a version that is
/// refused then. Those that let a version do more need the role `admin`.
pub fn accepted<'a>(
    call: &Call<'_>,
    caller: &AdminCaller,
    words: impl IntoIterator<Item = &'a str>,
) -> ApiResult<AcceptedWords> {
    let accept: AcceptedWords = words
        .into_iter()
        .map(AcceptWord::parse)
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::BadRequest(format!("{error}.")))?;
    let words: Vec<&str> = accept.words().map(AcceptWord::as_str).collect();
    if !words.is_empty() {
        call.audit(json!({ "accept": words }));
    }
    if let Some(word) = accept.for_admins() {
        needs(caller, Role::Admin, &format!("accept {word}"))?;
    }
    Ok(accept)
}

pub fn audit_accepted(call: &Call<'_>, accepted: &[Concern]) {
    if accepted.is_empty() {
        return;
    }
    let concerns = accepted.iter().take(limits::AUDITED_CONCERNS);
    let concerns = concerns.map(|Concern { accept, what }| {
        let word = accept.map_or("", AcceptWord::as_str);
        json!({ "accept": word, "what": reason(what) })
    });
    call.audit(json!({ "accepted": concerns.collect::<Value>() }));
    let more = accepted.len().saturating_sub(limits::AUDITED_CONCERNS);
    if more > 0 {
        call.audit(json!({ "moreAccepted": more }));
    }
}
