//! What operators do with a rollout: start, pause, resume, promote and abort it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::standing::{self, Standing};
use super::{announce, judge};
use crate::domain::plugin::Digest;
use crate::domain::rollout::{Rollout, RolloutMode, RolloutPlan, RolloutStage};
use crate::limits;
use crate::pipeline::deploy::{
    Accept, DeployError, TriedStored, Verified, agreed, concerns, replace, serving, stored_version,
};
use crate::pipeline::state::Pipeline;

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
        "a rollout of `{name}` is open ({}, {}): see `leadhost plugin rollout {name}`, or end it with `leadhost plugin rollout abort {name}`",
        candidate.short(),
        stage.as_str()
    )]
    Open {
        name: String,
        candidate: Digest,
        stage: RolloutStage,
    },
    #[error("`{0}` has no open rollout")]
    NotOpen(String),
    #[error("the rollout of `{name}` cannot be {what} in the stage {}", stage.as_str())]
    WrongStage {
        name: String,
        what: &'static str,
        stage: RolloutStage,
    },
    #[error("the rollout of `{0}` was changed meanwhile: look at it and try again")]
    Changed(String),
}

impl From<RolloutError> for DeployError {
    fn from(error: RolloutError) -> Self {
        Self::Rollout(error)
    }
}

/// What to start.
#[derive(Clone, Debug)]
pub struct RolloutOrder {
    pub plan: RolloutPlan,
    /// The label of the operator's key.
    pub started_by: String,
}

/// A rollout that was started.
pub struct Begun {
    pub standing: Standing,
    /// The comparison on stored deliveries. A shadow needs none.
    pub verified: Option<Box<Verified>>,
}

/// Starts a shadow: the candidate has no effect, so nothing needs to be accepted.
///
/// # Errors
///
/// [`DeployError`] if the version is not stored or cannot be loaded, no other version of the same
/// kind is active, a rollout is open, or the store fails.
pub async fn shadow(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    order: RolloutOrder,
) -> Result<Begun, DeployError> {
    let (candidate, _) = stored_version(pipeline, digest).await?;
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
    Ok(Begun {
        standing: followed(pipeline, rollout).await?,
        verified: None,
    })
}

/// Starts a canary with a version that was tried as for an activation.
///
/// # Errors
///
/// [`DeployError`] if a concern is not accepted, no other version is active, a rollout is open,
/// another version was activated meanwhile, or the store fails.
pub async fn canary(
    pipeline: &Arc<Pipeline>,
    tried: TriedStored,
    accept: &Accept,
    order: RolloutOrder,
) -> Result<Begun, DeployError> {
    let TriedStored {
        prepared,
        publisher,
        verified,
    } = tried;
    let mut trial = pipeline.core.plugins.trial().await?;
    let _alone = pipeline.deploying.lock().await;
    let objections = trial.within(concerns::find(pipeline, &prepared, &publisher, None));
    let objections = objections.await??;
    drop(trial);
    let loaded = Arc::clone(&prepared.loaded);
    let name = &loaded.description.name;
    let Some(active) = verified.active.clone() else {
        return Err(RolloutError::NothingActive(name.clone()).into());
    };
    if let Some(kind) = verified.against.as_ref().map(|against| against.kind)
        && kind != loaded.kind
    {
        return Err(RolloutError::AnotherKind {
            name: name.clone(),
            digest: loaded.digest.clone(),
        }
        .into());
    }
    let verified = agreed(pipeline, verified, objections, accept).await?;
    let rollout = begin(pipeline, name, &loaded.digest, active, order).await?;
    Ok(Begun {
        standing: followed(pipeline, rollout).await?,
        verified: Some(Box::new(verified)),
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
    let now = pipeline.core.clock.now();
    let new = Rollout {
        name: name.to_owned(),
        number: 0,
        candidate: candidate.clone(),
        stable,
        stage: match order.plan.mode {
            RolloutMode::Shadow => RolloutStage::Shadow,
            RolloutMode::Canary => RolloutStage::Canary,
        },
        paused: false,
        step: 0,
        plan: order.plan,
        generation: 0,
        spent_seconds: 0,
        started_by: order.started_by,
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
        }
        .into());
    }
    tracing::info!(plugin = %name, candidate = candidate.short(), stage = rollout.stage.as_str(), percent = rollout.percent(), "rollout started");
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
    let rollouts = pipeline.core.store.rollouts().await?;
    let overtaken = rollouts.into_iter().find(|one| {
        one.name == name
            && match one.stage {
                RolloutStage::Shadow => one.stable != *active,
                RolloutStage::Probation => one.candidate != *active,
                _ => false,
            }
    });
    if let Some(rollout) = overtaken {
        let why = "another version was activated".to_owned();
        judge::end(pipeline, &rollout, RolloutStage::Aborted, why).await?;
    }
    Ok(())
}

