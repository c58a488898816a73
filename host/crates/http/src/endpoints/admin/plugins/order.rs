//! An order about a version: its query, its component and the words that it accepts, with their row of the audit.

use serde_json::{Value, json};

use super::outcome::refusal;
use crate::auth::AdminCaller;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::endpoints::admin::request::needs;
use crate::error::ApiError;
use crate::state::Http;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::audit_text::reason;
use leadhost_domain::key::Role;
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_pipeline::deploy::{AcceptedWords, Concern, DeployError};
use leadhost_store::PluginRecord;

/// Returns the one stored version of this plugin whose digest has this beginning.
pub async fn whole(http: &Http, name: &str, start: &str) -> Result<PluginRecord, ApiError> {
    if start.len() < Digest::SHORTEST {
        return Err(ApiError::BadRequest(format!(
            "`{start}` is too short for a digest: give at least {} characters of that of the version, which `leadhost plugin list` shows.",
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

/// Reads the bytes of a component.
pub async fn component(call: &Call<'_>, body: UnreadBody) -> Result<Vec<u8>, ApiError> {
    let limit = call.http.core.config.plugins.component_mib << 20;
    let body = body.read(call.http, limit).await?;
    Ok(body.bytes.to_vec())
}

/// Runs work that is for the client alone. When the client leaves, or its time is up, the work
/// is dropped and so ends where it is.
pub async fn while_wanted<T>(
    call: &Call<'_>,
    work: impl Future<Output = Result<T, DeployError>>,
) -> Result<T, ApiError> {
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
) -> Result<AcceptedWords, ApiError> {
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

/// Adds the concerns about a version that were accepted to the audit, with their numbers.
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
