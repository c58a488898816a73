use std::cmp::Reverse;

use serde::Deserialize as _;

use super::super::chart::Chart;
use super::super::frame;
use super::audit::ShownAct;
use super::words::slot_names;
use crate::console::pages::prelude::*;
use leadhost_admin_api::activity::ActivityPeriod;
use leadhost_admin_api::audit::Audit;
use leadhost_admin_api::overview::{self, ServiceProblem};
use leadhost_admin_api::plugin_calls::{PluginCallHistory, VersionCallHistory};
use leadhost_admin_api::plugins::{
    ActivateRequest, DeployedPlugin, ImpactRequest, PluginList, PluginVersion, PluginView,
    RefusalView, RefusedActivation, RollbackRequest, VerifiedPlugin, VerifyRequest, VersionState,
};
use leadhost_admin_api::rollouts::{RolloutChangeRequest, RolloutRequest, RolloutView};
use leadhost_domain::audit::{ActOutcome, AuditRow, OperatorAct};
use leadhost_domain::connection::ChangeCause;
use leadhost_domain::difference;
use leadhost_domain::repair::RepairField;
use leadhost_domain::rollout::{RolloutChange, RolloutMode, RolloutStage};
use leadhost_domain::size;
use leadhost_pipeline::deploy::rolled_back::rollback_of;

pub static ROUTES: &[Route] = pages! {
    GET "/plugins" => page list();
    GET "/plugins/{plugin}" => answer find(plugin);
    POST "/plugins/{plugin}/activate" => form "/plugins/{}" activate(plugin, form);
    POST "/plugins/{plugin}/verify" => form "/plugins/{}" verify(plugin, form);
    POST "/plugins/{plugin}/impact" => form "/plugins/{}" impact(plugin, form);
    POST "/plugins/{plugin}/rollback" => form "/plugins/{}" roll_back(plugin, form);
    POST "/plugins/{plugin}/rollout" => form "/plugins/{}" start_rollout(plugin, form);
    POST "/plugins/{plugin}/rollout/change" => form "/plugins/{}" change_rollout(plugin, form);
    POST "/plugins" => form "/plugins" upload(form) [Component];
};

#[derive(Template)]
#[template(path = "console/plugins.html")]
pub struct PluginsPage {
    frame: Frame,
    plugins: Vec<PluginView>,
    refusals: Vec<RefusalView>,
}

impl PluginsPage {
    fn failing(&self, plugin: &PluginView) -> String {
        text::counted(
            plugin.circuits.len() as u64,
            "connection fails",
            "connections fail",
        )
    }
}

async fn list(visit: &Visit<'_>) -> PageResult<PluginsPage> {
    let list: PluginList = visit.api().get("/plugins").await?;
    Ok(PluginsPage {
        frame: visit.frame("plugins", "Plugins"),
        plugins: list.plugins,
        refusals: list.refusals,
    })
}

#[derive(Template)]
#[template(path = "console/plugin.html")]
pub struct PluginPage {
    frame: Frame,
    plugin: PluginView,
    /// The last rollout, open or ended.
    rollout: Option<RolloutView>,
    /// A version that was compared on request.
    verified: Option<VerifiedPlugin>,
    /// The effect of a version on the leads that it converted, and the fields to which its repair may be
    /// restricted.
    impact: Option<ImpactPart>,
    /// An activation or a rollout with concerns that must be accepted.
    refused: Option<RefusedDeploy>,
    calls: PluginCallHistory,
    periods: [ActivityPeriod; ActivityPeriod::ALL.len()],
    charts: Vec<Chart>,
    /// The operations on it, with their operators, newest first.
    timeline: Vec<AuditRow>,
    /// The connections and instances that keep failing with the active version, and not with the one before.
    failing: Vec<ServiceProblem>,
    /// The ids of the connections whose sources send what both versions fail on.
    failing_sources: Vec<String>,
    /// Why the period of its address was refused.
    problem: Option<ApiRefusal>,
    /// The form of a rollout whose steps or times were refused.
    wrong: Option<WrongRollout>,
}

impl PluginPage {
    /// Returns whether the page is read again by itself: while a rollout is open, and unless it shows the
    /// answer to a form.
    fn is_live(&self) -> bool {
        let is_answer = self.verified.is_some()
            || self.impact.is_some()
            || self.refused.is_some()
            || self.wrong.is_some();
        self.plugin.rollout.is_some() && !is_answer && self.problem.is_none()
    }

