//! The rollout of a version: a candidate beside the stable version of a plugin, in stages.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::HostId;
use super::plugin::Digest;
use super::time::{self, Micros};
use super::word::words;

words! {
    /// The stage of a rollout.
    RolloutStage: "the stage" {
        /// The candidate of a canary passed its verification, or an operator accepted the differences.
        /// The hosts prepare both versions, and the candidate gets no delivery yet.
        Verified = "verified",
        /// The candidate converts live deliveries after they were answered, without effect.
        Shadow = "shadow",
        /// The candidate converts a part of the deliveries.
        Canary = "canary",
        /// The candidate is active; the version before it is compared and is the fallback.
        Probation = "probation",
        Done = "done",
        /// A guard ended it: the stable version serves.
        RolledBack = "rolled-back",
        /// An operator ended it, or another version was activated.
        Aborted = "aborted",
    }
}

impl RolloutStage {
    pub fn is_open(self) -> bool {
        match self {
            Self::Verified | Self::Shadow | Self::Canary | Self::Probation => true,
            Self::Done | Self::RolledBack | Self::Aborted => false,
        }
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

words! {
    /// A change of an open rollout.
    RolloutChange: "the change" {
        /// Stay in the current step. The guards stay on.
        Pause = "pause",
        Resume = "resume",
        /// Activate the candidate now.
        Promote = "promote",
        /// End it; the stable version serves.
        Abort = "abort",
    }
}

/// The plan of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPlan {
    pub mode: RolloutMode,
    /// The percentages of the deliveries that the candidate gets, step by step, from 1 to 100.
    /// A shadow has one: the percentage that is compared.
    pub steps: Vec<u8>,
    /// How long each step of a canary, or the shadow, lasts.
    #[serde(rename = "everySeconds", with = "time::seconds")]
    #[schema(value_type = u64)]
    pub every: Duration,
    /// How long the guards stay on after the activation; zero for not at all.
    #[serde(rename = "probationSeconds", with = "time::seconds")]
    #[schema(value_type = u64)]
    pub probation: Duration,
    /// Whether a guard that trips rolls back.
    pub guards: bool,
    /// Comparisons that each step of a canary needs before the next one begins.
    // A plan of a build before the first release may have none.
    #[serde(default)]
    #[schema(required)]
    pub step_comparisons: u64,
}

/// A step of a rollout. A shadow is a step of 0 %, and a probation a hold at 100 %: both compare a part of
/// the deliveries after their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The part that is compared after the answer, in percent.
    pub samples: u8,
    /// How long it lasts. `None`: until the hosts are ready.
    pub lasts: Option<Duration>,
}

impl RolloutPlan {
    /// Returns a step of the plan. `None`: the rollout has ended.
    pub fn step(&self, stage: RolloutStage, index: usize) -> Option<Step> {
        let percent = self.steps.get(index).copied().unwrap_or(100);
        Some(match stage {
            RolloutStage::Verified => Step::default(),
            RolloutStage::Shadow => Step {
                samples: percent,
                lasts: Some(self.every),
            },
            RolloutStage::Canary => Step {
                samples: 0,
                lasts: Some(self.every),
            },
            RolloutStage::Probation => Step {
                samples: 100,
                lasts: Some(self.probation),
            },
            RolloutStage::Done | RolloutStage::RolledBack | RolloutStage::Aborted => return None,
        })
    }
}

/// Between two records of how long a step has lasted.
pub const RECORDED: Duration = Duration::from_secs(10);

/// The rollout of a plugin's version, the last one of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The plugin's name.
    pub name: String,
    /// Distinguishes the rollouts of one name.
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
    /// How long the step had lasted while a host judged it, when that was recorded. Stored in
    /// whole seconds.
    pub recorded_spent: Duration,
    /// When it was recorded. `None`: by a host of the former release.
    pub spent_at: Option<Micros>,
    /// The label of the key that started it.
    pub started_by: String,
    pub started_at: Micros,
    /// When the stage or step began.
    pub stage_at: Micros,
    /// Why it ended.
    pub why: Option<String>,
}

impl Rollout {
    /// Returns the step in which it is. `None`: it has ended.
    pub fn current(&self) -> Option<Step> {
        self.plan.step(self.stage, self.step)
    }

    /// Returns whether the step has lasted for its time.
    pub fn is_time(&self, spent: Duration) -> bool {
        let lasts = self.current().and_then(|step| step.lasts);
        lasts.is_some_and(|lasts| spent >= lasts)
    }

    /// Returns the part of the deliveries that the candidate gets in this step, in percent.
    pub fn percent(&self) -> u8 {
        self.plan.steps.get(self.step).copied().unwrap_or(100)
    }

    /// Returns the part of the deliveries that the candidate gets, or that a shadow compares. `None`
    /// in a stage without steps.
    pub fn share(&self) -> Option<u8> {
        let has_steps = matches!(self.stage, RolloutStage::Shadow | RolloutStage::Canary);
        has_steps.then(|| self.percent())
    }

    /// Returns the part of the deliveries that the candidate had at last, in percent: also of a rollout
    /// that has ended. `None` if a canary was activated, and of a shadow that has ended.
    pub fn last_share(&self) -> Option<u8> {
        let is_canary = self.plan.mode == RolloutMode::Canary;
        let was_canary = match self.stage {
            RolloutStage::RolledBack | RolloutStage::Aborted => is_canary,
            _ => false,
        };
        self.share().or_else(|| was_canary.then(|| self.percent()))
    }

