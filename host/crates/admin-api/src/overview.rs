//! The state that a running service reports, and what is wrong with it: the list of `leadhost status`
//! and of the console's first page. Only the reported state decides; nothing is guessed.

use std::collections::BTreeSet;
use std::time::Duration;

use super::activity::Activity;
use super::connections::{BY_AN_OPERATOR, Bound, ConnectionView, Connections, LeftDeliveriesView};
use super::deliveries::{Deliveries, DeliveryView};
use super::hosts::HostView;
use super::instances::{InstanceView, Instances};
use super::plugins::{PluginList, PluginView, VersionState};
use super::repairs::RepairFacts;
use super::rollouts::RolloutView;
use super::status::{DiskView, RefusedRequestsView, ServiceStatus};
use crate::prelude::*;
use leadhost_domain::audit::{ActOutcome, AuditRow, LeftVersion, OperatorAct};
use leadhost_domain::backlog::LogUsage;
use leadhost_domain::connection::{ChangeCause, SourceChange};
use leadhost_domain::repair::RepairState;
use leadhost_domain::rollout::RolloutStage;
use leadhost_domain::shed::Shed;
use leadhost_domain::size;
use leadhost_domain::text::quoted;
use leadhost_domain::time::{rounded, whole_seconds};
use leadhost_domain::trouble::TroubleKind;

pub struct ServiceOverview {
    pub status: ServiceStatus,
    pub connections: Connections,
    pub instances: Instances,
    pub plugins: PluginList,
    /// The last rollout of each plugin that had one, if they were asked for.
    pub rollouts: Vec<RolloutView>,
    /// The rollbacks by operators within the last week, and the newest repairs, if they were
    /// asked for.
    pub rollbacks: Vec<AuditRow>,
    /// The ends of rollouts within the last week, by guards and operators, if they were asked for:
    /// [`Self::ended_rollouts_paths`].
    pub ended_rollouts: Vec<AuditRow>,
    pub repairs: Vec<RepairFacts>,
    /// Versions that were rolled back and whose deliveries may be as they converted them, if they were asked
    /// for: [`Self::versions_to_look_for`].
    pub unrepaired: Vec<UnrepairedVersion>,
    /// Connections whose reported change was caused by a version that is no longer active and whose
    /// deliveries have all been converted again.
    pub past_changes: BTreeSet<ConnectionId>,
    /// Recent deliveries and messages, as this host has them in memory.
    pub last_hour: Activity,
    pub last_day: Activity,
    /// The newest deliveries in quarantine, if they were asked for.
    pub quarantined: Vec<DeliveryView>,
    /// Why the service is not ready. Empty if it is.
    pub not_ready: Vec<String>,
}

/// Something that an operator should look at.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceProblem {
    pub what: String,
    /// The words of the `leadhost` command that fixes or shows it.
    pub command: String,
    /// The page, below `/console`, that fixes or shows it.
    pub page: String,
    /// Further pages, below `/console`, each with the words of its link.
    pub also: Vec<(String, String)>,
    /// Whether the service itself cannot do its work.
    pub is_severe: bool,
    /// What it shares with other problems, which one entry may then name, and whose it is.
    alike: Option<(String, String)>,
}

impl ServiceProblem {
    fn new(what: String, command: impl Into<String>, page: impl Into<String>) -> Self {
        Self {
            what,
            command: command.into(),
            page: page.into(),
            also: Vec::new(),
            is_severe: false,
            alike: None,
        }
    }

    /// Marks it as the problem of `whose`, for a reason that others may have too.
    fn shared(mut self, reason: String, whose: &str) -> Self {
        self.alike = Some((reason, whose.to_owned()));
        self
    }

    /// Joins problems with one reason: the first names the others, with links to their pages.
    pub fn grouped(problems: Vec<Self>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for problem in problems {
            let same = problem.alike.as_ref().and_then(|(reason, whose)| {
                let is_same =
                    |one: &&mut Self| one.alike.as_ref().is_some_and(|of| of.0 == *reason);
                Some((groups.iter_mut().find(is_same)?, whose))
            });
            match same {
                Some((first, whose)) => first.also.push((format!("also {whose}"), problem.page)),
                None => groups.push(problem),
            }
        }
        groups
    }

    pub fn begins_with_name(&self) -> bool {
        let first = self.what.split_whitespace().next();
        first.is_some_and(|word| word.contains('/'))
    }

    fn with_page(mut self, words: impl Into<String>, page: String) -> Self {
        self.also.push((words.into(), page));
        self
    }

    /// Adds the form on its page that sets a secret: a wrong one is a frequent cause.
    fn with_secret_form(self) -> Self {
        let form = secret_form(&self.page);
        self.with_page(SET_A_SECRET, form)
    }

    pub fn from_readiness(reasons: &[String]) -> Vec<Self> {
        let reasons = reasons.iter();
        reasons
            .map(|reason| {
                let what = format!("the service is not ready: {reason}");
                Self {
                    is_severe: true,
                    ..Self::new(what, "doctor", SERVICE_PAGE)
                }
            })
            .collect()
    }
}

const SERVICE_PAGE: &str = "/service";
const SET_A_SECRET: &str = "set a secret";
const REFUSED_PAGE: &str = "/service#refused";
const CONNECTIONS_PAGE: &str = "/connections";

fn connection_page(connection: &ConnectionView) -> String {
    format!("{CONNECTIONS_PAGE}/{}", connection.id)
}

fn instance_page(instance: &InstanceView) -> String {
    format!("/instances/{}", instance.id)
}

fn secret_form(page: &str) -> String {
    format!("{page}#set-secret")
}

/// A secret that a plugin or a check needs, and that its connection or instance does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingSecret {
    /// `connection` or `instance`.
    pub kind: &'static str,
    /// `workspace/name`.
    pub name: String,
    pub secret: String,
    /// The page, below `/console`, that sets it.
    pub page: String,
}

impl ServiceOverview {
    pub fn problems(&self) -> Vec<ServiceProblem> {
        let mut found = ServiceProblem::from_readiness(&self.not_ready);
        found.extend(self.disk_problems());
        found.extend(self.host_problems());
        found.extend(self.backlog_problems());
        found.extend(self.plugin_problems());
        found.extend(self.rollout_problems());
        found.extend(self.unrepaired_problems());
        found.extend(self.connection_problems());
        found.extend(self.troubles());
        found.extend(self.activity_problems());
        found.extend(self.instance_problems());
        found.extend(self.missing_secrets().into_iter().map(|missing| {
            let MissingSecret {
                kind,
                name,
                secret,
                page,
            } = missing;
            let what = format!("the {kind} {name} lacks the secret {secret}");
            ServiceProblem::new(what, "apply FILE", page)
        }));
        found
    }

    fn disk_problems(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        let disk = self.status.disk.as_ref();
        let free = disk.and_then(|disk| Some((disk, disk.free_bytes?)));
        if let Some((disk, free)) = free
            && let Some(what) = low_disk(disk, free)
        {
            found.push(ServiceProblem::new(what, "doctor", SERVICE_PAGE));
        }
        found.extend(self.status.log.and_then(log_problem));
        found.extend(self.status.lost_log_lines.map(|lines| {
            let what = format!(
                "the log lost {} since the start of the host {}, the last one within minutes, because nothing reads it: let what reads its standard error go on (journald, the container's log driver, a pipe or a terminal), or restart the service with another",
                counted(lines, "line", "lines"),
                self.status.host.name,
            );
            ServiceProblem::new(what, "doctor", SERVICE_PAGE)
        }));
        found.extend(self.certificate_problem());
        found.extend(self.status.refused.iter().filter_map(refused_problem));
        found
    }

    fn certificate_problem(&self) -> Option<ServiceProblem> {
        let (ends, now) = (self.status.certificate_ends_at?, self.status.now);
        let left = ends.since(now);
        let when = if ends <= now {
            "has expired".to_owned()
        } else {
            format!("expires in {}", rounded(whole_seconds(left)))
        };
        (left < limits::DOCTOR_CERTIFICATE_WARNING).then(|| {
            let what = format!(
                "the TLS certificate {when} ({}): renew it; the service reads the files again when they change",
                ends.to_the_second()
            );
            let problem = ServiceProblem::new(what, "doctor", SERVICE_PAGE);
            ServiceProblem {
                is_severe: ends <= now,
                ..problem
            }
        })
    }

