use super::comparison;
use crate::endpoints::admin::prelude::*;
use crate::error::{ConflictDetails, UnprocessableDetails};
use leadhost_admin_api::plugins::{DeployedPlugin, RefusedActivation, RefusedComponent};
use leadhost_domain::accept::AcceptWord;
use leadhost_pipeline::deploy::{Activated, DeployError};
use leadhost_pipeline::fleet::FleetError;
use leadhost_plugin::LoadError;
use leadhost_store::PluginRecord;

pub async fn activated(http: &Http, activated: Activated) -> ApiResult<DeployedPlugin> {
    let record = http.core.store.plugin(&activated.activation.digest).await?;
    Ok(to_view(activated, record))
}

pub fn to_view(activated: Activated, record: Option<PluginRecord>) -> DeployedPlugin {
    let Activated {
        activation,
        before,
        behind,
        verified,
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
        behind: Some(behind),
        verification: verified.map(|verified| comparison::to_view(*verified)),
    }
}

/// Returns why a version is not deployed, as the response says it.
pub fn refusal(error: DeployError) -> ApiError {
    let message = error.to_string();
    match error {
        DeployError::Load(LoadError::Busy { .. }) => ApiError::Overloaded {
            shed: Shed::Plugins,
            what: "Other components already wait for their trial; try again when they are done.",
            retry_after: Duration::from_secs(10),
        },
        DeployError::Load(error) if error.is_temporary() => ApiError::Overloaded {
            shed: Shed::Plugins,
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
                concerns,
                verification: verified.map(|verified| comparison::to_view(*verified)),
            };
            ApiError::Conflict {
                message,
                details: Some(ConflictDetails::Activation(Box::new(refused))),
            }
        }
        DeployError::UnknownDigest(_) | DeployError::UnknownPlugin(_) => {
            ApiError::NotFound(message)
        }
        DeployError::Widening { .. } => ApiError::Forbidden(message),
        DeployError::AnotherName { .. }
        | DeployError::Named { .. }
        | DeployError::NothingBefore(_)
        | DeployError::NothingToCompare(_)
        | DeployError::CanaryOpen { .. }
        | DeployError::Rollout(_) => ApiError::conflict(message),
        DeployError::Fleet(FleetError::NotPrepared(hosts)) => {
            let refused = RefusedComponent {
                kind: "host".to_owned(),
                hosts: Some(hosts),
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