    /// Returns how long the stage or step has lasted while a host judged it: the time that was
    /// recorded, and the time since then. Without a judge, no more than [`RECORDED`] is added.
    pub fn spent(&self, now: Micros) -> Duration {
        let since = match self.spent_at {
            Some(at) if self.stage.is_open() && !self.paused => now.since(at).min(RECORDED),
            _ => Duration::ZERO,
        };
        self.recorded_spent + since
    }

    /// Returns the time until the stage or step may end: zero if only the hosts end it. `None` if the
    /// rollout has ended.
    pub fn left(&self, now: Micros) -> Option<Duration> {
        let lasts = self.current()?.lasts.unwrap_or_default();
        Some(lasts.saturating_sub(self.spent(now)))
    }

    /// Returns the rollout in another stage, at its first moment.
    #[must_use]
    pub fn in_stage(&self, stage: RolloutStage, now: Micros, why: Option<String>) -> Self {
        Self {
            stage,
            paused: false,
            recorded_spent: Duration::ZERO,
            spent_at: Some(now),
            stage_at: now,
            why,
            ..self.clone()
        }
    }
}

/// The report of a host on a rollout.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn canary() -> Rollout {
        let digest = |text: &str| Digest(text.to_owned());
        Rollout {
            name: "portal".to_owned(),
            number: 1,
            candidate: digest("9b0f7a3c5d2e"),
            stable: digest("1c2d3e4f5a6b"),
            stage: RolloutStage::Canary,
            paused: false,
            step: 1,
            plan: RolloutPlan {
                mode: RolloutMode::Canary,
                steps: vec![1, 10, 100],
                every: Duration::from_mins(5),
                probation: Duration::from_hours(1),
                guards: true,
                step_comparisons: 10,
            },
            generation: 2,
            recorded_spent: Duration::from_secs(100),
            spent_at: Some(START),
            started_by: "ana".to_owned(),
            started_at: START,
            stage_at: START,
            why: None,
        }
    }

    const START: Micros = Micros(1_000_000_000);

    #[test]
    fn the_time_of_a_step_goes_on_between_two_records_and_not_without_a_judge() {
        let check = |rollout: &Rollout, seconds: i64, spent: u64, left: Option<u64>| {
            let now = START.plus_seconds(seconds);
            assert_eq!(rollout.spent(now).as_secs(), spent, "{seconds}");
            let left = left.map(Duration::from_secs);
            assert_eq!(rollout.left(now), left, "{seconds}");
        };
        let canary = canary();
        check(&canary, 0, 100, Some(200));
        check(&canary, 7, 107, Some(193));
        check(&canary, 60, 110, Some(190));
        // The clock of another host may lag.
        check(&canary, -5, 100, Some(200));
        let paused = Rollout {
            paused: true,
            ..canary.clone()
        };
        check(&paused, 7, 100, Some(200));
        let of_the_former_release = Rollout {
            spent_at: None,
            ..canary.clone()
        };
        check(&of_the_former_release, 7, 100, Some(200));
        let probation = canary.in_stage(RolloutStage::Probation, START, None);
        check(&probation, 7, 7, Some(3_593));
        let done = canary.in_stage(RolloutStage::Done, START, None);
        check(&done, 7, 0, None);
    }

    #[test]
    fn a_plan_is_stored_in_whole_seconds() {
        let plan = canary().plan;
        let stored = serde_json::json!({
            "mode": "canary",
            "steps": [1, 10, 100],
            "everySeconds": 300,
            "probationSeconds": 3_600,
            "guards": true,
            "stepComparisons": 10,
        });
        assert_eq!(serde_json::to_value(&plan).expect("it is JSON"), stored);
        let read: RolloutPlan = serde_json::from_value(stored.clone()).expect("it was written");
        assert_eq!(read, plan);
        let mut before = stored.clone();
        let fields = before.as_object_mut().expect("an object");
        fields.remove("stepComparisons");
        let read: RolloutPlan = serde_json::from_value(before).expect("a plan");
        assert_eq!(read.step_comparisons, 0);
        for wrong in [serde_json::json!(-1), serde_json::json!(1.5)] {
            let mut stored = stored.clone();
            stored["everySeconds"] = wrong;
            assert!(serde_json::from_value::<RolloutPlan>(stored).is_err());
        }
    }

    #[test]
    fn a_probation_has_no_share() {
        let canary = canary();
        assert_eq!(canary.share(), Some(10));
        let probation = canary.in_stage(RolloutStage::Probation, START, None);
        assert_eq!(probation.share(), None);
        assert_eq!(probation.last_share(), None);
    }

    #[test]
    fn a_canary_that_was_ended_has_the_share_of_its_last_step() {
        let canary = canary();
        for stage in [RolloutStage::RolledBack, RolloutStage::Aborted] {
            let ended = canary.in_stage(stage, START, None);
            assert_eq!((ended.share(), ended.last_share()), (None, Some(10)));
        }
        let done = canary.in_stage(RolloutStage::Done, START, None);
        assert_eq!(done.last_share(), None);
    }
}