    /// Returns what does not work for connections, with what to do.
    fn troubles(&self) -> impl Iterator<Item = ServiceProblem> {
        self.status.troubles.iter().filter_map(|trouble| {
            let mut connections = self.connections.connections.iter();
            let connection = connections.find(|one| one.id == trouble.connection_id)?;
            let name = name_in_workspace(&connection.workspace, &connection.name);
            let (since, why, page) = (
                trouble.since.to_the_second(),
                &trouble.why,
                connection_page(connection),
            );
            // A version that no longer serves does no harm, and was already reported as rolled back.
            let serves = |version: &Digest| why.contains(version.short());
            let candidates = self.rollouts.iter().filter(|one| one.stage.is_open());
            let is_gone = trouble.kind == TroubleKind::SharedPhone
                && !self.active(&connection.plugin).is_some_and(serves)
                && !candidates.map(|one| &one.candidate.digest).any(serves);
            if is_gone {
                return None;
            }
            Some(match trouble.kind {
                TroubleKind::Fetch => {
                    let what = format!(
                        "{} of {name} failed since {since} and will be repeated ({why}): see whether its server answers",
                        counted(trouble.times, "fetch", "fetches")
                    );
                    let waiting = format!("/deliveries?status=queued&connection={name}");
                    ServiceProblem::new(what, "doctor", page)
                        .with_page("the deliveries that wait", waiting)
                }
                TroubleKind::SharedPhone => {
                    let what = format!(
                        "people of {name} become one contact since {since} ({why}): roll back if the version is at fault, then repair"
                    );
                    let (command, more) = self.serving(&connection.plugin).remedy_for(None, why);
                    let page = format!("/plugins/{}", connection.plugin);
                    ServiceProblem::new(format!("{what}{more}"), command, page)
                }
                TroubleKind::Greeting => {
                    let what = format!(
                        "{} of {name} got no greeting since {since} ({why}): correct the greeting in its file",
                        counted(trouble.times, "lead", "leads")
                    );
                    ServiceProblem::new(what, "apply FILE", page)
                }
            })
        })
    }

    /// Returns the connections that refuse most of what they get, and the instances whose messages
    /// failed.
    fn activity_problems(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for day in &self.last_day.series {
            let name = name_in_workspace(&day.workspace, &day.name);
            let failures = day.failures.iter().sum::<u64>();
            let is_instance = day.messages.iter().any(|count| *count > 0);
            if is_instance && failures > 0 {
                let what = format!(
                    "{} of {name} failed within the last day",
                    counted(failures, "message", "messages")
                );
                let words = format!("outbox list --state failed --instance {}", quoted(&name));
                let page = format!("/messages?state=failed&instance={name}");
                // A wrong token pauses the instance, which has a line of its own.
                found.push(ServiceProblem::new(what, words, page));
            }
            let mut hours = self.last_hour.series.iter();
            let hour = hours.find(|hour| hour.workspace == day.workspace && hour.name == day.name);
            let hour = hour.and_then(|hour| {
                let (rejected, of) = hour.mostly_rejected(limits::MOSTLY_REJECTED_OF_AN_HOUR)?;
                Some((rejected, of, "hour"))
            });
            let mostly = hour.or_else(|| {
                let (rejected, of) = day.mostly_rejected(limits::MOSTLY_REJECTED_OF_A_DAY)?;
                Some((rejected, of, "day"))
            });
            if let Some((rejected, of, time)) = mostly {
                let what = format!(
                    "{name} refused {rejected} of the {of} deliveries of the last {time}: its converter does not accept what the source sends"
                );
                let list = "delivery list --status rejected --connection";
                let words = format!("{list} {}", quoted(&name));
                let page = format!("/deliveries?status=rejected&connection={name}");
                found.push(ServiceProblem::new(what, words, page));
            }
        }
        found
    }

    fn host_problems(&self) -> Vec<ServiceProblem> {
        let silent = self.status.silent_hosts();
        let silent = silent.map(|host| {
            let what = format!(
                "the host {} has sent no heartbeat since {}; restart it on its machine",
                host.name,
                host.seen_at.to_the_second()
            );
            ServiceProblem::new(what, "serve", SERVICE_PAGE)
        });
        let live = self.status.hosts.iter().filter(|host| host.alive);
        silent.chain(live.filter_map(clock_problem)).collect()
    }

    fn backlog_problems(&self) -> Vec<ServiceProblem> {
        let status = &self.status;
        let backlog = &status.backlog;
        let mut found = Vec::new();
        let list = |status: &str| format!("delivery list --status {status}");
        let page = |status: &str| format!("/deliveries?status={status}");
        for (number, status, what) in [
            (backlog.failed, "failed", "failed and will be retried"),
            (
                backlog.parked,
                "parked",
                "parked, until another version or an operator converts them",
            ),
            (
                backlog.quarantined,
                "quarantined",
                "in quarantine, because the sender check failed",
            ),
        ] {
            if number > 0 {
                let what = format!("{} {what}", counted(number, "delivery", "deliveries"));
                let mut problem = ServiceProblem::new(what, list(status), page(status));
                if status == "quarantined" {
                    problem.also = self.secrets_of_quarantine();
                }
                found.push(problem);
            }
        }
        if backlog.unknown > 0 {
            let what = format!(
                "{} with an unknown outcome, to be resolved",
                counted(backlog.unknown, "message", "messages")
            );
            let words = "outbox list --state unknown";
            found.push(ServiceProblem::new(what, words, "/messages?state=unknown"));
        }
        if let Some(oldest) = backlog.oldest_waiting {
            let waits = status.now.since(oldest);
            if waits >= limits::STATUS_LONG_WAIT {
                let age = rounded(whole_seconds(waits));
                let what = format!("the oldest work has been waiting for {age}");
                found.push(ServiceProblem::new(what, list("queued"), page("queued")));
            }
        }
        for set in status.analytics.iter().filter(|set| set.stale) {
            let what = format!("the counts of {} are stale", set.metric_set.as_str());
            found.push(ServiceProblem::new(what, "etl status", SERVICE_PAGE));
        }
        found
    }

