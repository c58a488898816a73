use std::cmp::Reverse;

use super::open_rollouts::RolloutVersion;
use super::plugins::{SendDifferences, VerifiedPlugin};
use crate::prelude::*;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::difference::{ComparisonCounts, DifferenceGroup, Differences};
use leadhost_domain::host_names::Behind;
use leadhost_domain::rollout::{RolloutChange, RolloutMode, RolloutPlan, RolloutStage};
use leadhost_domain::time::rounded;

/// The rollout to start.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutRequest {
    /// The digest of a stored version. Its first 8 or more characters are enough if they name
    /// one version.
    #[schema(min_length = 8)]
    pub digest: String,
    pub mode: RolloutMode,
    /// The percentages of the deliveries that the candidate gets, step by step, from 1 to 100, each
    /// greater than the one before. A shadow has one: the percentage that is compared. Null: 1, 10, 50
    /// and 100 for a canary, 100 for a shadow.
    #[serde(default)]
    pub steps: Option<Vec<u8>>,
    /// Seconds that each step lasts, or the shadow: 1 to 2592000. Null: 300 for a step, 3600 for a
    /// shadow.
    #[serde(default)]
    pub every_seconds: Option<u64>,
    /// Seconds that the guards stay on after the activation, 0 to 2592000; null: 3600.
    #[serde(default)]
    pub probation_seconds: Option<u64>,
    /// Whether a guard that trips rolls back; null: yes.
    #[serde(default)]
    pub guards: Option<bool>,
    /// Comparisons of deliveries and sends that each step of a canary needs, beside its time, before the
    /// next one begins: 0 to 100000; null: 10.
    #[serde(default)]
    pub step_comparisons: Option<u64>,
    /// The words that accept the concerns about the version, as for an activation. A shadow needs
    /// none.
    #[serde(default)]
    #[schema(value_type = Vec<AcceptWord>)]
    pub accept: Vec<String>,
}

impl RolloutRequest {
    pub fn fault(&self) -> Option<String> {
        let most = match self.mode {
            RolloutMode::Shadow => 1,
            RolloutMode::Canary => limits::ROLLOUT_STEPS,
        };
        let fits = |steps: &[u8]| {
            let grows = steps.is_sorted_by(|one, next| one < next);
            let is_percent = steps.iter().all(|step| (1..=100).contains(step));
            (1..=most).contains(&steps.len()) && grows && is_percent
        };
        let how_many = match self.mode {
            RolloutMode::Shadow => "one percentage".to_owned(),
            RolloutMode::Canary => format!("1 to {most} percentages"),
        };
        if self.steps.as_ref().is_some_and(|steps| !fits(steps)) {
            return Some(format!(
                "`steps`: expected {how_many} from 1 to 100, each greater than the one before"
            ));
        }
        let most = limits::ROLLOUT_STEP_COMPARISONS_MOST;
        if self.step_comparisons.is_some_and(|needed| needed > most) {
            return Some(format!(
                "`stepComparisons`: expected a whole number from 0 to {most}"
            ));
        }
        let longest = limits::ROLLOUT_LONGEST.as_secs();
        let days = longest / 86_400;
        let is_too_long = |seconds: Option<u64>| seconds.is_some_and(|seconds| seconds > longest);
        if self.every_seconds == Some(0) || is_too_long(self.every_seconds) {
            return Some(format!(
                "`everySeconds`: expected a time from 1 second to {days} days (`1s` to `{days}d`)"
            ));
        }
        if is_too_long(self.probation_seconds) {
            return Some(format!(
                "`probationSeconds`: expected a time of at most {days} days (`0s` to `{days}d`)"
            ));
        }
        None
    }
}

/// The change to make.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RolloutChangeRequest {
    pub change: RolloutChange,
}

/// The last rollout of each plugin that had one.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RolloutList {
    pub rollouts: Vec<RolloutView>,
}