/// What an operator changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Stay in the current step.
    Pause,
    Resume,
    /// Activate the candidate now.
    Promote,
    /// End it; the stable version serves.
    Abort,
}

/// Changes the open rollout of a plugin. Returns how it stands when the live hosts follow, or
/// after a bounded time.
///
/// # Errors
///
/// [`DeployError`] if no rollout is open, its stage does not allow the change, it was changed
/// meanwhile, or the store or the fleet fails.
pub async fn change(
    pipeline: &Arc<Pipeline>,
    plugin: &str,
    change: Change,
) -> Result<Standing, DeployError> {
    let rollouts = pipeline.core.store.rollouts().await?;
    let rollout = rollouts.into_iter().find(|one| one.name == plugin);
    let rollout = rollout
        .filter(|one| one.stage.is_open())
        .ok_or_else(|| RolloutError::NotOpen(plugin.to_owned()))?;
    let wrong = |what| RolloutError::WrongStage {
        name: plugin.to_owned(),
        what,
        stage: rollout.stage,
    };
    match (change, rollout.stage) {
        (Change::Pause, RolloutStage::Canary) => paused(pipeline, &rollout, true).await?,
        (Change::Resume, RolloutStage::Canary) => paused(pipeline, &rollout, false).await?,
        (Change::Promote, RolloutStage::Canary) => {
            if !judge::promote(pipeline, &rollout).await? {
                return Err(RolloutError::Changed(plugin.to_owned()).into());
            }
        }
        (Change::Abort, stage) => {
            if stage == RolloutStage::Probation {
                replace(pipeline, &rollout.stable, &rollout.candidate, None).await?;
            }
            let why = "an operator ended it".to_owned();
            judge::end(pipeline, &rollout, RolloutStage::Aborted, why).await?;
        }
        (Change::Pause, _) => return Err(wrong("paused").into()),
        (Change::Resume, _) => return Err(wrong("resumed").into()),
        (Change::Promote, _) => return Err(wrong("promoted").into()),
    }
    announce(pipeline).await;
    let changed = standing::of(pipeline, plugin).await?;
    // The judge may have changed it at the same moment: an abort holds if it has ended by now.
    let is_done = |changed: &Rollout| {
        changed.number == rollout.number && (change != Change::Abort || !changed.stage.is_open())
    };
    match changed.filter(|standing| is_done(&standing.rollout)) {
        Some(standing) => followed(pipeline, standing.rollout).await,
        None => Err(RolloutError::Changed(plugin.to_owned()).into()),
    }
}

async fn paused(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    paused: bool,
) -> Result<(), DeployError> {
    let changed = Rollout {
        paused,
        ..rollout.clone()
    };
    let stored = pipeline.core.store.change_rollout(&changed).await?;
    match stored {
        Some(_) => {
            tracing::info!(plugin = %rollout.name, paused, "rollout changed");
            Ok(())
        }
        None => Err(RolloutError::Changed(rollout.name.clone()).into()),
    }
}

/// Between two looks at the reports of the hosts.
const LOOK: Duration = Duration::from_millis(100);

/// Returns how a rollout stands when every live host acts on it, or after a bounded time.
async fn followed(pipeline: &Pipeline, rollout: Rollout) -> Result<Standing, DeployError> {
    let end = Instant::now() + limits::CONVERGE_PATIENCE;
    loop {
        let standing = standing::sum(pipeline, rollout.clone()).await?;
        if standing.behind.is_empty() || Instant::now() >= end {
            return Ok(standing);
        }
        tokio::time::sleep(LOOK).await;
    }
}