    /// Returns whether the last rollout is still the news of the plugin: the version with which it ended
    /// serves, and no other was activated since.
    fn is_news(&self, rollout: &RolloutView) -> bool {
        let serves = match rollout.stage {
            RolloutStage::Done => &rollout.candidate,
            _ => &rollout.stable,
        };
        rollout.stage.is_open() || self.plugin.digest.as_ref() == Some(&serves.digest)
    }

    /// Returns whether a canary is open: until it ends, no other version can be activated.
    fn has_canary(&self) -> bool {
        let open = self.plugin.rollout.as_ref();
        open.is_some_and(|open| matches!(open.stage, RolloutStage::Verified | RolloutStage::Canary))
    }

    fn wrong(&self, version: &PluginVersion) -> Option<&WrongRollout> {
        let wrong = self.wrong.as_ref();
        wrong.filter(|wrong| wrong.digest == version.digest.0)
    }

    /// Returns what a version is: also whether it is the candidate of the open rollout, or was rolled back.
    fn state(&self, version: &PluginVersion) -> &'static str {
        if version.state == VersionState::Active {
            return version.state.as_str();
        }
        let open = self.plugin.rollout.as_ref();
        if open.is_some_and(|open| open.candidate.digest == version.digest) {
            return CANDIDATE;
        }
        if self.was_rolled_back(version) {
            RolloutStage::RolledBack.as_str()
        } else {
            version.state.as_str()
        }
    }

    fn acts(&self) -> Vec<ShownAct> {
        self.timeline.iter().cloned().map(ShownAct::new).collect()
    }

    /// Returns whether a version that is not active was rolled back, by an operator or a guard.
    fn was_rolled_back(&self, version: &PluginVersion) -> bool {
        let by = rollback_of(&self.timeline, &version.digest);
        // A rollout that an operator ended does not count as a rollback of its candidate. The exception is a
        // candidate that was active: the service then refuses a rollback to it.
        let is_previous = version.state == VersionState::Previous;
        if by.is_some_and(|row| is_previous || row.act != OperatorAct::EndRollout.as_str()) {
            return true;
        }
        let last = self.rollout.as_ref();
        !is_previous
            && last.is_some_and(|last| {
                last.stage == RolloutStage::RolledBack && last.candidate.digest == version.digest
            })
    }

    fn is_way_back(&self, version: &PluginVersion) -> bool {
        self.plugin.way_back.as_ref() == Some(&version.digest)
    }

    fn way_back(&self) -> Option<&PluginVersion> {
        let mut versions = self.plugin.versions.iter();
        versions.find(|version| self.is_way_back(version))
    }

    /// Returns whether the active version itself keeps failing: not on what the version before fails on, too.
    fn is_active_failing(&self) -> bool {
        let mut circuits = self.plugin.circuits.iter();
        let is_of_active = circuits.any(|circuit| {
            let is_of_source = self.failing_sources.contains(&circuit.connection);
            Some(&circuit.digest) == self.plugin.digest.as_ref() && !is_of_source
        });
        is_of_active || !self.failing.is_empty()
    }

    fn version_of(&self, digest: &Digest) -> String {
        let mut versions = self.plugin.versions.iter();
        let found = versions.find(|version| version.digest == *digest);
        let version = found.map_or_else(|| digest.short(), |version| &version.version);
        version.to_owned()
    }

    /// Returns how many calls returned more than is allowed.
    fn over(&self, version: &VersionCallHistory) -> u64 {
        let counts = version.outcomes.get("too_much_output");
        counts.map_or(0, |counts| counts.iter().sum())
    }
}

/// Returns a time as a person reads it: `1.9 ms`.
fn milliseconds(micros: &u64) -> String {
    format!("{} ms", difference::milliseconds(*micros))
}

/// Says what a deploy has done, and which hosts do not follow yet.
fn deployed_notice(text: String, deployed: &DeployedPlugin) -> Notice {
    let behind = deployed.behind.iter().flatten();
    let behind = behind.map(|one| format!("{} ({})", one.host, one.reason));
    let behind = behind.collect::<Vec<_>>().join(", ");
    if behind.is_empty() {
        text.into()
    } else {
        Notice {
            tone: Tone::Warn,
            text: format!("{text} Not yet on {behind}."),
        }
    }
}

