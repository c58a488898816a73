//! Plugins: their list, upload, activation, rollback and removal.

pub mod activate;
pub mod calls;
pub mod check;
mod connection_names;
pub mod golden;
pub mod list;
pub mod remove;
pub mod rollback;
pub mod rollout;
pub mod upload;
pub mod verify;

use std::time::Duration;

use serde_json::{Value, json};

use crate::admin_api::hosts::BehindView;
use crate::admin_api::plugins::{
    AwaitsSecondKey, ConcernView, DeployedPlugin, RefusedActivation, RefusedComponent, SecondKey,
};
use crate::domain::accept::AcceptWord;
use crate::domain::acceptance::FirstAcceptance;
use crate::domain::audit_text::reason;
use crate::domain::key::Role;
use crate::domain::plugin::Digest;
use crate::http::auth::AdminCaller;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::endpoints::admin::audit::actor;
use crate::http::endpoints::admin::needs;
use crate::http::error::{ApiError, ConflictDetails, UnprocessableDetails};
use crate::http::state::Http;
use crate::limits;
use crate::pipeline::deploy::{AcceptedWords, Activated, Concern, DeployError};
use crate::pipeline::fleet::{Behind, FleetError};
use crate::plugin::LoadError;
use crate::store::PluginRecord;

/// Returns the one stored version of this plugin whose digest has this beginning.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the beginning is too short or matches several versions,
/// [`ApiError::NotFound`] if it matches none, and [`ApiError::Store`] if the store fails.
async fn whole(http: &Http, name: &str, start: &str) -> Result<PluginRecord, ApiError> {
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
async fn component(call: &Call<'_>, body: UnreadBody) -> Result<Vec<u8>, ApiError> {
    let limit = call.http.core.config.plugins.component_mib << 20;
    let body = body.read(call.http, limit).await?;
    Ok(body.bytes.to_vec())
}

/// Runs work that is for the client alone. When the client leaves, or its time is up, the work
/// is dropped and so ends where it is.
async fn while_wanted<T>(
    call: &Call<'_>,
    work: impl Future<Output = Result<T, DeployError>>,
) -> Result<T, ApiError> {
    let work = Box::pin(work);
    tokio::select! {
        done = work => done.map_err(refusal),
        () = call.client.left() => {
            tracing::info!("client left, trial of its component stopped");
            Err(ApiError::BadRequest("The client no longer waits for the answer.".to_owned()))
        }
    }
}

/// Reads the words that the caller accepts, and adds them to the audit: also of a version that is
/// refused then. Those that let a version do more need the role `admin`.
fn accepted<'a>(
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
    Ok(accept.by(actor(call, caller)))
}

/// Adds the first of the two keys that have accepted a version to the audit, if two were needed.
fn audit_first(call: &Call<'_>, first: Option<&FirstAcceptance>) {
    if let Some(first) = first {
        let key = json!({ "id": first.key, "label": first.label, "at": first.at });
        call.audit(json!({ "firstKey": key }));
    }
}

/// Adds the concerns about a version that were accepted to the audit, with their numbers.
fn audit_accepted(call: &Call<'_>, accepted: &[Concern]) {
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

/// Returns the answer to an activation.
async fn activated(http: &Http, activated: Activated) -> Result<DeployedPlugin, ApiError> {
    let record = http.core.store.plugin(&activated.activation.digest).await?;
    Ok(to_view(activated, record))
}

fn to_view(activated: Activated, record: Option<PluginRecord>) -> DeployedPlugin {
    let Activated {
        activation,
        before,
        behind,
        verified,
        first_acceptance: _,
        accepted: _,
    } = activated;
    DeployedPlugin {
        name: activation.name,
        golden: record.as_ref().map(|record| record.golden),
        version: record.map(|record| record.description.version),
        digest: activation.digest,
        previous: before,
        generation: Some(activation.generation),
        activated_at: Some(activation.activated_at),
        active: true,
        behind: Some(behind.into_iter().map(Into::into).collect()),
        verification: verified.map(|verified| verify::to_view(*verified)),
    }
}

impl From<Behind> for BehindView {
    fn from(behind: Behind) -> Self {
        let Behind { host, reason } = behind;
        Self { host, reason }
    }
}

impl From<Concern> for ConcernView {
    fn from(concern: Concern) -> Self {
        let Concern { accept, what } = concern;
        Self { accept, what }
    }
}

fn refusal(error: DeployError) -> ApiError {
    let message = error.to_string();
    match error {
        DeployError::Load(LoadError::Busy { .. }) => ApiError::Overloaded {
            what: "Other components already wait for their trial; try again when they are done.",
            retry_after: Duration::from_secs(10),
        },
        DeployError::Load(error) if error.is_temporary() => ApiError::Overloaded {
            what: "The host could not try the component just now; its log says why. Try again.",
            retry_after: Duration::from_secs(1),
        },
        DeployError::Load(error) => ApiError::Unprocessable {
            message,
            details: Some(UnprocessableDetails::Component(RefusedComponent {
                kind: error.kind().to_owned(),
                hosts: None,
            })),
        },
        DeployError::Untrusted { signer, .. } => {
            let kind = match signer {
                None => "unsigned",
                Some(_) => "unknown_signer",
            };
            ApiError::Unprocessable {
                message,
                details: Some(UnprocessableDetails::Component(RefusedComponent {
                    kind: kind.to_owned(),
                    hosts: None,
                })),
            }
        }
        DeployError::Refused {
            concerns, verified, ..
        } => {
            let refused = RefusedActivation {
                accept: AcceptWord::in_order(concerns.iter().filter_map(|one| one.accept)),
                concerns: concerns.into_iter().map(Into::into).collect(),
                verification: verified.map(|verified| verify::to_view(*verified)),
            };
            ApiError::Conflict {
                message,
                details: Some(ConflictDetails::Activation(Box::new(refused))),
            }
        }
        DeployError::SecondKey { concerns, .. } => {
            let waits = AwaitsSecondKey {
                second_key: SecondKey {
                    accept: AcceptWord::in_order(concerns.iter().filter_map(|one| one.accept)),
                    within_seconds: limits::ACCEPTANCE_KEPT.as_secs(),
                },
            };
            ApiError::Conflict {
                message,
                details: Some(ConflictDetails::SecondKey(waits)),
            }
        }
        DeployError::UnknownDigest(_) | DeployError::UnknownPlugin(_) => {
            ApiError::NotFound(message)
        }
        DeployError::Widening { .. } | DeployError::NoKey { .. } => ApiError::Forbidden(message),
        DeployError::AnotherName { .. }
        | DeployError::Named { .. }
        | DeployError::NothingBefore(_)
        | DeployError::NothingToCompare(_)
        | DeployError::CanaryOpen { .. }
        | DeployError::Rollout(_) => ApiError::conflict(message),
        DeployError::Fleet(FleetError::NotPrepared(hosts)) => {
            let refused = RefusedComponent {
                kind: "host".to_owned(),
                hosts: Some(hosts.into_iter().map(Into::into).collect()),
            };
            ApiError::Unprocessable {
                message,
                details: Some(UnprocessableDetails::Component(refused)),
            }
        }
        DeployError::Fleet(_) => ApiError::conflict(message),
        DeployError::Store(error) => error.into(),
    }
}