    /// Returns the forms that set the secrets with which the newest deliveries in quarantine were checked,
    /// each with the words of its link.
    fn secrets_of_quarantine(&self) -> Vec<(String, String)> {
        let mut forms = Vec::new();
        for delivery in &self.quarantined {
            let facts = &delivery.facts;
            let mut connections = self.connections.connections.iter();
            let mut instances = self.instances.instances.iter();
            let connection = connections.find(|one| one.id == facts.connection_id);
            let instance = instances.find(|one| Some(one.id) == facts.instance_id);
            let (name, page) = match (connection, instance) {
                (Some(one), _) => (
                    name_in_workspace(&one.workspace, &one.name),
                    connection_page(one),
                ),
                (None, Some(one)) => (
                    name_in_workspace(&one.workspace, &one.name),
                    instance_page(one),
                ),
                (None, None) => continue,
            };
            let form = (format!("set a secret of {name}"), secret_form(&page));
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        forms.truncate(limits::QUARANTINE_SECRETS_NAMED);
        forms
    }

    fn plugin_problems(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for plugin in &self.status.plugins {
            let page = format!("/plugins/{}", plugin.name);
            for behind in &plugin.behind {
                let what = format!(
                    "the host {} does not serve the active version of {}: {}",
                    behind.host,
                    plugin.name,
                    behind.reason.lines().next().unwrap_or_default()
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
                found.push(ServiceProblem::new(what, "plugin publish FILE", &page));
            }
        }
        for plugin in &self.plugins.plugins {
            let page = format!("/plugins/{}", plugin.name);
            for circuit in &plugin.circuits {
                // A version that serves nothing harms nothing.
                if !self.serves(&plugin.name, &circuit.digest) {
                    continue;
                }
                let whose = circuit.name.as_ref().unwrap_or(&circuit.connection);
                let calls = format!(
                    "calls of {} ({}) for {whose}",
                    plugin.name,
                    circuit.digest.short(),
                );
                let reason = &circuit.reason;
                let shared = format!("calls {} {reason}", circuit.digest);
                // A rollback would not replace a candidate.
                let is_active = plugin.digest.as_ref() == Some(&circuit.digest);
                let (command, todo) = if plugin.way_back.is_some() && is_active {
                    (
                        format!("plugin rollback {}", quoted(&plugin.name)),
                        ": roll back if the version is at fault",
                    )
                } else {
                    ("plugin list".to_owned(), "")
                };
                let what = if circuit.until > self.status.now {
                    let until = circuit.until.to_the_second();
                    format!("{calls} are skipped until {until} ({reason}){todo}")
                } else {
                    format!("{calls} kept failing, and the next one is tried ({reason}){todo}")
                };
                found.push(ServiceProblem::new(what, command, &page).shared(shared, whose));
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

    /// Returns whether a version of a plugin is active, or the candidate of an open rollout.
    fn serves(&self, plugin: &str, version: &Digest) -> bool {
        self.active(plugin) == Some(version)
            || self.rollouts.iter().any(|rollout| {
                rollout.name == plugin
                    && rollout.stage.is_open()
                    && rollout.candidate.digest == *version
            })
    }

    fn active(&self, plugin: &str) -> Option<&Digest> {
        let mut plugins = self.status.plugins.iter();
        plugins
            .find(|one| one.name == plugin)
            .map(|one| &one.digest)
    }

    fn serving<'a>(&'a self, plugin: &'a str) -> ServingPlugin<'a> {
        let mut plugins = self.plugins.plugins.iter();
        ServingPlugin::of(plugin, plugins.find(|one| one.name == plugin))
    }

    fn rollout_problems(&self) -> Vec<ServiceProblem> {
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
            if let Some(harm) = unguarded_harm(rollout) {
                add(harm);
            }
            let is_new = now.since(rollout.stage_at) < ROLLED_BACK_SHOWN;
            let is_over = self.is_over(rollout);
            if rollout.stage == RolloutStage::RolledBack && is_new && !is_over {
                let why = rollout.why.as_deref().unwrap_or("the reason is not known");
                add(format!(
                    "the rollout of {} was rolled back ({why})",
                    rollout.name
                ));
            }
        }
        found
    }

    pub fn rollbacks_path(now: Micros) -> String {
        let since = now.minus(UNREPAIRED_SHOWN).to_the_second();
        format!("/audit?act=roll-back-plugin&since={since}&limit=50")
    }

    /// Returns the paths of the operations that list how rollouts ended within the last week. A plugin keeps only
    /// its last rollout; the audit has the earlier ones.
    pub fn ended_rollouts_paths(now: Micros) -> [String; 2] {
        let since = now.minus(UNREPAIRED_SHOWN).to_the_second();
        [OperatorAct::RollBackRollout, OperatorAct::EndRollout]
            .map(|act| format!("/audit?act={act}&since={since}&limit=50"))
    }

    /// Returns the versions that were rolled back within the last week and are not active, unless they served
    /// nothing or a repair of all that they did has been applied since: by name and version what it converted, and
    /// when it was rolled back.
    fn rolled_back(&self) -> BTreeMap<(String, Digest), (Option<u64>, Micros)> {
        let mut left: BTreeMap<(String, Digest), (Option<u64>, Micros)> = BTreeMap::new();
        for row in self.rollbacks.iter().chain(&self.ended_rollouts) {
            if let Some(LeftVersion { digest, .. }) = row.left_version() {
                let version = (row.target.clone(), digest);
                left.entry(version).or_insert((None, row.at));
            }
        }
        for rollout in &self.rollouts {
            let was_left = match rollout.stage {
                RolloutStage::RolledBack | RolloutStage::Aborted => rollout.served > 0,
                RolloutStage::Verified
                | RolloutStage::Shadow
                | RolloutStage::Canary
                | RolloutStage::Probation
                | RolloutStage::Done => false,
            };
            let version = (rollout.name.clone(), rollout.candidate.digest.clone());
            let ended = matches!(
                rollout.stage,
                RolloutStage::RolledBack | RolloutStage::Aborted
            );
            if was_left {
                left.insert(version, (Some(rollout.served), rollout.stage_at));
            } else if ended
                && left
                    .get(&version)
                    .is_some_and(|(_, at)| *at <= rollout.stage_at)
            {
                // It served nothing, and has not been active since.
                left.remove(&version);
            }
        }
        left.retain(|(name, digest), (_, at)| {
            let is_new = self.status.now.since(*at) < UNREPAIRED_SHOWN;
            let mut active = self.status.plugins.iter();
            let is_active = active.any(|one| one.name == *name && one.digest == *digest);
            let is_repaired = self.repairs.iter().any(|repair| {
                let is_applied = repair.apply && repair.is_whole() && repair.state.has_replayed();
                is_applied && repair.converted_by == *digest && repair.started_at >= *at
            });
            is_new && !is_active && !is_repaired
        });
        left
    }

    /// Returns these versions. Their deliveries may have been converted again.
    fn left_versions(&self) -> Vec<UnrepairedVersion> {
        let versions =
            self.rolled_back()
                .into_iter()
                .filter_map(|((name, digest), (served, _))| {
                    let mut plugins = self.plugins.plugins.iter();
                    let stored = &plugins.find(|plugin| plugin.name == name)?.versions;
                    let version = stored.iter().find(|version| version.digest == digest)?;
                    Some(UnrepairedVersion {
                        version: version.version.clone(),
                        since: version.stored_at,
                        connection: None,
                        name,
                        digest,
                        served,
                        looks: 0,
                        before: None,
                    })
                });
        versions.collect()
    }

    /// Returns the versions that do not serve and are blamed for a change of the leads of a connection.
    fn blamed_versions(&self) -> impl Iterator<Item = UnrepairedVersion> {
        let connections = self.connections.connections.iter();
        connections.filter_map(|one| {
            let change = one.source_change.as_ref()?;
            let is_of_version = change.cause == ChangeCause::Version && !change.failing;
            let blamed = change.digest.as_ref().filter(|_| is_of_version)?;
            (!self.serves(&one.plugin, blamed)).then(|| UnrepairedVersion {
                name: one.plugin.clone(),
                digest: blamed.clone(),
                version: String::new(),
                since: change.since,
                connection: Some(one.id.clone()),
                served: None,
                looks: 0,
                before: None,
            })
        })
    }

    /// Returns the versions that were rolled back lately or caused a change, and whose deliveries have to be
    /// looked for: request [`UnrepairedVersion::deliveries_path`] of each, then call [`Self::looked_for`].
    /// Any others count as unrepaired.
    pub fn versions_to_look_for(&mut self) -> Vec<UnrepairedVersion> {
        let mut left = self.left_versions();
        let looked_for = left.len().min(limits::LEFT_VERSIONS_LOOKED_FOR);
        self.unrepaired = left.split_off(looked_for);
        let blamed = self.blamed_versions();
        left.extend(blamed.take(limits::LEFT_VERSIONS_LOOKED_FOR));
        left
    }

    /// Counts a version as unrepaired if this answer may leave deliveries of it. Returns it if they are to be
    /// looked for further back.
    pub fn looked_for(
        &mut self,
        mut version: UnrepairedVersion,
        found: &Deliveries,
    ) -> Option<UnrepairedVersion> {
        let is_left = version.may_have_deliveries(found);
        let further = found.next.filter(|_| {
            is_left && found.deliveries.is_empty() && version.looks < limits::LEFT_VERSION_LOOKS
        });
        if further.is_some() {
            version.before = further;
            version.looks += 1;
            return Some(version);
        }
        if let Some(connection) = version.connection {
            self.past_changes.extend((!is_left).then_some(connection));
        } else if is_left {
            // They are named in the order of their names, whether they were looked for or not.
            let key = |one: &UnrepairedVersion| (one.name.clone(), one.digest.clone());
            let after = key(&version);
            let place = self.unrepaired.partition_point(|one| key(one) < after);
            self.unrepaired.insert(place, version);
        }
        None
    }

    fn unrepaired_problems(&self) -> Vec<ServiceProblem> {
        let unrepaired = self.unrepaired.iter();
        unrepaired
            .map(|left| {
                let name = &left.name;
                let command = impact(name, &left.digest);
                ServiceProblem::new(left.sentence(), command, format!("/plugins/{name}"))
            })
            .chain(
                self.repairs
                    .iter()
                    .filter_map(|one| incomplete_problem(one, self.status.now)),
            )
            .collect()
    }

    /// Returns whether an operator has activated or rolled back a version of the plugin after its rollout
    /// ended. The end of a probation activates the stable version itself, but is no act of an operator.
    fn is_over(&self, rollout: &RolloutView) -> bool {
        let mut rollbacks = self.rollbacks.iter();
        let was_rolled_back = rollbacks.any(|row| {
            let is_done = row.outcome == ActOutcome::Done;
            is_done && row.target == rollout.name && row.at > rollout.stage_at
        });
        if was_rolled_back {
            return true;
        }
        let mut plugins = self.status.plugins.iter();
        let Some(active) = plugins.find(|plugin| plugin.name == rollout.name) else {
            return false;
        };
        is_after(
            (active.activated_at, &active.digest),
            (rollout.stage_at, &rollout.stable.digest),
        )
    }

    fn connection_problems(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for connection in &self.connections.connections {
            let name = name_in_workspace(&connection.workspace, &connection.name);
            if let Some(pause) = &connection.paused {
                let what = paused("the fetches of", &name, &pause.reason);
                let words = format!("connection resume {}", quoted(&name));
                let problem = ServiceProblem::new(what, words, connection_page(connection));
                found.push(problem.with_secret_form());
            }
            // A retired source sends nothing.
            if let Some(change) = &connection.source_change
                && !connection.retired
                && !self.past_changes.contains(&connection.id)
            {
                let plugin = self.serving(&connection.plugin);
                found.extend(change_problems(&name, connection, change, plugin));
            }
            let left = connection.left_deliveries.iter();
            found.extend(left.map(|left| left_problem(&name, left)));
        }
        found
    }

    fn instance_problems(&self) -> Vec<ServiceProblem> {
        let mut found = Vec::new();
        for instance in &self.instances.instances {
            let name = name_in_workspace(&instance.workspace, &instance.name);
            if let Some(pause) = &instance.paused {
                let what = paused("the sending of", &name, &pause.reason);
                let words = format!("instance resume {}", quoted(&name));
                let problem = ServiceProblem::new(what, words, instance_page(instance));
                found.push(match instance.settings {
                    Some(_) => problem.with_secret_form(),
                    None => problem,
                });
            }
            let settings = instance.settings.as_ref();
            let change = settings.and_then(|settings| settings.source_change.as_ref());
            if let (Some(change), Some(adapter)) = (change, &instance.adapter) {
                let named = ("instance", name.as_str(), instance_page(instance));
                found.push(failure_problem(named, self.serving(adapter), change));
            }
            let templates = settings.and_then(|settings| settings.templates.as_ref());
            if let Some(error) = templates.and_then(|templates| templates.error.as_ref()) {
                let what = format!("the templates of {name} are not renewed ({error})");
                let words = format!("instance sync-templates {}", quoted(&name));
                let problem = ServiceProblem::new(what, words, instance_page(instance));
                found.push(problem.with_secret_form());
            }
        }
        found
    }

    /// Returns which sources have had too few leads to be watched for changes, in words. `None`: there are none.
    pub fn young_sources(&self) -> Option<String> {
        let is_young = |one: &&ConnectionView| {
            let leads = one.lead_fields.as_ref().map_or(0, |fields| fields.leads);
            let is_watched = one.source_change.is_some() || leads >= limits::WATCHED_SOURCE_LEADS;
            one.last_delivery_at.is_some() && !is_watched
        };
        let young = self.connections.in_use().filter(is_young);
        let names: Vec<String> = young
            .map(|one| name_in_workspace(&one.workspace, &one.name))
            .collect();
        let (named, rest) = names.split_at(names.len().min(limits::YOUNG_SOURCES_NAMED));
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "not watched for changes yet, with fewer than {} leads: {}{more}",
                limits::WATCHED_SOURCE_LEADS,
                named.join(", ")
            )
        })
    }

    pub fn missing_secrets(&self) -> Vec<MissingSecret> {
        let needed = self.needed_secrets();
        let none = BTreeSet::new();
        let of = |kind, name: String, page: String, plugin: Option<&String>, bound: &Bound| {
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
                    page: secret_form(&format!("{page}?secret={secret}")),
                })
                .collect::<Vec<_>>()
        };
        let connections = self.connections.in_use().flat_map(|one| {
            let name = name_in_workspace(&one.workspace, &one.name);
            let page = connection_page(one);
            of("connection", name, page, Some(&one.plugin), &one.bound)
        });
        let instances = self.instances.instances.iter().flat_map(|one| {
            let name = name_in_workspace(&one.workspace, &one.name);
            let settings = one.settings.as_ref();
            settings.map_or_else(Vec::new, |settings| {
                let page = instance_page(one);
                of(
                    "instance",
                    name,
                    page,
                    one.adapter.as_ref(),
                    &settings.bound,
                )
            })
        });
        connections.chain(instances).collect()
    }

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

