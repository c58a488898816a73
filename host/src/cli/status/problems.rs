//! What is wrong with a running service, each problem with the command that mends or shows it. The
//! state that the service tells decides; nothing is guessed.

use std::time::Duration;

use crate::admin_api::rollouts::RolloutView;
use crate::cli::command::ServiceFlags;
use crate::cli::output::count;
use crate::cli::overview::{MissingSecret, Overview, Readiness};
use crate::cli::table::{rounded, safe, seconds};
use crate::domain::rollout::RolloutStage;
use crate::domain::text::quoted;
use crate::domain::time::whole_seconds;
use crate::limits;

/// A problem, and the command that mends or shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceProblem {
    pub what: String,
    pub command: String,
}

impl ServiceProblem {
    fn new(flags: &ServiceFlags, what: String, words: &str) -> Self {
        Self {
            what,
            command: flags.command(words),
        }
    }

    /// Returns the problem on one line.
    pub fn line(&self) -> String {
        safe(&format!("- {}: `{}`", self.what, self.command))
    }
}

/// Returns the problems, those of the service itself first.
pub fn find(
    overview: &Overview,
    ready: &Readiness,
    rollouts: &[RolloutView],
    flags: &ServiceFlags,
) -> Vec<ServiceProblem> {
    let mut found = not_ready(ready, flags);
    found.extend(of_hosts(overview, flags));
    found.extend(of_backlog(overview, flags));
    found.extend(of_plugins(overview, flags));
    found.extend(of_rollouts(overview, rollouts, flags));
    found.extend(of_connections(overview, flags));
    found.extend(of_instances(overview, flags));
    found.extend(overview.missing_secrets().iter().map(|missing| {
        let MissingSecret { kind, name, secret } = missing;
        let what = format!("the {kind} {name} lacks the secret {secret}");
        ServiceProblem::new(flags, what, "apply FILE")
    }));
    found
}

/// Returns a problem for each reason why the service is not ready.
pub fn not_ready(ready: &Readiness, flags: &ServiceFlags) -> Vec<ServiceProblem> {
    let reasons = ready.reasons.iter();
    reasons
        .map(|reason| {
            let what = format!("the service is not ready: {reason}");
            ServiceProblem::new(flags, what, "doctor")
        })
        .collect()
}

fn of_hosts(overview: &Overview, flags: &ServiceFlags) -> Vec<ServiceProblem> {
    let silent = overview.status.silent_hosts();
    silent
        .map(|host| {
            let what = format!(
                "the host {} has sent no heartbeat since {}; start it there again",
                host.name,
                seconds(host.seen_at)
            );
            ServiceProblem::new(flags, what, "serve")
        })
        .collect()
}

