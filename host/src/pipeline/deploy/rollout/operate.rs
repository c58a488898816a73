//! The operations on a rollout: start, pause, resume, promote and abort.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::status::{self, RolloutStatus};
use super::{announce, judge, service};
use crate::domain::acceptance::FirstAcceptance;
use crate::domain::audit::AuditActor;
use crate::domain::plugin::Digest;
use crate::domain::rollout::{Rollout, RolloutChange, RolloutMode, RolloutPlan, RolloutStage};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::deploy::{
    AcceptedWords, Concern, DeployError, ROLL_OUT, TriedStored, Verified, replace, reviewed,
    rollout_of, stored_version, trust, two_person,
};
use crate::pipeline::fleet::FleetError;
use crate::pipeline::state::Pipeline;
use crate::pipeline::versions::serving;

/// Why a rollout cannot be started or changed.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    #[error(
        "no version of `{0}` is active, so there is none to compare with: activate the version with `leadhost plugin activate`"
    )]
    NothingActive(String),
    #[error("{} of `{name}` is active already", digest.short())]
    Active { name: String, digest: Digest },
    #[error("{} of `{name}` is another kind of plugin than the active version", digest.short())]
    AnotherKind { name: String, digest: Digest },
    #[error(
        "a rollout of `{name}` is open ({}, {}), which `{by}` started at {}: see `leadhost plugin rollout {name}`, or end it with `leadhost plugin rollout abort {name}`",
        candidate.short(),
        stage.as_str(),
        at.to_the_second()
    )]
    Open {
        name: String,
        candidate: Digest,
        stage: RolloutStage,
        /// The label of the key that started it.
        by: String,
        at: Micros,
    },
    #[error(
        "`{0}` has no open rollout: `leadhost plugin rollout {0}` shows how the last one ended"
    )]
    NotOpen(String),
    #[error("the rollout of `{name}` cannot be {what} in the stage {}", stage.as_str())]
    WrongStage {
        name: String,
        what: &'static str,
        stage: RolloutStage,
    },
    #[error("the rollout of `{0}` was changed meanwhile: see `leadhost plugin rollout {0}`")]
    Changed(String),
}

impl From<RolloutError> for DeployError {
    fn from(error: RolloutError) -> Self {
        Self::Rollout(error)
    }
}

/// A request to start a rollout.
#[derive(Clone, Debug)]
pub struct RolloutOrder {
    pub plan: RolloutPlan,
    /// The operator.
    pub by: AuditActor,
}

/// A rollout that was started.
pub struct StartedRollout {
    pub status: RolloutStatus,
    /// The comparison on stored deliveries. A shadow needs none.
    pub verified: Option<Box<Verified>>,
    /// The acceptance by the first of two keys, if two were needed.
    pub first_acceptance: Option<FirstAcceptance>,
    /// The concerns that were accepted.
    pub accepted: Vec<Concern>,
}

/// Starts a shadow: the candidate has no effect, so nothing needs to be accepted.
///
/// # Errors
///
/// [`DeployError`] if the version is not stored or cannot be loaded, no trusted key has signed it, no
/// other version of the same kind is active, a rollout is open, or the store fails.
pub async fn shadow(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    order: RolloutOrder,
) -> Result<StartedRollout, DeployError> {
    let (candidate, _) = stored_version(pipeline, digest).await?;
    trust::stored(pipeline, &candidate)?;
    let name = &candidate.description.name;
    let active = serving(pipeline, name).await?;
    let active = active.ok_or_else(|| RolloutError::NothingActive(name.clone()))?;
    let (stable, _) = stored_version(pipeline, &active).await?;
    if stable.kind != candidate.kind {
        return Err(RolloutError::AnotherKind {
            name: name.clone(),
            digest: digest.clone(),
        }
        .into());
    }
    let rollout = begin(pipeline, name, digest, active, order).await?;
    Ok(StartedRollout {
        status: followed(pipeline, rollout).await?,
        verified: None,
        first_acceptance: None,
        accepted: Vec::new(),
    })
}