/// Returns what to say about the free space of the disk of the data folder: nothing if there is enough.
fn low_disk(disk: &DiskView, free: u64) -> Option<String> {
    let DiskView {
        folder,
        reserve_bytes,
        ..
    } = disk;
    let free_shown = size::readable(free);
    let reserve = size::readable(*reserve_bytes);
    if free < *reserve_bytes {
        return Some(format!(
            "free space on the disk of the data folder {folder}: {free_shown} are free, and the service needs {reserve}; new deliveries, deals and messages are refused with 507 while the files have no room, and reading works"
        ));
    }
    (free < limits::DOCTOR_LOW_DISK_BYTES).then(|| {
        format!(
            "the disk of the data folder {folder} has only {free_shown} free; with less than {reserve} the service is not ready, and it refuses writes when the files have no room"
        )
    })
}

fn log_problem(log: LogUsage) -> Option<ServiceProblem> {
    let held = rounded(log.held_too_long()?);
    let what = format!(
        "the write-ahead log of the database has {}, because a reader has needed it for {held}: end that reader (an export, a backup, or sqlite3 on the file)",
        size::readable(log.bytes),
    );
    Some(ServiceProblem::new(what, "doctor", SERVICE_PAGE))
}

/// Returns the problem of requests that were refused, unless only their senders can do something about it.
fn refused_problem(refused: &RefusedRequestsView) -> Option<ServiceProblem> {
    let (why, todo) = refusal(refused.reason)?;
    let status = match refused.reason {
        Shed::Full => 507,
        Shed::RateOfOneConnection => 429,
        _ => 503,
    };
    let what = format!(
        "{} refused with {status} between {} and {}, because {why}: {}; {todo}",
        counted(refused.requests, "request was", "requests were"),
        refused.first_at.to_the_second(),
        refused.last_at.to_the_second(),
        refused.senders(),
    );
    // A refused request is not stored, so there is no list of deliveries to show.
    Some(ServiceProblem::new(what, "status --json", REFUSED_PAGE))
}