/// The effect of a version on the leads that it converted.
struct ImpactPart {
    verified: VerifiedPlugin,
    /// Since when its deliveries were compared, as the form has it.
    since: String,
    fields: &'static [RepairField],
}

/// The form of a rollout as it was typed, and why it was refused.
struct WrongRollout {
    digest: String,
    steps: String,
    every_minutes: String,
    message: String,
}

/// A deploy with concerns that must be accepted, and the form that accepts them.
struct RefusedDeploy {
    details: RefusedActivation,
    /// The form's address, below the plugin's page.
    to: &'static str,
    fields: Vec<(String, String)>,
}

impl RefusedDeploy {
    fn awaits_admin(&self, frame: &Frame) -> bool {
        let mut words = self.details.accept.iter();
        !frame.may_administer() && words.any(|word| word.is_for_admins())
    }

    fn for_admin(&self, page: &PluginPage) -> String {
        let words = self
            .details
            .accept
            .iter()
            .filter(|word| word.is_for_admins());
        let words: Vec<&str> = words.map(|word| word.as_str()).collect();
        let field = |name: &str| {
            let found = self.fields.iter().find(|(field, _)| field == name);
            found.map_or("", |(_, value)| value)
        };
        let button = match (self.to, field("mode")) {
            ("rollout", "shadow") => "Start a shadow",
            ("rollout", _) => "Start a canary",
            ("rollback", _) => "Roll back to this version",
            _ => "Activate",
        };
        let mut versions = page.plugin.versions.iter();
        let version = versions.find(|version| version.digest.0 == field("digest"));
        let version = version.map_or_else(String::new, |version| {
            format!(" of {} ({})", version.version, version.digest.short())
        });
        format!(
            "An admin has to accept this ({}); your key has the role {}. The admin opens this page, presses \"{button}\"{version}, reads the same, and accepts it.",
            words.join(", "),
            page.frame.role
        )
    }

    /// Says what was not done, and what the operator may do now.
    fn what(&self, frame: &Frame) -> String {
        let what = match self.to {
            "rollout" => "The rollout is not started",
            "rollback" => "It is not rolled back",
            _ => "The version is not activated",
        };
        match self.details.accept.is_empty() {
            true => format!("{what}, and this cannot be accepted:"),
            false if self.awaits_admin(frame) => format!("{what} yet:"),
            false => format!("{what} yet. Read this, and accept it if it is intended:"),
        }
    }

    fn concerns(&self) -> impl Iterator<Item = &str> {
        let drift = self.details.verification.as_ref();
        let drift = drift.map_or(&[][..], |verified| &verified.drift);
        let concerns = self.details.concerns.iter();
        let others = concerns.filter(|concern| !drift.contains(&concern.what));
        others.map(|concern| concern.what.as_str())
    }
}

async fn find(visit: &Visit<'_>, name: &str) -> PageResult {
    let shown = show(visit, name).await?;
    page(status_of(shown.problem.as_ref()), &shown)
}

async fn show(visit: &Visit<'_>, name: &str) -> PageResult<PluginPage> {
    let api = visit.api();
    let list: PluginList = api.get("/plugins").await?;
    let plugin = list.plugins.into_iter().find(|plugin| plugin.name == name);
    let Some(mut plugin) = plugin else {
        let message = format!("There is no plugin `{name}`.");
        return Err(ApiRefusal::new(StatusCode::NOT_FOUND, message));
    };
    // The active version comes first, then the previous one, and then the others with the newest
    // first.
    plugin.versions.sort_by_key(|version| {
        let rank = match version.state {
            VersionState::Active => 0,
            VersionState::Previous => 1,
            VersionState::Stored => 2,
        };
        (rank, Reverse(version.stored_at))
    });
    let rollout = last_rollout(visit, name).await?;
    let path = format!("/plugins/{}/calls", encoded(name));
    let Filtered { found, problem } =
        Filtered::<PluginCallHistory>::for_period(visit, &path).await?;
    let connections: Connections = api.get("/connections").await?;
    let instances: Instances = api.get("/instances").await?;
    Ok(PluginPage {
        failing: overview::version_problems(&plugin, &connections, &instances),
        failing_sources: failing_sources(&connections),
        frame: visit.frame("plugins", name),
        plugin,
        rollout,
        verified: None,
        impact: None,
        refused: None,
        charts: charts(&found),
        calls: found,
        periods: ActivityPeriod::ALL,
        timeline: timeline(visit, name).await?,
        problem,
        wrong: None,
    })
}