/// The last rollout of a plugin, with the sum of all hosts' comparisons.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutView {
    pub name: String,
    pub candidate: RolloutVersion,
    /// The version that was active when it began.
    pub stable: RolloutVersion,
    pub stage: RolloutStage,
    pub paused: bool,
    /// The part of the deliveries that the candidate gets now, or that a shadow compares. 0 before the
    /// first step.
    pub percent: u8,
    pub plan: RolloutPlan,
    /// Seconds that the stage or step has lasted while a host judged it.
    pub spent_seconds: u64,
    /// Comparisons that were made in the current step of a canary, of the `stepComparisons` of the plan.
    pub step_compared: u64,
    /// The condition that a stage or step waits for: hosts that prepare the versions, or after its time more
    /// comparisons. Null if it waits for nothing else.
    pub waits_for: Option<String>,
    /// Why an open rollout shows little, in a sentence: no connection or instance uses the plugin, or it is a
    /// canary of the sandbox. Null if nothing of this is known, or if the host is of an older release.
    #[serde(default)]
    pub warning: Option<String>,
    /// Grows with each change.
    pub generation: i64,
    /// The label of the key that started it.
    pub started_by: String,
    pub started_at: Micros,
    /// When the stage or step began.
    pub stage_at: Micros,
    /// Why it ended. Null while it is open.
    pub why: Option<String>,
    #[serde(flatten)]
    pub deliveries: Differences,
    /// Deliveries that the candidate converted, and whose result was stored.
    pub served: u64,
    /// Deliveries chosen for the candidate that got the stable version's result, because the candidate failed
    /// or did harm.
    pub saved: u64,
    /// Deliveries and sends that were not compared, because too many waited, the host was busy, they
    /// were erased or the rollout ended before their comparison.
    pub dropped: u64,
    /// Deliveries and sends that wait to be compared, and those whose comparison is under way. When the
    /// rollout ends, they count as dropped.
    pub waiting: u64,
    /// The mean time of a conversion by the stable version, in microseconds. Null if none was timed.
    pub stable_us: Option<u64>,
    /// The same of the candidate.
    pub candidate_us: Option<u64>,
    /// The mean memory of a conversion by the stable version, in bytes. Null if none was measured.
    pub stable_bytes: Option<u64>,
    /// The same of the candidate.
    pub candidate_bytes: Option<u64>,
    /// The comparison of the sends of an adapter. Null if none was compared.
    pub sends: Option<SendDifferences>,
    /// The comparison of the sender checks. Null if they do not differ, or nothing was compared.
    pub checks: Option<CheckDifferences>,
    /// The connections of the compared deliveries.
    pub connections: Vec<RolloutConnection>,
    /// The differences that exceed the policy of the configuration, each in a sentence.
    pub drift: Vec<String>,
    /// The names of the live hosts that act on this generation.
    pub hosts: Vec<String>,
    /// The live hosts that do not. The rollout waits for them.
    pub behind: Vec<Behind>,
    /// The comparison on stored deliveries before a canary. Only in the answer to its start.
    pub verification: Option<VerifiedPlugin>,
    /// The last rollout before this one, if a guard rolled the same version back. Only in the answer to the
    /// start. Null if there was none, or if the host is of an older release.
    #[serde(default)]
    pub rolled_back: Option<RolledBack>,
}

/// A rollout that a guard rolled back.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    pub at: Micros,
    /// The numbers on which the guard tripped.
    pub why: Option<String>,
}

impl RolloutView {
    /// Returns how far the stage is, in parts: `10 %`, `step 2 of 4`, `4 min left`.
    pub fn progress(&self) -> Vec<String> {
        let (stage, plan) = (self.stage, &self.plan);
        let mut parts = Vec::new();
        if matches!(stage, RolloutStage::Shadow | RolloutStage::Canary) {
            parts.push(format!("{} %", self.percent));
        }
        let step = plan.steps.iter().position(|step| *step == self.percent);
        if stage == RolloutStage::Canary
            && let Some(step) = step
        {
            parts.push(format!("step {} of {}", step + 1, plan.steps.len()));
        }
        if let Some(waits_for) = &self.waits_for {
            parts.push(format!("waits for {waits_for}"));
        } else if let Some(left) = self.seconds_left().filter(|_| !self.paused) {
            parts.push(match left {
                0 => "its time is over, the change follows within seconds".to_owned(),
                left => format!("{} left", rounded(left)),
            });
        }
        let is_guarded = matches!(
            stage,
            RolloutStage::Verified | RolloutStage::Canary | RolloutStage::Probation
        );
        if !plan.guards && is_guarded {
            parts.push("without guards".to_owned());
        }
        parts
    }

    /// Returns how many comparisons the step of a canary has, and how many it needs.
    pub fn in_step(&self) -> String {
        let made = counted(self.step_compared, "comparison", "comparisons");
        match self.plan.step_comparisons {
            0 => made,
            needed => format!("{made}; it needs {needed}"),
        }
    }

    fn seconds_left(&self) -> Option<u64> {
        let lasts = self.plan.step(self.stage, 0)?.lasts?;
        Some(lasts.as_secs().saturating_sub(self.spent_seconds))
    }

    /// Returns the connections whose leads are worse with the candidate, those with the most harm first.
    pub fn harmed(&self) -> Vec<&RolloutConnection> {
        let connections = self.connections.iter();
        let mut harmed: Vec<&RolloutConnection> =
            connections.filter(|one| one.counts.harm() > 0).collect();
        harmed.sort_by(|one, other| {
            let rank = |of: &RolloutConnection| Reverse((of.counts.harm(), of.counts.compared));
            let by_name = || one.name.cmp(&other.name);
            rank(one).cmp(&rank(other)).then_with(by_name)
        });
        harmed
    }
}

/// The sender checks of both versions, run on the same deliveries.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckDifferences {
    /// Deliveries whose sender passes the checks of the stable version.
    pub compared: u64,
    /// The number of them that the candidate would refuse.
    pub refused: DifferenceGroup,
}

/// The comparisons on one connection.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutConnection {
    pub connection_id: ConnectionId,
    /// `workspace/name`. Null if the connection was removed.
    pub name: Option<String>,
    #[serde(flatten)]
    pub counts: ComparisonCounts,
}