/// Starts a canary with a version that was tried as for an activation. Its first step begins when every
/// live host has prepared both versions. This waits for them for a bounded time; after it, the judge
/// begins the step as soon as they are ready.
///
/// # Errors
///
/// [`DeployError`] if a concern is not accepted, no other version is active, a rollout is open,
/// another version was activated meanwhile, or the store fails.
pub async fn canary(
    pipeline: &Arc<Pipeline>,
    tried: TriedStored,
    accept: &AcceptedWords,
    order: RolloutOrder,
) -> Result<StartedRollout, DeployError> {
    let loaded = Arc::clone(&tried.prepared.loaded);
    let name = &loaded.description.name;
    let Some(active) = tried.verified.active.clone() else {
        return Err(RolloutError::NothingActive(name.clone()).into());
    };
    if let Some(against) = &tried.verified.against
        && against.kind != loaded.kind
    {
        return Err(RolloutError::AnotherKind {
            name: name.clone(),
            digest: loaded.digest.clone(),
        }
        .into());
    }
    let (agreed, _alone) = reviewed(pipeline, tried, accept, ROLL_OUT).await?;
    let rollout = begin(pipeline, name, &loaded.digest, active, order).await?;
    two_person::used(pipeline, agreed.first_acceptance.as_ref()).await;
    let mut status = followed(pipeline, rollout).await?;
    if status.behind.is_empty() {
        // The judge may have been faster.
        judge::first_step(pipeline, &status.rollout, &service()).await?;
        if let Some(changed) = rollout_of(pipeline, name).await? {
            status = followed(pipeline, changed).await?;
        }
    }
    Ok(StartedRollout {
        status,
        verified: Some(Box::new(agreed.verified)),
        first_acceptance: agreed.first_acceptance,
        accepted: agreed.accepted,
    })
}

async fn begin(
    pipeline: &Arc<Pipeline>,
    name: &str,
    candidate: &Digest,
    stable: Digest,
    order: RolloutOrder,
) -> Result<Rollout, DeployError> {
    if *candidate == stable {
        return Err(RolloutError::Active {
            name: name.to_owned(),
            digest: stable,
        }
        .into());
    }
    close_overtaken(pipeline, name, &stable).await?;
    if order.plan.mode == RolloutMode::Canary {
        close_shadow(pipeline, name, &order.by).await?;
    }
    let now = pipeline.core.clock.now();
    let new = Rollout {
        name: name.to_owned(),
        number: 0,
        candidate: candidate.clone(),
        stable,
        stage: match order.plan.mode {
            RolloutMode::Shadow => RolloutStage::Shadow,
            RolloutMode::Canary => RolloutStage::Verified,
        },
        paused: false,
        step: 0,
        plan: order.plan,
        generation: 0,
        recorded_spent: Duration::ZERO,
        spent_at: Some(now),
        started_by: order.by.label,
        started_at: now,
        stage_at: now,
        why: None,
    };
    let (rollout, is_new) = pipeline.core.store.begin_rollout(&new).await?;
    if !is_new {
        return Err(RolloutError::Open {
            name: rollout.name,
            candidate: rollout.candidate,
            stage: rollout.stage,
            by: rollout.started_by,
            at: rollout.started_at,
        }
        .into());
    }
    tracing::info!(plugin = %name, candidate = candidate.short(), stage = rollout.stage.as_str(), percent = rollout.share(), "rollout started");
    announce(pipeline).await;
    Ok(rollout)
}

/// Ends an open rollout that the activation of another version has ended, if the judge has not
/// done so yet.
async fn close_overtaken(
    pipeline: &Arc<Pipeline>,
    name: &str,
    active: &Digest,
) -> Result<(), DeployError> {
    let last = rollout_of(pipeline, name).await?;
    let overtaken = last.filter(|one| match one.stage {
        RolloutStage::Shadow => one.stable != *active,
        RolloutStage::Probation => one.candidate != *active,
        _ => false,
    });
    if let Some(rollout) = overtaken {
        let why = "another version was activated".to_owned();
        judge::end(pipeline, &rollout, RolloutStage::Aborted, why).await?;
    }
    Ok(())
}

/// Ends an open shadow, because a canary of the plugin begins.
async fn close_shadow(
    pipeline: &Arc<Pipeline>,
    name: &str,
    by: &AuditActor,
) -> Result<(), DeployError> {
    let last = rollout_of(pipeline, name).await?;
    if let Some(rollout) = last.filter(|one| one.stage == RolloutStage::Shadow) {
        let why = format!("`{}` started a canary", by.label);
        judge::end_by(pipeline, &rollout, RolloutStage::Aborted, why, by).await?;
    }
    Ok(())
}