fn failing_sources(connections: &Connections) -> Vec<String> {
    let connections = connections.connections.iter();
    let failing = connections.filter(|one| {
        let change = one.source_change.as_ref();
        change.is_some_and(|change| change.failing && change.cause == ChangeCause::Source)
    });
    failing.map(|one| one.id.to_string()).collect()
}

/// The page's name for the candidate of the open rollout.
const CANDIDATE: &str = "candidate";

/// Draws what the calls of each version came to, and what they needed.
fn charts(calls: &PluginCallHistory) -> Vec<Chart> {
    let slots = slot_names(calls.period, &calls.slots);
    let outcomes = calls.versions.iter().flat_map(|version| {
        let outcomes = version.outcomes.iter();
        outcomes.map(|(outcome, counts)| (format!("{} {outcome}", name(version)), counts.clone()))
    });
    let levels = |of: fn(&VersionCallHistory) -> Vec<u64>| {
        let versions = calls.versions.iter();
        versions.map(move |version| (name(version), of(version)))
    };
    let kib = |version: &VersionCallHistory| {
        let bytes = version.most_memory_bytes.iter();
        bytes.map(|bytes| bytes.div_ceil(1_024)).collect()
    };
    vec![
        Chart::new("calls", "Calls by outcome", slots.clone(), outcomes),
        Chart::from_levels(
            "time",
            "Processor time of a call on average, µs",
            slots.clone(),
            levels(|version| version.mean_processor_micros.clone()),
        ),
        Chart::from_levels("memory", "Most memory of a call, KiB", slots, levels(kib)),
    ]
}

/// Returns how charts call a version. Two builds may give themselves one number.
fn name(version: &VersionCallHistory) -> String {
    let digest = version.digest.short().get(..8).unwrap_or_default();
    format!("{} ({digest})", version.version)
}

async fn timeline(visit: &Visit<'_>, name: &str) -> PageResult<Vec<AuditRow>> {
    let mut done: Vec<AuditRow> = Vec::new();
    for act in TIMELINE {
        let path = format!("/audit?act={act}&limit={TIMELINE_ROWS}");
        let found: Audit = visit.api().get(&path).await?;
        let rows = found.rows.into_iter();
        done.extend(rows.filter(|row| row.target == name && row.outcome != ActOutcome::Begun));
    }
    done.sort_by_key(|row| Reverse(row.number));
    Ok(done)
}

/// The acts that change which version of a plugin serves, or could serve.
const TIMELINE: [OperatorAct; 9] = [
    OperatorAct::UploadPlugin,
    OperatorAct::ActivatePlugin,
    OperatorAct::RollBackPlugin,
    OperatorAct::RemovePlugin,
    OperatorAct::StartRollout,
    OperatorAct::ChangeRollout,
    OperatorAct::PromoteRollout,
    OperatorAct::RollBackRollout,
    OperatorAct::EndRollout,
];

/// The newest rows of each act, of all plugins. A plugin's own rows are picked from these.
const TIMELINE_ROWS: u32 = 50;

/// Stores a component without activating it.
async fn upload(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    let component = form.file().ok_or_else(|| {
        ApiRefusal::new(StatusCode::BAD_REQUEST, "Choose the file of a component.")
    })?;
    let api = visit.api();
    let stored: DeployedPlugin = api.post_bytes("/plugins", component.clone()).await?;
    let DeployedPlugin {
        name,
        version,
        digest,
        ..
    } = stored;
    let version = version.unwrap_or_else(|| digest.short().to_owned());
    let list: PluginList = api.get("/plugins").await?;
    let mut plugins = list.plugins.into_iter();
    let serves = plugins.any(|plugin| plugin.name == name && plugin.digest.is_some());
    let next = if serves {
        "Compare it with the active version, then activate it or start a canary."
    } else {
        "No version of it is active: activate it."
    };
    let notice = format!("{name} {version} is stored and not active. {next}");
    Ok(FormOutcome::done(format!("/plugins/{name}"), notice))
}

