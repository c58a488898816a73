//! The state that a running service reports, and what is wrong with it: the list of `leadhost status`
//! and of the console's first page. Only the reported state decides; nothing is guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::connections::{Bound, Connections};
use super::instances::Instances;
use super::plugins::{PluginList, VersionState};
use super::rollouts::RolloutView;
use super::status::ServiceStatus;
use crate::domain::rollout::RolloutStage;
use crate::domain::text::{counted, quoted};
use crate::domain::time::{rounded, whole_seconds};
use crate::limits;

/// The answers of one service.
pub struct ServiceOverview {
    pub status: ServiceStatus,
    pub connections: Connections,
    pub instances: Instances,
    pub plugins: PluginList,
    /// The last rollout of each plugin that had one, if they were asked for.
    pub rollouts: Vec<RolloutView>,
    /// Why the service is not ready. Empty if it is.
    pub not_ready: Vec<String>,
}

/// Something that an operator should look at.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceProblem {
    pub what: String,
    /// The words of the `leadhost` command that mends or shows it.
    pub command: String,
    /// The page, below `/console`, that mends or shows it.
    pub page: String,
}

impl ServiceProblem {
    fn new(what: String, command: impl Into<String>, page: impl Into<String>) -> Self {
        Self {
            what,
            command: command.into(),
            page: page.into(),
        }
    }

    /// Returns a problem for each reason why the service is not ready.
    pub fn of_readiness(reasons: &[String]) -> Vec<Self> {
        let reasons = reasons.iter();
        reasons
            .map(|reason| {
                let what = format!("the service is not ready: {reason}");
                Self::new(what, "doctor", SERVICE_PAGE)
            })
            .collect()
    }
}

const SERVICE_PAGE: &str = "/service";
const CONNECTIONS_PAGE: &str = "/connections";
const INSTANCES_PAGE: &str = "/instances";

/// A secret that a plugin or a check needs, and that its connection or instance does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingSecret {
    /// `connection` or `instance`.
    pub kind: &'static str,
    /// `workspace/name`.
    pub name: String,
    pub secret: String,
}

impl ServiceOverview {
    /// Returns what is wrong, that of the service itself first.
    pub fn problems(&self) -> Vec<ServiceProblem> {
        let mut found = ServiceProblem::of_readiness(&self.not_ready);
        found.extend(self.of_hosts());
        found.extend(self.of_backlog());
        found.extend(self.of_plugins());
        found.extend(self.of_rollouts());
        found.extend(self.of_connections());
        found.extend(self.of_instances());
        found.extend(self.missing_secrets().into_iter().map(|missing| {
            let MissingSecret { kind, name, secret } = missing;
            let what = format!("the {kind} {name} lacks the secret {secret}");
            let page = match kind {
                "instance" => INSTANCES_PAGE,
                _ => CONNECTIONS_PAGE,
            };
            ServiceProblem::new(what, "apply FILE", page)
        }));
        found
    }

    fn of_hosts(&self) -> Vec<ServiceProblem> {
        let silent = self.status.silent_hosts();
        silent
            .map(|host| {
                let what = format!(
                    "the host {} has sent no heartbeat since {}; start it there again",
                    host.name,
                    host.seen_at.to_the_second()
                );
                ServiceProblem::new(what, "serve", SERVICE_PAGE)
            })
            .collect()
    }

    fn of_backlog(&self) -> Vec<ServiceProblem> {
        let status = &self.status;
        let backlog = &status.backlog;
        let mut found = Vec::new();
        let mut add = |number: u64, one: &str, many: &str, what: &str, words: &str, page: &str| {
            if number > 0 {
                let what = format!("{} {what}", counted(number, one, many));
                found.push(ServiceProblem::new(what, words, page));
            }
        };
        let (one, many) = ("delivery", "deliveries");
        let list = "delivery list --status";
        add(
            backlog.failed,
            one,
            many,
            "failed and will be retried",
            &format!("{list} failed"),
            "/deliveries?status=failed",
        );
        add(
            backlog.parked,
            one,
            many,
            "parked after three failures, until another version or an operator converts them",
            &format!("{list} parked"),
            "/deliveries?status=parked",
        );
        add(
            backlog.quarantined,
            one,
            many,
            "in quarantine, because the sender check failed",
            &format!("{list} quarantined"),
            "/deliveries?status=quarantined",
        );
        add(
            backlog.unknown,
            "message",
            "messages",
            "with an unknown outcome, to be settled",
            "outbox list --state unknown",
            "/messages?state=unknown",
        );
        if let Some(oldest) = backlog.oldest_waiting {
            let waits = status.now.since(oldest);
            if waits >= limits::STATUS_LONG_WAIT {
                let age = rounded(whole_seconds(waits));
                let what = format!("the oldest work has been waiting for {age}");
                let words = format!("{list} queued");
                found.push(ServiceProblem::new(
                    what,
                    words,
                    "/deliveries?status=queued",
                ));
            }
        }
        for set in status.analytics.iter().filter(|set| set.stale) {
            let what = format!("the counts of {} are stale", set.metric_set.as_str());
            found.push(ServiceProblem::new(what, "etl status", SERVICE_PAGE));
        }
        found
    }