/// Returns why requests were refused, and what to do.
fn refusal(reason: Shed) -> Option<(&'static str, &'static str)> {
    const MORE_MEMORY: &str =
        "give the service more memory for them, or spread the senders over time";
    Some(match reason {
        Shed::Full => (
            "nothing could be written",
            "senders that do not retry automatically must send again",
        ),
        Shed::Writes => (
            "more arrived than the store takes",
            "add processors or a host, or spread the senders over time",
        ),
        Shed::WaitingDeliveries => (
            "too many deliveries of their connection wait for conversion (intake.waiting)",
            "see why they wait, with `delivery list --status queued`",
        ),
        Shed::RateOfOneConnection => (
            "their connection was past intake.connection_rate",
            "raise it if the source may send as much",
        ),
        Shed::Bodies | Shed::BodiesOfOneAddress | Shed::BodiesToOneConnection => (
            "bodies in flight filled their room (server.bodies_mib)",
            MORE_MEMORY,
        ),
        Shed::Answers => (
            "large answers that were not read yet filled their room (server.answers_mib)",
            MORE_MEMORY,
        ),
        Shed::ConnectionsOfOneAddress => (
            "an address had too many connections open (server.connections_per_peer)",
            "name a proxy before the service in server.trusted_proxies",
        ),
        Shed::Deadline => (
            "their answer took longer than server.answer_seconds",
            "look for a slow disk or database, or add processors",
        ),
        Shed::Plugins => (
            "the threads or the version of their plugin were not available",
            "see `plugin list`, add processors, or raise plugins.threads",
        ),
        Shed::Search => (
            "the products were not loaded for the search",
            "raise search.memory_mib if it recurs",
        ),
        Shed::Store => ("the store did not answer", "see its lines in the log"),
        Shed::Fleet => (
            "this host was cut off from the others",
            "see its connection to the database",
        ),
        // Their clients are past their share, or get the reason on a page; and a stop is an operator's act.
        Shed::RateOfOnePartner
        | Shed::RateOfOneWorkspace
        | Shed::RateOfOneAdminKey
        | Shed::FailedKeys
        | Shed::Stopping
        | Shed::Console => return None,
    })
}

/// Returns how the candidate of an open rollout exceeds the policy, if no guard ends the rollout for it.
fn unguarded_harm(rollout: &RolloutView) -> Option<String> {
    let RolloutView {
        name, candidate, ..
    } = rollout;
    let has_no_guard = match rollout.stage {
        RolloutStage::Shadow => true,
        RolloutStage::Canary | RolloutStage::Probation => !rollout.plan.guards,
        RolloutStage::Verified
        | RolloutStage::Done
        | RolloutStage::RolledBack
        | RolloutStage::Aborted => false,
    };
    if !has_no_guard || rollout.drift.is_empty() {
        return None;
    }
    let shown = rollout.drift.len().min(limits::STATUS_DRIFT);
    let mut drift = rollout.drift[..shown].join("; ");
    let more = rollout.drift.len() - shown;
    if more > 0 {
        drift += &format!("; and {more} more");
    }
    let digest = candidate.digest.short();
    let version = match &candidate.version {
        Some(version) => format!("version {version} ({digest})"),
        None => format!("version {digest}"),
    };
    let differs = format!("{version} differs more than the policy allows: {drift}");
    Some(match rollout.stage {
        RolloutStage::Shadow => format!("in the shadow of {name}, {differs}"),
        _ => format!("the rollout of {name} continues without guards, although {differs}"),
    })
}

/// Returns the problems of the connections and instances whose deliveries keep failing with this version of
/// the plugin, and not with the one before it.
pub fn version_problems(
    view: &PluginView,
    connections: &Connections,
    instances: &Instances,
) -> Vec<ServiceProblem> {
    let Some(version) = &view.digest else {
        return Vec::new();
    };
    let is_new = |change: &&SourceChange| is_failing_with(change, version);
    let plugin = view.name.as_str();
    let active = ServingPlugin::of(plugin, Some(view));
    let connections = connections.connections.iter().filter_map(|one| {
        let change = one.source_change.as_ref().filter(is_new)?;
        let name = name_in_workspace(&one.workspace, &one.name);
        (one.plugin == plugin)
            .then(|| failure_problem(("connection", &name, connection_page(one)), active, change))
    });
    let instances = instances.instances.iter().filter_map(|one| {
        let change = one.settings.as_ref()?.source_change.as_ref();
        let change = change.filter(is_new)?;
        let name = name_in_workspace(&one.workspace, &one.name);
        let is_its = one.adapter.as_deref() == Some(plugin);
        is_its.then(|| failure_problem(("instance", &name, instance_page(one)), active, change))
    });
    connections.chain(instances).collect()
}

/// Returns whether deliveries keep failing with this version, and not with the one before it.
fn is_failing_with(change: &SourceChange, version: &Digest) -> bool {
    let is_its = change.digest.as_ref() == Some(version);
    change.failing && change.cause == ChangeCause::Version && is_its
}

/// A plugin as far as it decides what is advised when a report blames one of its versions.
#[derive(Clone, Copy)]
struct ServingPlugin<'a> {
    name: &'a str,
    active: Option<&'a Digest>,
    /// The version that a rollback may activate.
    way_back: Option<&'a Digest>,
}

impl<'a> ServingPlugin<'a> {
    fn of(name: &'a str, view: Option<&'a PluginView>) -> Self {
        Self {
            name,
            active: view.and_then(|view| view.digest.as_ref()),
            way_back: view.and_then(|view| view.way_back.as_ref()),
        }
    }

    /// Returns the command about a report that blames a version, and what to add to its sentence. Only a
    /// rollback that replaces the blamed version by one that nobody has taken out of service is advised.
    fn remedy(&self, change: &SourceChange) -> (String, &'static str) {
        self.remedy_for(change.digest.as_ref(), &change.what)
    }

    /// The same for a version that is known, or stands in the words of a report.
    fn remedy_for(&self, blamed: Option<&Digest>, what: &str) -> (String, &'static str) {
        if let Some(blamed) = blamed.filter(|blamed| self.active != Some(blamed)) {
            return (impact(self.name, blamed), NOT_ACTIVE);
        }
        // A report without a trial has the version only in its words.
        let is_blamed = |way: &&Digest| blamed.is_none() && what.contains(way.short());
        match (self.way_back.filter(|way| !is_blamed(way)), self.active) {
            (Some(_), _) => (format!("plugin rollback {}", quoted(self.name)), ""),
            (None, Some(active)) => (impact(self.name, active), NO_WAY_BACK),
            (None, None) => ("plugin list".to_owned(), ""),
        }
    }
}

/// Returns the problem of a repair of the last week that could not repair everything.
fn incomplete_problem(repair: &RepairFacts, now: Micros) -> Option<ServiceProblem> {
    let is_new = now.since(repair.started_at) < UNREPAIRED_SHOWN;
    (repair.state == RepairState::Incomplete && is_new).then(|| {
        let why = repair
            .why
            .as_deref()
            .unwrap_or("its receipt says what is left");
        let what = format!("a repair of {} is not complete ({why})", repair.plugin);
        let command = format!("repair show {}", repair.id);
        ServiceProblem::new(what, command, format!("/repairs/{}", repair.id))
    })
}

fn clock_problem(host: &HostView) -> Option<ServiceProblem> {
    let difference = host.clock_difference()?;
    let what = format!(
        "the clock of the host {} is {difference}; synchronise both by NTP",
        host.name
    );
    Some(ServiceProblem::new(what, "doctor", SERVICE_PAGE))
}

/// Returns the sentence about a pause. The service pauses because the far end refuses the credentials.
fn paused(what: &str, name: &str, reason: &str) -> String {
    let todo = if reason == BY_AN_OPERATOR {
        ""
    } else {
        ": if it says that a secret is wrong, set the secret first, then resume"
    };
    let are = if what.contains("fetches") {
        "are"
    } else {
        "is"
    };
    format!("{what} {name} {are} paused ({reason}){todo}")
}

fn impact(plugin: &str, version: &Digest) -> String {
    format!("plugin impact {}@{}", quoted(plugin), version.short())
}

/// The sentence about such a version.
const NOT_ACTIVE: &str = "; that version is not active, see what it did";

/// The sentence about a version without one to return to.
const NO_WAY_BACK: &str =
    "; a rollback is no remedy, see what the active version does to the leads that it converted";