/// Returns the last rollout of a plugin. `None` if it never had one.
pub async fn last_rollout(visit: &Visit<'_>, name: &str) -> PageResult<Option<RolloutView>> {
    let path = format!("/plugins/{}/rollout", encoded(name));
    match visit.api().get(&path).await {
        Ok(rollout) => Ok(Some(rollout)),
        Err(refusal) if refusal.status == StatusCode::NOT_FOUND => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// Activates a stored version. If it raises concerns, the page shows them and asks to accept them.
async fn activate(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let request = ActivateRequest {
        digest: form.get("digest").to_owned(),
        accept: form.all("accept"),
    };
    let path = format!("/plugins/{}/activate", encoded(name));
    let result: Result<DeployedPlugin, _> = visit.api().post(&path, &request).await;
    let deployed = match result {
        Ok(deployed) => deployed,
        Err(refusal) => {
            let fields = vec![("digest".to_owned(), request.digest)];
            return refused(visit, name, refusal, "activate", fields).await;
        }
    };
    let version = deployed.version.as_deref();
    let version = version.unwrap_or_else(|| deployed.digest.short());
    let notice = deployed_notice(format!("{name} {version} is active."), &deployed);
    Ok(FormOutcome::done(format!("/plugins/{name}"), notice))
}

async fn refused(
    visit: &Visit<'_>,
    name: &str,
    refusal: ApiRefusal,
    to: &'static str,
    fields: Vec<(String, String)>,
) -> PageResult<FormOutcome> {
    let Ok(details) = RefusedActivation::deserialize(&refusal.body) else {
        return Err(refusal);
    };
    let mut shown = show(visit, name).await?;
    shown.refused = Some(RefusedDeploy {
        details,
        to,
        fields,
    });
    // The page asks a question, so its status is 200: a browser would log an error status as a
    // failure.
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}

/// Compares a stored version with the active one on stored deliveries.
async fn verify(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let request = VerifyRequest {
        digest: form.get("digest").to_owned(),
    };
    let path = format!("/plugins/{}/verify", encoded(name));
    let verified: VerifiedPlugin = visit.api().post(&path, &request).await?;
    let mut shown = show(visit, name).await?;
    shown.verified = Some(verified);
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}

async fn impact(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let request = ImpactRequest {
        digest: form.get("digest").to_owned(),
        against: None,
    };
    let since = form.get("since");
    let mut path = format!("/plugins/{}/impact", encoded(name));
    if !since.is_empty() {
        path += &format!("?since={}", encoded(since));
    }
    let verified: VerifiedPlugin = visit.api().post(&path, &request).await?;
    let mut shown = show(visit, name).await?;
    shown.impact = Some(ImpactPart {
        verified,
        since: since.to_owned(),
        fields: &RepairField::ALL,
    });
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}

async fn roll_back(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let path = format!("/plugins/{}/rollback", encoded(name));
    let request = RollbackRequest {
        accept: form.all("accept"),
    };
    let result: Result<DeployedPlugin, _> = visit.api().post(&path, &request).await;
    let deployed = match result {
        Ok(deployed) => deployed,
        Err(refusal) => return refused(visit, name, refusal, "rollback", Vec::new()).await,
    };
    let version = deployed.version.as_deref();
    let version = version.unwrap_or_else(|| deployed.digest.short());
    let mut notice = format!("{name} is rolled back to {version}.");
    if let Some(left) = &deployed.previous {
        let impact = format!(
            " The impact of {} on the leads that it converted shows what it did, below and as `leadhost plugin impact {name}@{}` does.",
            left.short(),
            left.short()
        );
        notice.push_str(&impact);
    }
    let notice = deployed_notice(notice, &deployed);
    Ok(FormOutcome::done(format!("/plugins/{name}"), notice))
}

/// Starts a shadow or a canary of a stored version. If a field is wrong, the form keeps what was typed.
async fn start_rollout(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let refusal = match rollout_started(visit, name, form).await {
        Err(refusal) if refusal.status == StatusCode::BAD_REQUEST => refusal,
        started => return started,
    };
    let mut shown = show(visit, name).await?;
    shown.wrong = Some(WrongRollout {
        digest: form.get("digest").to_owned(),
        steps: form.get("steps").to_owned(),
        every_minutes: form.get("every-minutes").to_owned(),
        message: refusal.message,
    });
    Ok(FormOutcome::Page(page(refusal.status, &shown)?))
}

async fn rollout_started(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let wrong = |what: String| ApiRefusal::new(StatusCode::BAD_REQUEST, what);
    let mode: RolloutMode = form
        .get("mode")
        .parse()
        .map_err(|_| wrong("Choose a shadow or a canary.".to_owned()))?;
    let steps = match form.filled("steps") {
        None => None,
        Some(text) => {
            let steps: Result<Vec<u8>, _> =
                text.split(',').map(|step| step.trim().parse()).collect();
            Some(steps.map_err(|_| wrong(format!("`{text}`: write percentages as 1,10,50,100")))?)
        }
    };
    let every_seconds = match form.filled("every-minutes") {
        None => None,
        Some(text) => {
            let minutes: u64 = text
                .parse()
                .map_err(|_| wrong(format!("`{text}`: write minutes as a whole number")))?;
            Some(minutes.saturating_mul(60))
        }
    };
    let request = RolloutRequest {
        digest: form.get("digest").to_owned(),
        mode,
        steps,
        every_seconds,
        probation_seconds: None,
        guards: Some(true),
        step_comparisons: None,
        accept: form.all("accept"),
    };
    let path = format!("/plugins/{}/rollout", encoded(name));
    let result: Result<serde_json::Value, _> = visit.api().post(&path, &request).await;
    if let Err(refusal) = result {
        let names = ["digest", "mode", "steps", "every-minutes"];
        let field = |field: &str| (field.to_owned(), form.get(field).to_owned());
        let fields = names.into_iter().map(field).collect();
        return refused(visit, name, refusal, "rollout", fields).await;
    }
    let notice = format!("The {mode} of {name} has begun.");
    Ok(FormOutcome::done(format!("/plugins/{name}"), notice))
}

/// Pauses, resumes, promotes or rolls back the open rollout.
async fn change_rollout(visit: &Visit<'_>, name: &str, form: &Form) -> PageResult<FormOutcome> {
    let change: RolloutChange = form.get("change").parse().map_err(|_| {
        ApiRefusal::new(
            StatusCode::BAD_REQUEST,
            "Choose what to do with the rollout.",
        )
    })?;
    let path = format!("/plugins/{}/rollout", encoded(name));
    let changed: RolloutView = visit
        .api()
        .patch(&path, &RolloutChangeRequest { change })
        .await?;
    let stable = changed.stable;
    let stable = stable.version.as_deref().unwrap_or(stable.digest.short());
    let notice = match change {
        RolloutChange::Pause => format!("The rollout of {name} is paused."),
        RolloutChange::Resume => format!("The rollout of {name} is resumed."),
        RolloutChange::Promote => format!("The candidate of {name} was promoted: it is active."),
        RolloutChange::Abort => {
            format!("The rollout of {name} is rolled back: {stable} serves alone.")
        }
    };
    Ok(FormOutcome::done(format!("/plugins/{name}"), notice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::host_names::Behind;

    #[test]
    fn a_deploy_that_a_host_does_not_follow_is_said_in_yellow() {
        let mut deployed: DeployedPlugin = serde_json::from_value(serde_json::json!({
            "name": "portal", "version": "1.1.0", "digest": "9b0f7a3c5d2e", "previous": null,
            "generation": 2, "activatedAt": null, "golden": null, "active": true, "behind": [],
            "verification": null,
        }))
        .expect("a deployed plugin");
        let notice = |deployed: &_| deployed_notice("It is active.".to_owned(), deployed);
        assert_eq!(notice(&deployed), Notice::from("It is active."));
        deployed.behind = Some(vec![Behind {
            host: "b".to_owned(),
            reason: "it cannot load it".to_owned(),
        }]);
        let expect = Notice {
            tone: Tone::Warn,
            text: "It is active. Not yet on b (it cannot load it).".to_owned(),
        };
        assert_eq!(notice(&deployed), expect);
    }
}