/// Changes the open rollout of a plugin for an operator. Returns how it stands when the live hosts
/// follow, or after a bounded time.
///
/// # Errors
///
/// [`DeployError`] if no rollout is open, its stage does not allow the change, it was changed
/// meanwhile, or the store or the fleet fails.
pub async fn change(
    pipeline: &Arc<Pipeline>,
    plugin: &str,
    change: RolloutChange,
    by: &AuditActor,
) -> Result<RolloutStatus, DeployError> {
    let rollout = rollout_of(pipeline, plugin).await?;
    let rollout = rollout
        .filter(|one| one.stage.is_open())
        .ok_or_else(|| RolloutError::NotOpen(plugin.to_owned()))?;
    let wrong = |what| RolloutError::WrongStage {
        name: plugin.to_owned(),
        what,
        stage: rollout.stage,
    };
    match (change, rollout.stage) {
        (RolloutChange::Pause, RolloutStage::Canary) => paused(pipeline, &rollout, true).await?,
        (RolloutChange::Resume, RolloutStage::Canary) => paused(pipeline, &rollout, false).await?,
        (RolloutChange::Promote, RolloutStage::Verified | RolloutStage::Canary) => {
            let promoted = judge::promote(pipeline, &rollout, by).await;
            if !promoted.map_err(|error| overtaken(error, plugin))? {
                return Err(RolloutError::Changed(plugin.to_owned()).into());
            }
        }
        (RolloutChange::Abort, stage) => {
            let replaced = match stage {
                RolloutStage::Probation => {
                    let replaced =
                        replace(pipeline, &rollout.stable, &rollout.candidate, None).await;
                    Some(replaced.map_err(|error| overtaken(error, plugin))?)
                }
                _ => None,
            };
            let why = format!("`{}` ended it", by.label);
            judge::end_by(pipeline, &rollout, RolloutStage::Aborted, why, by).await?;
            drop(replaced);
        }
        (RolloutChange::Pause, _) => return Err(wrong("paused").into()),
        (RolloutChange::Resume, _) => return Err(wrong("resumed").into()),
        (RolloutChange::Promote, _) => return Err(wrong("promoted").into()),
    }
    let changed = status::latest(pipeline, plugin).await?;
    // The judge may have changed it at the same moment: an abort holds if it has ended by now.
    let is_done = |changed: &Rollout| {
        changed.number == rollout.number
            && (change != RolloutChange::Abort || !changed.stage.is_open())
    };
    match changed.filter(|status| is_done(&status.rollout)) {
        Some(status) => followed(pipeline, status.rollout).await,
        None => Err(RolloutError::Changed(plugin.to_owned()).into()),
    }
}

/// Returns the error of an operator whose change came after another one of the same rollout.
fn overtaken(error: DeployError, plugin: &str) -> DeployError {
    match error {
        DeployError::Fleet(FleetError::Changed(_)) => {
            RolloutError::Changed(plugin.to_owned()).into()
        }
        other => other,
    }
}

async fn paused(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    paused: bool,
) -> Result<(), DeployError> {
    let now = pipeline.core.clock.now();
    let changed = Rollout {
        paused,
        recorded_spent: rollout.spent(now),
        spent_at: Some(now),
        ..rollout.clone()
    };
    let stored = pipeline.core.store.change_rollout(&changed).await?;
    match stored {
        Some(_) => {
            tracing::info!(plugin = %rollout.name, paused, "rollout changed");
            announce(pipeline).await;
            Ok(())
        }
        None => Err(RolloutError::Changed(rollout.name.clone()).into()),
    }
}

/// Between two looks at the reports of the hosts.
const LOOK: Duration = Duration::from_millis(100);

/// Returns how a rollout stands when every live host acts on it, or after a bounded time.
async fn followed(pipeline: &Pipeline, rollout: Rollout) -> Result<RolloutStatus, DeployError> {
    let end = Instant::now() + limits::CONVERGE_PATIENCE;
    loop {
        let status = status::load(pipeline, rollout.clone()).await?;
        if status.behind.is_empty() || Instant::now() >= end {
            return Ok(status);
        }
        tokio::time::sleep(LOOK).await;
    }
}