/// Returns the problem of a connection or an instance, by its name and its page, whose deliveries keep failing
/// with this plugin.
fn failure_problem(
    (kind, name, page): (&'static str, &str, String),
    plugin: ServingPlugin<'_>,
    change: &SourceChange,
) -> ServiceProblem {
    let SourceChange { what, after, .. } = change;
    let since = change.since.to_the_second();
    let shared = format!("{kind} {} {what}", plugin.name);
    let what = format!("deliveries of {name} keep failing since {since} ({what}; {after})");
    let failed = format!("/deliveries?status=failed&{kind}={name}");
    if change.cause == ChangeCause::Version {
        let (command, more) = plugin.remedy(change);
        let page = format!("/plugins/{}", plugin.name);
        return ServiceProblem::new(format!("{what}{more}"), command, page)
            .with_page("the failed deliveries", failed)
            .shared(shared, name);
    }
    let list = format!("delivery list --status failed --{kind} {}", quoted(name));
    // A wrong secret is a frequent cause.
    ServiceProblem::new(what, list, failed)
        .with_page(SET_A_SECRET, secret_form(&page))
        .shared(shared, name)
}

/// Returns the problems of a connection whose deliveries keep failing or have changed: one for all
/// failures, or one for the differences that began together.
fn change_problems(
    name: &str,
    connection: &ConnectionView,
    change: &SourceChange,
    plugin: ServingPlugin<'_>,
) -> Vec<ServiceProblem> {
    if change.failing {
        let named = ("connection", name, connection_page(connection));
        return vec![failure_problem(named, plugin, change)];
    }
    let is_new = change.cause == ChangeCause::Version;
    let (command, more) = plugin.remedy(change);
    let plugin_page = format!("/plugins/{}", connection.plugin);
    let by = change.what.split_once(": new in ");
    let by = by.map_or_else(String::new, |(_, version)| format!(", new in {version}"));
    let configured = change.what.split_once(": since configuration ");
    let configured = configured.map(|(_, number)| number);
    let changes = change.changes().into_iter();
    changes
        .map(|(since, differences)| {
            let since = since.to_the_second();
            let list = format!("/deliveries?connection={name}&since={since}");
            let problem = if is_new {
                ServiceProblem::new(
                    format!("leads of {name} lack data since about {since}{by}: {differences}{more}"),
                    command.clone(),
                    plugin_page.clone(),
                )
            } else {
                let what = match configured {
                    Some(number) => format!(
                        "leads of {name} lack data since about {since}, since configuration {number}: {differences}"
                    ),
                    None => format!(
                        "the deliveries of {name} changed at about {since}: {differences}"
                    ),
                };
                let page = format!("{CONNECTIONS_PAGE}#{}", connection.id);
                ServiceProblem::new(what, "connection list", page)
            };
            problem.with_page("its deliveries since then", list)
        })
        .collect()
}

fn left_problem(name: &str, left: &LeftDeliveriesView) -> ServiceProblem {
    let all = left.refused + left.lacking;
    let (since, until) = (left.since.text(), left.until.text());
    let what = format!(
        "{} of {name} are as they were converted during a change that is over ({}): {} without a lead, {} with leads that still lack it",
        counted(all, "delivery", "deliveries"),
        left.differences.join("; "),
        left.refused,
        left.lacking,
    );
    let connection = quoted(name);
    let command = format!(
        "delivery replay --connection {connection} --since {since} --until {until} --apply"
    );
    let page = format!("/deliveries?connection={name}&since={since}&until={until}");
    ServiceProblem::new(what, command, page)
}

/// A version that was rolled back, or whose rollout was ended, and that was not repaired; or one that is
/// blamed for a change of a connection and does not serve.
#[derive(Debug)]
pub struct UnrepairedVersion {
    pub name: String,
    pub digest: Digest,
    version: String,
    /// It converted nothing that was received earlier: when it was stored, or when the change began.
    since: Micros,
    /// The connection whose change it is blamed for. `None`: the deliveries of all connections count.
    connection: Option<ConnectionId>,
    /// The deliveries that it converted, if they were counted.
    served: Option<u64>,
    /// How often its deliveries were looked for, and where the next look begins.
    looks: u32,
    before: Option<DeliveryId>,
}

impl UnrepairedVersion {
    pub fn deliveries_path(&self) -> String {
        let of = self.connection.as_ref();
        let of = of.map_or_else(String::new, |id| format!("&connection={id}"));
        let before = self.before;
        let before = before.map_or_else(String::new, |id| format!("&before={id}"));
        format!("/deliveries?version={}{of}{before}&limit=1", self.digest)
    }

    /// Returns whether the answer has such a delivery, or did not look back far enough. Without one, others
    /// have converted all of them since.
    fn may_have_deliveries(&self, found: &Deliveries) -> bool {
        let is_cut = found
            .searched_until
            .is_some_and(|looked| looked > self.since);
        is_cut || !found.deliveries.is_empty()
    }

    fn sentence(&self) -> String {
        // Two versions may have the same number.
        let version = format!(
            "version {} ({}) of {}",
            self.version,
            self.digest.short(),
            self.name
        );
        match self.served {
            Some(served) => format!(
                "{version} converted {} before it was rolled back; see what it did to their leads",
                counted(served, "delivery", "deliveries")
            ),
            None => {
                format!("{version} was rolled back; see what it did to the leads that it converted")
            }
        }
    }
}

/// Returns whether an operator has activated the active version after a rollout ended. Each is a time with a
/// version: the activation, and the end of the rollout with its stable version.
fn is_after((activated, active): (Micros, &Digest), (ended, stable): (Micros, &Digest)) -> bool {
    let is_other = active != stable;
    activated > ended && (is_other || activated.since(ended) > ROLLED_BACK_ITSELF)
}

/// How long after the end of a rollout the service itself may activate the stable version.
const ROLLED_BACK_ITSELF: Duration = Duration::from_secs(60);

/// How long a rollback is shown, unless an operator activates a version before: the operators of one day see
/// it, and need not confirm it.
const ROLLED_BACK_SHOWN: Duration = Duration::from_hours(24);

/// How long a version that was rolled back is shown, unless its deliveries are converted again before.
const UNREPAIRED_SHOWN: Duration = Duration::from_hours(7 * 24);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::repairs::RepairedDeliveries;

    #[test]
    fn a_disk_that_runs_full_is_named_before_writes_are_refused() {
        let disk = DiskView {
            folder: "/data".to_owned(),
            free_bytes: None,
            reserve_bytes: limits::DISK_RESERVE_BYTES,
        };
        let said = |free: u64| low_disk(&disk, free).unwrap_or_default();
        assert_eq!(said(limits::DOCTOR_LOW_DISK_BYTES), "");
        assert!(said(limits::DOCTOR_LOW_DISK_BYTES - 1).contains("has only 1023.9 MiB free"));
        let full = said(limits::DISK_RESERVE_BYTES - 1);
        assert!(
            full.contains("are refused with 507 while the files have no room"),
            "{full}"
        );
    }

    #[test]
    fn deliveries_of_an_instance_that_keep_failing_name_the_rollback_or_their_list() {
        let change = |cause| SourceChange {
            what: "failing deliveries".to_owned(),
            before: "converted".to_owned(),
            after: "3 of the last 3 fail".to_owned(),
            since: Micros(0),
            failing: true,
            cause,
            digest: Some(Digest::compute(b"blamed")),
            parts: Vec::new(),
        };
        let (blamed, other) = (Digest::compute(b"blamed"), Digest::compute(b"other"));
        let before = Digest::compute(b"before");
        let plugin = |active, way_back| ServingPlugin {
            name: "twilio",
            active: Some(active),
            way_back,
        };
        let with = |active, cause| {
            let named = ("instance", "acme/bot", "/instances/7".to_owned());
            failure_problem(named, plugin(active, Some(&before)), &change(cause))
        };
        // A rollback of another version might activate the blamed one again.
        let found = with(&other, ChangeCause::Version);
        let impact = format!("plugin impact twilio@{}", blamed.short());
        assert_eq!(found.command, impact);
        assert!(
            found.what.contains("that version is not active"),
            "{}",
            found.what
        );
        let of = |cause| with(&blamed, cause);
        let failed = "/deliveries?status=failed&instance=acme/bot";
        let found = of(ChangeCause::Version);
        assert_eq!(found.command, "plugin rollback twilio");
        assert_eq!(
            found.also,
            [("the failed deliveries".to_owned(), failed.to_owned())]
        );
        // The version before was itself rolled back, or is the one that the words blame.
        let (command, more) = plugin(&blamed, None).remedy(&change(ChangeCause::Version));
        assert_eq!((command, more), (impact, NO_WAY_BACK));
        let inferred = SourceChange {
            what: format!("leads with a phone: new in 1.1.0 ({})", blamed.short()),
            digest: None,
            ..change(ChangeCause::Version)
        };
        let (command, _) = plugin(&other, Some(&blamed)).remedy(&inferred);
        assert_eq!(
            command,
            format!("plugin impact twilio@{}", other.short()),
            "a rollback would activate the blamed version again"
        );
        let (command, _) = plugin(&blamed, Some(&other)).remedy(&inferred);
        assert_eq!(command, "plugin rollback twilio");
        let found = of(ChangeCause::Source);
        assert_eq!(
            found.command,
            "delivery list --status failed --instance acme/bot"
        );
        assert_eq!(found.page, failed);
        let form = "/instances/7#set-secret".to_owned();
        assert_eq!(found.also, [("set a secret".to_owned(), form)]);
    }

    #[test]
    fn deliveries_keep_failing_with_the_version_that_was_tried_and_no_other_one() {
        let (tried, other) = (Digest::compute(b"tried"), Digest::compute(b"other"));
        let change = |failing, cause, digest: Option<&Digest>| SourceChange {
            // The words name another version: only the digest counts.
            what: format!("failing deliveries: new in 1.1.0 ({})", other.short()),
            before: "converted".to_owned(),
            after: "3 of the last 3 fail".to_owned(),
            since: Micros(0),
            failing,
            cause,
            digest: digest.cloned(),
            parts: Vec::new(),
        };
        let version = ChangeCause::Version;
        let new = change(true, version, Some(&tried));
        assert!(is_failing_with(&new, &tried));
        assert!(!is_failing_with(&new, &other));
        for is_not in [
            change(false, version, Some(&tried)),
            change(true, ChangeCause::Source, Some(&tried)),
            // No version was tried.
            change(true, version, None),
        ] {
            assert!(!is_failing_with(&is_not, &tried), "{is_not:?}");
        }
    }

    #[test]
    fn harm_of_a_candidate_is_named_in_a_shadow_and_without_guards() {
        let rollout = |stage: &str, guards: bool, drift: &[&str]| -> RolloutView {
            let example = include_str!("rollout.example.json");
            let mut rollout: Value = serde_json::from_str(example).expect("JSON");
            rollout["stage"] = json!(stage);
            rollout["plan"]["guards"] = json!(guards);
            rollout["drift"] = json!(drift);
            serde_json::from_value(rollout).expect("a rollout")
        };
        let check = |stage, guards, drift: &[&str], expect: Option<&str>| {
            let found = unguarded_harm(&rollout(stage, guards, drift));
            assert_eq!(found.as_deref(), expect);
        };
        let lost = "3 of 415 leads lose a phone";
        // A guard ends no shadow, whatever its plan has.
        check(
            "shadow",
            true,
            &[lost],
            Some(
                "in the shadow of portal, version 1.4.0 (9b0f7a3c5d2e) differs more than the policy allows: 3 of 415 leads lose a phone",
            ),
        );
        check(
            "canary",
            false,
            &["one", "two", "three", "four"],
            Some(
                "the rollout of portal continues without guards, although version 1.4.0 (9b0f7a3c5d2e) differs more than the policy allows: one; two; and 2 more",
            ),
        );
        check("shadow", true, &[], None);
        check("canary", true, &[lost], None);
        check("done", false, &[lost], None);
    }

    #[test]
    fn deliveries_of_a_change_that_is_over_are_named_with_the_replay_of_them() {
        let left = LeftDeliveriesView {
            since: Micros(1_000_001),
            until: Micros(2_000_002),
            differences: vec!["leads with a phone: 81 % -> 0 %".to_owned()],
            refused: 232,
            lacking: 252,
        };
        let found = left_problem("acme/site", &left);
        assert_eq!(
            found.what,
            "484 deliveries of acme/site are as they were converted during a change that is over (leads with a phone: 81 % -> 0 %): 232 without a lead, 252 with leads that still lack it"
        );
        assert_eq!(
            found.command,
            "delivery replay --connection acme/site --since 1970-01-01T00:00:01.000001Z --until 1970-01-01T00:00:02.000002Z --apply"
        );
    }

    fn overview() -> ServiceOverview {
        let status = json!({
            "version": "0.1.0", "engine": "", "now": Micros(1_000_000_000), "storeId": uuid::Uuid::nil(),
            "draining": false, "sealingKey": "", "backlog": leadhost_domain::backlog::Backlog::default(),
            "analytics": [], "tzdata": "", "plugins": [], "host": {"id": uuid::Uuid::nil(), "name": ""},
            "hosts": [], "connections": null, "pluginCalls": {"waiting": 0, "running": 0},
        });
        let activity = || Activity {
            counted_at: None,
            period: crate::activity::ActivityPeriod::Day,
            slots: Vec::new(),
            series: Vec::new(),
        };
        ServiceOverview {
            status: serde_json::from_value(status).expect("a status"),
            connections: serde_json::from_value(json!({"connections": []})).expect("connections"),
            instances: serde_json::from_value(json!({"instances": []})).expect("instances"),
            plugins: serde_json::from_value(json!({"plugins": [], "refusals": [], "hosts": []}))
                .expect("plugins"),
            rollouts: Vec::new(),
            rollbacks: Vec::new(),
            ended_rollouts: Vec::new(),
            repairs: Vec::new(),
            unrepaired: Vec::new(),
            past_changes: BTreeSet::new(),
            last_hour: activity(),
            last_day: activity(),
            quarantined: Vec::new(),
            not_ready: Vec::new(),
        }
    }

    #[track_caller]
    fn only(overview: &ServiceOverview) -> ServiceProblem {
        let mut found = overview.problems();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn a_certificate_that_ends_soon_is_a_problem_and_one_that_has_ended_a_severe_one() {
        let mut overview = overview();
        assert_eq!(overview.problems(), []);
        let now = overview.status.now;
        let mut ends = |at| {
            overview.status.certificate_ends_at = Some(at);
            overview.problems()
        };
        assert_eq!(ends(now.plus(limits::DOCTOR_CERTIFICATE_WARNING)), []);
        let soon = ends(now.plus(Duration::from_hours(24)));
        assert!(
            soon[0].what.contains("expires in") && !soon[0].is_severe,
            "{soon:?}"
        );
        let over = ends(now);
        assert!(
            over[0].what.contains("has expired") && over[0].is_severe,
            "{over:?}"
        );
    }

    #[test]
    fn lost_lines_of_the_log_are_a_problem_while_they_are_lost() {
        let mut overview = overview();
        overview.status.lost_log_lines = Some(12);
        let found = overview.problems();
        assert!(
            found[0].what.starts_with("the log lost 12 lines since"),
            "{found:?}"
        );
        overview.status.lost_log_lines = None;
        assert_eq!(overview.problems(), []);
    }

    #[test]
    fn a_large_log_that_a_reader_holds_is_a_problem() {
        let mut overview = overview();
        let mut of = |bytes, held_seconds| {
            overview.status.log = Some(LogUsage {
                bytes,
                held_seconds,
            });
            overview.problems()
        };
        assert_eq!(of(800 << 20, None), []);
        assert_eq!(of(800 << 20, Some(1)), [], "a checkpoint may be under way");
        assert_eq!(of(limits::LOG_BYTES, Some(30)), []);
        let found = of(800 << 20, Some(30));
        assert!(
            found[0]
                .what
                .contains("800 MiB, because a reader has needed it for 30 s"),
            "{found:?}"
        );
    }

    #[test]
    fn refused_requests_are_named_with_their_reason_and_senders_but_not_those_of_clients_past_their_share()
     {
        let mut overview = overview();
        let refused = |reason: Shed| {
            json!({"reason": reason, "requests": 1_204, "firstAt": Micros(0), "lastAt": Micros(0), "moreDeliveries": 0,
                "deliveries": [{"connectionId": ConnectionId::generate(), "workspace": "acme", "name": "form", "deliveries": 1_200}]})
        };
        let refused =
            Shed::ALL.map(|reason| serde_json::from_value(refused(reason)).expect("a view"));
        overview.status.refused = Vec::from(refused);
        let found = overview.problems();
        assert_eq!(found.len(), Shed::ALL.len() - 6);
        for said in [
            "1204 requests were refused with 503 between 1970-01-01T00:00:00Z and 1970-01-01T00:00:00Z, because more arrived than the store takes: 1200 deliveries of acme/form, 4 other requests; add processors",
            "refused with 429 between",
            "nothing could be written: 1200 deliveries of acme/form",
        ] {
            assert!(
                found.iter().any(|one| one.what.contains(said)),
                "{said}: {found:?}"
            );
        }
    }

    #[test]
    fn deliveries_of_a_version_are_looked_for_further_back_until_none_can_be_left() {
        let mut overview = overview();
        let left = || UnrepairedVersion {
            name: "portal".to_owned(),
            digest: Digest("3f9c01ab42de0".to_owned()),
            version: "1.1.0".to_owned(),
            since: Micros(7),
            connection: None,
            served: None,
            looks: 0,
            before: None,
        };
        let floor = DeliveryId::new(Micros(9));
        let cut = |until| Deliveries {
            deliveries: Vec::new(),
            next: Some(floor),
            searched_until: Some(Micros(until)),
            only_leads_before: None,
        };
        let next = overview.looked_for(left(), &cut(9)).expect("another look");
        assert!(next.deliveries_path().contains(&format!("&before={floor}")));
        assert!(overview.looked_for(next, &cut(6)).is_none());
        assert_eq!(
            overview.problems(),
            [],
            "older deliveries cannot be its own"
        );
        let mut next = Some(left());
        let mut looks = 0;
        while let Some(one) = next {
            looks += 1;
            next = overview.looked_for(one, &cut(9));
        }
        assert_eq!(looks, limits::LEFT_VERSION_LOOKS + 1);
        assert!(
            only(&overview)
                .what
                .contains("was rolled back; see what it did")
        );
    }

    #[test]
    fn a_candidate_that_served_nothing_has_nothing_to_see() {
        let mut overview = overview();
        let mut rollout: Value =
            serde_json::from_str(include_str!("rollout.example.json")).expect("JSON");
        rollout["stage"] = json!("aborted");
        let candidate = rollout["candidate"]["digest"]
            .as_str()
            .expect("a digest")
            .to_owned();
        let stable = rollout["stable"]["digest"].clone();
        let name = rollout["name"].as_str().expect("a name").to_owned();
        let ended_at = overview.status.now;
        rollout["stageAt"] = json!(ended_at);
        let detail = json!({"mode": "canary", "candidate": candidate, "stable": stable});
        let by = leadhost_domain::audit::AuditActor::service("ana");
        let act = (OperatorAct::EndRollout, name.as_str());
        let act = leadhost_domain::audit::Act::done(by, ended_at, act, &detail);
        overview.ended_rollouts = vec![AuditRow::new(None, act)];
        let mut named = |served: u64| {
            rollout["served"] = json!(served);
            overview.rollouts = vec![serde_json::from_value(rollout.clone()).expect("a rollout")];
            overview.rolled_back().len()
        };
        assert_eq!((named(0), named(3)), (0, 1));
    }

    #[test]
    fn a_problem_that_begins_with_a_name_keeps_its_case() {
        let begins = |what: &str| {
            ServiceProblem::new(what.to_owned(), "doctor", SERVICE_PAGE).begins_with_name()
        };
        assert!(begins("acme/form refused 12 of the 12 deliveries"));
        assert!(!begins("the fetches of acme/form are paused"));
    }

    #[test]
    fn a_version_that_was_rolled_back_is_named_with_the_deliveries_that_it_converted() {
        let left = UnrepairedVersion {
            name: "portal".to_owned(),
            digest: Digest("3f9c01ab42de0".to_owned()),
            version: "1.1.0".to_owned(),
            since: Micros(7),
            connection: None,
            served: Some(141),
            looks: 0,
            before: None,
        };
        assert_eq!(
            left.sentence(),
            "version 1.1.0 (3f9c01ab42de) of portal converted 141 deliveries before it was rolled back; see what it did to their leads"
        );

        let found = |searched_until| Deliveries {
            deliveries: Vec::new(),
            next: None,
            searched_until,
            only_leads_before: None,
        };
        assert!(!left.may_have_deliveries(&found(None)));
        assert!(!left.may_have_deliveries(&found(Some(Micros(6)))));
        assert!(left.may_have_deliveries(&found(Some(Micros(8)))));
    }

    fn repair(state: &str, fields: Value) -> RepairFacts {
        let mut facts = json!({
            "id": uuid::Uuid::nil(), "plugin": "portal", "convertedBy": "3f9c01ab42de", "apply": true,
            "state": state, "why": "1 lead is not parted", "startedBy": "ana",
            "startedAt": Micros(0), "kept": 0, "unsplit": 1,
            "deliveries": RepairedDeliveries::default(),
        });
        let Value::Object(fields) = fields else {
            panic!("no object: {fields}");
        };
        facts.as_object_mut().expect("an object").extend(fields);
        serde_json::from_value(facts).expect("a repair")
    }

    #[test]
    fn a_repair_that_could_not_repair_everything_is_named_for_a_week() {
        let repair = |state| repair(state, json!({}));
        let week = Micros(0).plus(UNREPAIRED_SHOWN);
        let found = incomplete_problem(&repair("incomplete"), Micros(1)).expect("a problem");
        assert_eq!(
            found.what,
            "a repair of portal is not complete (1 lead is not parted)"
        );
        assert!(
            found.command.starts_with("repair show 0"),
            "{}",
            found.command
        );
        assert!(incomplete_problem(&repair("incomplete"), week).is_none());
        assert!(incomplete_problem(&repair("done"), Micros(1)).is_none());
    }

    #[test]
    fn a_repair_of_a_field_a_connection_or_a_time_is_not_whole() {
        assert!(repair("done", json!({})).is_whole());
        let connection = uuid::Uuid::nil();
        for narrow in [
            json!({"field": "name"}),
            json!({"connectionId": connection}),
            json!({"since": Micros(0)}),
            json!({"until": Micros(0)}),
        ] {
            assert!(!repair("done", narrow.clone()).is_whole(), "{narrow}");
        }
    }

    #[test]
    fn problems_with_one_reason_are_one_that_names_whose_they_are() {
        let failing = |whose: &str, reason: &str| {
            let page = format!("/deliveries?connection={whose}");
            ServiceProblem::new(format!("{whose} fails: {reason}"), "delivery list", page)
                .shared(reason.to_owned(), whose)
        };
        let other = ServiceProblem::new("the disk is full".to_owned(), "doctor", SERVICE_PAGE);
        let grouped = ServiceProblem::grouped(vec![
            failing("acme/a", "it loops"),
            failing("acme/b", "it traps"),
            other,
            failing("acme/c", "it loops"),
        ]);
        let shown = grouped.iter().map(|one| (one.what.as_str(), &one.also));
        let shown: Vec<_> = shown.map(|(what, also)| (what, also.len())).collect();
        assert_eq!(
            shown,
            [
                ("acme/a fails: it loops", 1),
                ("acme/b fails: it traps", 0),
                ("the disk is full", 0)
            ]
        );
        let also = ("also acme/c", "/deliveries?connection=acme/c");
        assert_eq!(grouped[0].also, [(also.0.to_owned(), also.1.to_owned())]);
    }

    #[test]
    fn a_rollback_is_over_when_an_operator_activates_a_version_after_it() {
        let (stable, other) = (Digest::compute(b"stable"), Digest::compute(b"other"));
        let ended = Micros(1_000_000_000);
        let at = |seconds: i64| Micros(ended.0 + seconds * 1_000_000);
        let check = |activated, active: &Digest, expect: bool| {
            let found = is_after((activated, active), (ended, &stable));
            assert_eq!(found, expect, "{activated:?} {active:?}");
        };
        check(at(-10), &stable, false);
        check(at(-10), &other, false);
        // The end of a probation activates the stable version.
        check(at(1), &stable, false);
        check(at(1), &other, true);
        check(at(3_600), &stable, true);
    }
}
