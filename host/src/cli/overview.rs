//! What a running service tells about itself: the answers of the admin API that `leadhost status` and
//! `leadhost doctor` judge.

use std::collections::{BTreeMap, BTreeSet};

use hyper::StatusCode;
use serde::Deserialize;

use super::client::{AdminAnswer, AdminClient, encoded};
use super::failure::CommandFailure;
use crate::admin_api::connections::{Bound, Connections};
use crate::admin_api::instances::Instances;
use crate::admin_api::plugins::{PluginList, VersionState};
use crate::admin_api::rollouts::RolloutView;
use crate::admin_api::status::ServiceStatus;

/// The answers of one service.
pub struct Overview {
    pub status: ServiceStatus,
    pub connections: Connections,
    pub instances: Instances,
    pub plugins: PluginList,
}

/// The answer of `GET /health/ready`.
#[derive(Debug, Default, Deserialize)]
pub struct Readiness {
    /// Why the service is not ready. Empty if it is.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// A secret that a plugin or a check needs, and that its connection or instance does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingSecret {
    /// `connection` or `instance`.
    pub kind: &'static str,
    /// `workspace/name`.
    pub name: String,
    pub secret: String,
}

impl Overview {
    /// Reads the lists that complete this state of the service.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if the service cannot be reached or refuses a request.
    pub async fn read(
        client: &AdminClient,
        status: AdminAnswer<ServiceStatus>,
    ) -> Result<Self, CommandFailure> {
        Ok(Self {
            status: status.content,
            connections: client.get("/admin/v1/connections").await?.content,
            instances: client.get("/admin/v1/instances").await?.content,
            plugins: client.get("/admin/v1/plugins").await?.content,
        })
    }

    /// Returns the secrets that are missing, by connection and instance.
    pub fn missing_secrets(&self) -> Vec<MissingSecret> {
        let needed = self.needed_secrets();
        let none = BTreeSet::new();
        let of = |kind, name: String, plugin: Option<&String>, bound: &Bound| {
            let declared = plugin.and_then(|plugin| needed.get(plugin.as_str()));
            let checks = bound.checks.iter().map(|check| check.secret.as_str());
            let all: BTreeSet<&str> = declared
                .unwrap_or(&none)
                .iter()
                .copied()
                .chain(checks)
                .collect();
            all.into_iter()
                .filter(|secret| !bound.secrets.iter().any(|has| has == secret))
                .map(|secret| MissingSecret {
                    kind,
                    name: name.clone(),
                    secret: secret.to_owned(),
                })
                .collect::<Vec<_>>()
        };
        let connections = self.connections.connections.iter().flat_map(|one| {
            let name = format!("{}/{}", one.workspace, one.name);
            of("connection", name, Some(&one.plugin), &one.bound)
        });
        let instances = self.instances.instances.iter().flat_map(|one| {
            let name = format!("{}/{}", one.workspace, one.name);
            let settings = one.settings.as_ref();
            settings.map_or_else(Vec::new, |settings| {
                of("instance", name, one.adapter.as_ref(), &settings.bound)
            })
        });
        connections.chain(instances).collect()
    }

    /// Returns the secrets that the active version of each plugin requires.
    fn needed_secrets(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let active = self.plugins.plugins.iter().filter_map(|plugin| {
            let mut versions = plugin.versions.iter();
            let version = versions.find(|version| version.state == VersionState::Active)?;
            let required = version.secrets.iter().filter(|secret| secret.required);
            let names = required.map(|secret| secret.name.as_str()).collect();
            Some((plugin.name.as_str(), names))
        });
        active.collect()
    }
}

/// Returns why the service is not ready. `None` if its answer cannot be read: a proxy may not pass the
/// path on.
///
/// # Errors
///
/// [`CommandFailure`] if the service cannot be reached.
pub async fn readiness(client: &AdminClient) -> Result<Option<Readiness>, CommandFailure> {
    Ok(match client.try_get("/health/ready").await? {
        Ok(ready) => Some(ready.content),
        Err(refusal) if refusal.status == StatusCode::SERVICE_UNAVAILABLE => {
            Readiness::deserialize(&refusal.body).ok()
        }
        Err(_) => None,
    })
}

/// Returns the last rollout of a plugin. `None` if it never had one.
///
/// # Errors
///
/// [`CommandFailure`] if the service cannot be reached or refuses the request.
pub async fn last_rollout(
    client: &AdminClient,
    plugin: &str,
) -> Result<Option<RolloutView>, CommandFailure> {
    let path = format!("/admin/v1/plugins/{}/rollout", encoded(plugin));
    match client.try_get(&path).await? {
        Ok(rollout) => Ok(Some(rollout.content)),
        Err(refusal) if refusal.status == StatusCode::NOT_FOUND => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}