fn of_backlog(overview: &Overview, flags: &ServiceFlags) -> Vec<ServiceProblem> {
    let status = &overview.status;
    let backlog = &status.backlog;
    let mut found = Vec::new();
    let mut add = |number: u64, one: &str, many: &str, what: &str, words: &str| {
        if number > 0 {
            let what = format!("{} {what}", count(number, one, many));
            found.push(ServiceProblem::new(flags, what, words));
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
    );
    add(
        backlog.parked,
        one,
        many,
        "parked after three failures, until another version or an operator converts them",
        &format!("{list} parked"),
    );
    add(
        backlog.quarantined,
        one,
        many,
        "in quarantine, because the sender check failed",
        &format!("{list} quarantined"),
    );
    add(
        backlog.unknown,
        "message",
        "messages",
        "with an unknown outcome, to be settled",
        "outbox list --state unknown",
    );
    if let Some(oldest) = backlog.oldest_waiting {
        let waits = status.now.since(oldest);
        if waits >= limits::STATUS_LONG_WAIT {
            let age = rounded(whole_seconds(waits));
            let what = format!("the oldest work has been waiting for {age}");
            let words = format!("{list} queued");
            found.push(ServiceProblem::new(flags, what, &words));
        }
    }
    for set in status.analytics.iter().filter(|set| set.stale) {
        let what = format!("the counts of {} are stale", set.metric_set.as_str());
        found.push(ServiceProblem::new(flags, what, "etl status"));
    }
    found
}

fn of_plugins(overview: &Overview, flags: &ServiceFlags) -> Vec<ServiceProblem> {
    let mut found = Vec::new();
    for plugin in &overview.status.plugins {
        for behind in &plugin.behind {
            let what = format!(
                "the host {} does not serve the active version of {}: {}",
                behind.host, plugin.name, behind.reason
            );
            found.push(ServiceProblem::new(flags, what, "plugin list"));
        }
        if plugin.version.is_none() {
            let what = format!("this host serves no version of {}", plugin.name);
            found.push(ServiceProblem::new(flags, what, "plugin list"));
        }
        if !plugin.trusted {
            let what = format!(
                "no key of plugins.trusted_keys has signed {} ({}), which served before they were set: activate a signed version",
                plugin.name,
                plugin.digest.short(),
            );
            found.push(ServiceProblem::new(flags, what, "plugin activate FILE"));
        }
    }
    for plugin in &overview.plugins.plugins {
        for circuit in &plugin.circuits {
            let what = format!(
                "calls of {} for {} are skipped until {} ({})",
                plugin.name,
                circuit.name.as_ref().unwrap_or(&circuit.connection),
                seconds(circuit.until),
                circuit.reason,
            );
            found.push(ServiceProblem::new(flags, what, "plugin list"));
        }
    }
    for refusal in &overview.plugins.refusals {
        let what = format!(
            "the file {} of the inbox was refused ({})",
            refusal.origin, refusal.reason
        );
        found.push(ServiceProblem::new(flags, what, "plugin list"));
    }
    found
}

fn of_rollouts(
    overview: &Overview,
    rollouts: &[RolloutView],
    flags: &ServiceFlags,
) -> Vec<ServiceProblem> {
    let now = overview.status.now;
    let mut found = Vec::new();
    for rollout in rollouts {
        let words = format!("plugin rollout {}", quoted(&rollout.name));
        let mut add = |what: String| found.push(ServiceProblem::new(flags, what, &words));
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

/// How long a rollback is shown: the operators of one day see it, and nobody has to confirm it.
const ROLLED_BACK_SHOWN: Duration = Duration::from_hours(24);

fn of_connections(overview: &Overview, flags: &ServiceFlags) -> Vec<ServiceProblem> {
    let mut found = Vec::new();
    for connection in &overview.connections.connections {
        let name = format!("{}/{}", connection.workspace, connection.name);
        if let Some(pause) = &connection.paused {
            let what = format!("the fetches of {name} are paused ({})", pause.reason);
            let words = format!("connection resume {}", quoted(&name));
            found.push(ServiceProblem::new(flags, what, &words));
        }
        if let Some(change) = &connection.source_change {
            let what = format!(
                "what {name} sends has changed since {} ({}: {} -> {})",
                seconds(change.since),
                change.what,
                change.before,
                change.after
            );
            found.push(ServiceProblem::new(flags, what, "connection list"));
        }
    }
    found
}

fn of_instances(overview: &Overview, flags: &ServiceFlags) -> Vec<ServiceProblem> {
    let mut found = Vec::new();
    for instance in &overview.instances.instances {
        let name = format!("{}/{}", instance.workspace, instance.name);
        if let Some(pause) = &instance.paused {
            let what = format!("the sending of {name} is paused ({})", pause.reason);
            let words = format!("instance resume {}", quoted(&name));
            found.push(ServiceProblem::new(flags, what, &words));
        }
        let templates = instance
            .settings
            .as_ref()
            .and_then(|settings| settings.templates.as_ref());
        if let Some(error) = templates.and_then(|templates| templates.error.as_ref()) {
            let what = format!("the templates of {name} are not renewed ({error})");
            let words = format!("instance sync-templates {}", quoted(&name));
            found.push(ServiceProblem::new(flags, what, &words));
        }
    }
    found
}
