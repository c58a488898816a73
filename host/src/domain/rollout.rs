//! The rollout of a version: a candidate beside the stable version of a plugin, in stages.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::HostId;
use super::plugin::Digest;
use super::time::Micros;
use super::word::words;

words! {
    /// The stage of a rollout.
    RolloutStage: "the stage" {
        /// The candidate converts live deliveries after they were answered, without effect.
        Shadow = "shadow",
        /// The candidate converts a part of the deliveries.
        Canary = "canary",
        /// The candidate is active; the version before it is compared and stands by.
        Probation = "probation",
        Done = "done",
        /// A guard ended it: the stable version serves.
        RolledBack = "rolled-back",
        /// An operator ended it, or another version was activated.
        Aborted = "aborted",
    }
}

impl RolloutStage {
    /// Returns whether the rollout has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Shadow | Self::Canary | Self::Probation)
    }
}

words! {
    /// The first stage of a rollout.
    RolloutMode: "the mode" {
        /// The candidate converts live deliveries after they were answered, without effect.
        Shadow = "shadow",
        /// The candidate converts a growing part of the deliveries, and is activated at the end.
        Canary = "canary",
    }
}

/// How a rollout goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPlan {
    pub mode: RolloutMode,
    /// The percentages of the deliveries that the candidate gets, step by step, from 1 to 100.
    /// Of a shadow, one: the part that is compared.
    pub steps: Vec<u8>,
    /// How long each step lasts. Of a shadow, how long it lasts.
    pub every_seconds: u64,
    /// How long the guards stay on after the activation; zero for not at all.
    pub probation_seconds: u64,
    /// Whether a guard that trips rolls back.
    pub guards: bool,
}

/// The rollout of a plugin's version, the last one of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The plugin's name.
    pub name: String,
    /// Tells the rollouts of one name apart.
    pub number: i64,
    pub candidate: Digest,
    /// The version that was active when it began.
    pub stable: Digest,
    pub stage: RolloutStage,
    /// Whether it stays in its step until it is resumed. The guards stay on.
    pub paused: bool,
    /// The index of the current step.
    pub step: usize,
    pub plan: RolloutPlan,
    /// Grows with each change of the rollout; hosts report the one that they act on.
    pub generation: i64,
    /// Seconds that the step has lasted while a host judged it.
    pub spent_seconds: u64,
    /// The label of the key that started it.
    pub started_by: String,
    pub started_at: Micros,
    /// When the stage or step began.
    pub stage_at: Micros,
    /// Why it ended.
    pub why: Option<String>,
}

impl Rollout {
    /// Returns the part of the deliveries that the candidate gets in this step, in percent.
    pub fn percent(&self) -> u8 {
        self.plan.steps.get(self.step).copied().unwrap_or(100)
    }

    /// Returns the rollout in another stage, at its first moment.
    #[must_use]
    pub fn in_stage(&self, stage: RolloutStage, now: Micros, why: Option<String>) -> Self {
        Self {
            stage,
            paused: false,
            spent_seconds: 0,
            stage_at: now,
            why,
            ..self.clone()
        }
    }
}

/// What a host has seen of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutReport {
    pub name: String,
    pub number: i64,
    pub host: HostId,
    /// For display.
    pub host_name: String,
    /// The generation that the host acts on.
    pub generation: i64,
    /// Why the host cannot run the candidate or the stable version.
    pub error: Option<String>,
    pub at: Micros,
    /// The comparisons, as the pipeline writes them.
    pub seen: serde_json::Value,
}