    fn of_plugins(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for plugin in &self.status.plugins {
            let page = format!("/plugins/{}", plugin.name);
            for behind in &plugin.behind {
                let what = format!(
                    "the host {} does not serve the active version of {}: {}",
                    behind.host, plugin.name, behind.reason
                );
                found.push(ServiceProblem::new(what, "plugin list", &page));
            }
            if plugin.version.is_none() {
                let what = format!("this host serves no version of {}", plugin.name);
                found.push(ServiceProblem::new(what, "plugin list", &page));
            }
            if !plugin.trusted {
                let what = format!(
                    "no key of plugins.trusted_keys has signed {} ({}), which served before they were set: activate a signed version",
                    plugin.name,
                    plugin.digest.short(),
                );
                found.push(ServiceProblem::new(what, "plugin activate FILE", &page));
            }
        }
        for plugin in &self.plugins.plugins {
            let page = format!("/plugins/{}", plugin.name);
            for circuit in &plugin.circuits {
                let what = format!(
                    "calls of {} for {} are skipped until {} ({})",
                    plugin.name,
                    circuit.name.as_ref().unwrap_or(&circuit.connection),
                    circuit.until.to_the_second(),
                    circuit.reason,
                );
                found.push(ServiceProblem::new(what, "plugin list", &page));
            }
        }
        for refusal in &self.plugins.refusals {
            let what = format!(
                "the file {} of the inbox was refused ({})",
                refusal.origin, refusal.reason
            );
            found.push(ServiceProblem::new(what, "plugin list", "/plugins"));
        }
        found
    }

    fn of_rollouts(&self) -> Vec<ServiceProblem> {
        let now = self.status.now;
        let mut found = Vec::new();
        for rollout in &self.rollouts {
            let words = format!("plugin rollout {}", quoted(&rollout.name));
            let page = format!("/plugins/{}", rollout.name);
            let mut add = |what: String| found.push(ServiceProblem::new(what, &words, &page));
            if rollout.why.is_none() && rollout.paused {
                add(format!("the rollout of {} is paused", rollout.name));
            }
            if rollout.why.is_none() && !rollout.behind.is_empty() {
                let hosts: Vec<&str> = rollout.behind.iter().map(|one| one.host.as_str()).collect();
                let hosts = hosts.join(", ");
                add(format!("the rollout of {} waits for {hosts}", rollout.name));
            }
            let is_new = now.since(rollout.stage_at) < ROLLED_BACK_SHOWN;
            if rollout.stage == RolloutStage::RolledBack && is_new {
                let why = rollout.why.as_deref().unwrap_or("the reason is not known");
                add(format!(
                    "the rollout of {} was rolled back ({why})",
                    rollout.name
                ));
            }
        }
        found
    }

    fn of_connections(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for connection in &self.connections.connections {
            let name = format!("{}/{}", connection.workspace, connection.name);
            if let Some(pause) = &connection.paused {
                let what = format!("the fetches of {name} are paused ({})", pause.reason);
                let words = format!("connection resume {}", quoted(&name));
                found.push(ServiceProblem::new(what, words, CONNECTIONS_PAGE));
            }
            if let Some(change) = &connection.source_change {
                let what = format!(
                    "what {name} sends has changed since {} ({}: {} -> {})",
                    change.since.to_the_second(),
                    change.what,
                    change.before,
                    change.after
                );
                found.push(ServiceProblem::new(
                    what,
                    "connection list",
                    CONNECTIONS_PAGE,
                ));
            }
        }
        found
    }

    fn of_instances(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for instance in &self.instances.instances {
            let name = format!("{}/{}", instance.workspace, instance.name);
            if let Some(pause) = &instance.paused {
                let what = format!("the sending of {name} is paused ({})", pause.reason);
                let words = format!("instance resume {}", quoted(&name));
                found.push(ServiceProblem::new(what, words, INSTANCES_PAGE));
            }
            let templates = instance
                .settings
                .as_ref()
                .and_then(|settings| settings.templates.as_ref());
            if let Some(error) = templates.and_then(|templates| templates.error.as_ref()) {
                let what = format!("the templates of {name} are not renewed ({error})");
                let words = format!("instance sync-templates {}", quoted(&name));
                found.push(ServiceProblem::new(what, words, INSTANCES_PAGE));
            }
        }
        found
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

/// How long a rollback is shown: the operators of one day see it, and need not confirm it.
const ROLLED_BACK_SHOWN: Duration = Duration::from_hours(24);
