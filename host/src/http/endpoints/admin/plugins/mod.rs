//! Plugins: their list, upload, activation and rollback.

pub mod activate;
pub mod check;
pub mod list;
pub mod rollback;
pub mod upload;

use serde_json::{Value, json};

use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::state::Http;
use crate::pipeline::deploy::{Accept, Activated, DeployError};
use crate::pipeline::fleet::FleetError;
use crate::plugin::LoadError;
use crate::store::PluginRecord;

/// Reads the bytes of a component.
async fn component(call: &Call<'_>, body: Unread) -> Result<Vec<u8>, ApiError> {
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

fn accepted<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Accept, ApiError> {
    Accept::of(words).map_err(|word| {
        ApiError::BadRequest(format!(
            "`{word}` cannot be accepted; there are {}.",
            Accept::WORDS.join(", ")
        ))
    })
}

/// Returns the answer to an activation.
async fn activated(http: &Http, activated: &Activated) -> Result<Value, ApiError> {
    let record = http.core.store.plugin(&activated.activation.digest).await?;
    Ok(shown(activated, record.as_ref()))
}

fn shown(activated: &Activated, record: Option<&PluginRecord>) -> Value {
    let activation = &activated.activation;
    json!({
        "name": activation.name,
        "version": record.map(|record| &record.description.version),
        "digest": activation.digest,
        "previous": activation.previous,
        "generation": activation.generation,
        "activatedAt": activation.activated_at,
        "golden": record.map(|record| record.golden),
        "active": true,
        // Live hosts that do not serve it yet. They keep trying.
        "behind": activated.behind,
    })
}

fn refusal(error: DeployError) -> ApiError {
    let message = error.to_string();
    match error {
        DeployError::Load(LoadError::Busy { .. }) => ApiError::Overloaded {
            what: "Other components already wait for their trial; try again when they are done.",
            retry_after: 10,
        },
        DeployError::Load(error) if error.is_passing() => ApiError::Overloaded {
            what: "The host could not try the component just now; its log says why. Try again.",
            retry_after: 1,
        },
        DeployError::Load(error) => ApiError::Unprocessable {
            message,
            details: json!({ "kind": error.kind() }),
        },
        DeployError::Refused { concerns, .. } => {
            let accept: std::collections::BTreeSet<&str> = concerns
                .iter()
                .map(|concern| concern.accept.as_str())
                .filter(|word| !word.is_empty())
                .collect();
            ApiError::Conflict {
                details: json!({ "accept": accept, "concerns": concerns }),
                message,
            }
        }
        DeployError::UnknownDigest(_) | DeployError::UnknownPlugin(_) => {
            ApiError::NotFound(message)
        }
        DeployError::AnotherName { .. } | DeployError::NothingBefore(_) => {
            ApiError::conflict(message)
        }
        DeployError::Fleet(FleetError::NotPrepared(hosts)) => ApiError::Unprocessable {
            message,
            details: json!({ "kind": "host", "hosts": hosts }),
        },
        DeployError::Fleet(_) => ApiError::conflict(message),
        DeployError::Store(error) => error.into(),
    }
}
