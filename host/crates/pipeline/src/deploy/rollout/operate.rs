//! The operations on a rollout: start, pause, resume, promote and abort.

use tokio::time::Instant;

use super::error::RolloutError;
use super::status::{self, RolloutStatus};
use super::{
    judge,
    step::{OVERTAKEN, RolloutStep, announce, service},
};
use crate::deploy::{
    AcceptedWords, Concern, Verified,
    error::{DeployCommand, DeployError},
    review::{TriedStored, reviewed},
    stored::{rollout_of, stored_version, trusted_version},
    swap::replace,
};
use crate::fleet::FleetError;
use crate::prelude::*;
use crate::versions::serving;
use leadhost_domain::audit::{AuditActor, OperatorAct};
use leadhost_domain::rollout::{RolloutChange, RolloutMode, RolloutPlan};

#[derive(Clone, Debug)]
pub struct RolloutOrder {
    pub plan: RolloutPlan,
    pub by: AuditActor,
}

pub struct StartedRollout {
    pub status: RolloutStatus,
    /// The last rollout before it, if a guard rolled the same candidate back.
    pub rolled_back: Option<Rollout>,
    /// The comparison on stored deliveries. A shadow needs none.
    pub verified: Option<Box<Verified>>,
    pub accepted: Vec<Concern>,
}

/// Starts a shadow: the candidate has no effect, so nothing needs to be accepted.
#[leadhost_boxed::boxed]
pub async fn shadow(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    order: RolloutOrder,
) -> Result<StartedRollout, DeployError> {
    let (candidate, _) = trusted_version(pipeline, digest).await?;
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
    let (rollout, rolled_back) = begin(pipeline, name, digest, active, order).await?;
    Ok(StartedRollout {
        status: followed(pipeline, rollout).await?,
        rolled_back,
        verified: None,
        accepted: Vec::new(),
    })
}

/// Starts a canary with a version that was tried as for an activation. Its first step begins when every
/// live host has prepared both versions. This waits for them for a bounded time; after it, the judge
/// begins the step as soon as they are ready.
#[leadhost_boxed::boxed]
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
    let (agreed, _alone) = reviewed(pipeline, tried, accept, DeployCommand::StartRollout).await?;
    let (rollout, rolled_back) = begin(pipeline, name, &loaded.digest, active, order).await?;
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
        rolled_back,
        verified: Some(Box::new(agreed.verified)),
        accepted: agreed.accepted,
    })
}

/// Refuses a canary of a plugin that has an open one already, before its comparison. [`canary`] decides it
/// again.
pub async fn may_begin_canary(pipeline: &Pipeline, name: &str) -> Result<(), DeployError> {
    let last = rollout_of(pipeline, name).await?;
    let Some(last) = last.filter(|last| last.stage.is_open()) else {
        return Ok(());
    };
    let active = serving(pipeline, name).await?;
    let is_overtaken = active.is_some_and(|active| is_overtaken(&last, &active, None));
    // A canary ends a shadow.
    if last.stage == RolloutStage::Shadow || is_overtaken {
        return Ok(());
    }
    Err(open(last).into())
}

/// Returns whether the activation of another version has overtaken a rollout. `replaced`: the version that
/// was active before, if it is known.
fn is_overtaken(rollout: &Rollout, active: &Digest, replaced: Option<&Digest>) -> bool {
    match rollout.stage {
        RolloutStage::Shadow => rollout.stable != *active,
        // A guard and an operator who aborts activate the stable version first, and record the end then.
        RolloutStage::Probation if rollout.stable == *active => {
            replaced == Some(&rollout.candidate)
        }
        RolloutStage::Probation => rollout.candidate != *active,
        _ => false,
    }
}

fn open(rollout: Rollout) -> RolloutError {
    RolloutError::Open {
        name: rollout.name,
        candidate: rollout.candidate,
        stage: rollout.stage,
        by: rollout.started_by,
        at: rollout.started_at,
    }
}

/// Returns the new rollout, and the last one before it if a guard rolled the same candidate back.
async fn begin(
    pipeline: &Arc<Pipeline>,
    name: &str,
    candidate: &Digest,
    stable: Digest,
    order: RolloutOrder,
) -> Result<(Rollout, Option<Rollout>), DeployError> {
    if *candidate == stable {
        return Err(RolloutError::Active {
            name: name.to_owned(),
            digest: stable,
        }
        .into());
    }
    close_overtaken(pipeline, name, &stable, None, OVERTAKEN).await?;
    if order.plan.mode == RolloutMode::Canary {
        close_shadow(pipeline, name, &order.by).await?;
    }
    let last = rollout_of(pipeline, name).await?;
    let rolled_back =
        last.filter(|last| last.stage == RolloutStage::RolledBack && last.candidate == *candidate);
    let now = pipeline.clock.now();
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
    let (rollout, is_new) = pipeline.store.begin_rollout(&new).await?;
    if !is_new {
        return Err(open(rollout).into());
    }
    tracing::info!(plugin = %name, candidate = candidate.short(), stage = rollout.stage.as_str(), percent = rollout.share(), "rollout started");
    announce(pipeline).await;
    Ok((rollout, rolled_back))
}

/// Ends a shadow or a probation that the activation of another version has overtaken, so that the next
/// rollout need not wait for the judge. `replaced`: the version that was active before, if the caller
/// activated the other one. `why`: the reason that people read.
pub async fn close_overtaken(
    pipeline: &Arc<Pipeline>,
    name: &str,
    active: &Digest,
    replaced: Option<&Digest>,
    why: &str,
) -> Result<(), StoreError> {
    let last = rollout_of(pipeline, name).await?;
    if let Some(rollout) = last.filter(|last| is_overtaken(last, active, replaced)) {
        judge::end(pipeline, &rollout, RolloutStage::Aborted, why).await?;
    }
    Ok(())
}

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
#[leadhost_boxed::boxed]
pub async fn change(
    pipeline: &Arc<Pipeline>,
    plugin: &str,
    change: RolloutChange,
    by: &AuditActor,
) -> Result<RolloutStatus, DeployError> {
    let last = rollout_of(pipeline, plugin).await?;
    let rollout = match last {
        Some(last) if last.stage.is_open() => last,
        last => {
            let (name, last) = (plugin.to_owned(), last.map(Box::new));
            return Err(RolloutError::NotOpen { name, last }.into());
        }
    };
    let wrong = |what| RolloutError::WrongStage {
        name: plugin.to_owned(),
        what,
        stage: rollout.stage,
    };
    match (change, rollout.stage) {
        (RolloutChange::Pause, RolloutStage::Canary) if rollout.paused => {}
        (RolloutChange::Resume, RolloutStage::Canary) if !rollout.paused => {}
        (RolloutChange::Pause, RolloutStage::Canary) => paused(pipeline, &rollout, true).await?,
        (RolloutChange::Resume, RolloutStage::Canary) => paused(pipeline, &rollout, false).await?,
        (RolloutChange::Promote, RolloutStage::Verified | RolloutStage::Canary) => {
            if let Err(error) = judge::promote(pipeline, &rollout, by).await {
                return Err(overtaken(pipeline, plugin, error).await?);
            }
        }
        (RolloutChange::Abort, _) => abort(pipeline, &rollout, by).await?,
        (RolloutChange::Pause, _) => return Err(wrong("paused").into()),
        (RolloutChange::Resume, _) => return Err(wrong("resumed").into()),
        (RolloutChange::Promote, _) => return Err(wrong("promoted").into()),
    }
    let latest = status::latest(pipeline, plugin).await?;
    // The judge may have changed it at the same moment: an abort holds if the rollout has ended.
    let is_done = |latest: &Rollout| {
        latest.number == rollout.number
            && (change != RolloutChange::Abort || !latest.stage.is_open())
    };
    match latest.filter(|status| is_done(&status.rollout)) {
        Some(status) => followed(pipeline, status.rollout).await,
        None => Err(changed_meanwhile(pipeline, plugin).await?.into()),
    }
}

/// Attempts of an abort, if the judge or another operator changes the rollout at the same moment.
const ABORTS: usize = 3;

/// Ends a rollout. In a probation, the stable version is activated again. A rollout that was only taken to its
/// next stage meanwhile, such as one that was promoted, is ended there.
async fn abort(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    by: &AuditActor,
) -> Result<(), DeployError> {
    let mut rollout = rollout.clone();
    for _ in 0..ABORTS {
        let ended = match rollout.stage {
            RolloutStage::Probation => take_back(pipeline, &rollout, by).await,
            _ => {
                let why = reason_of(by);
                let ended = judge::end_by(pipeline, &rollout, RolloutStage::Aborted, why, by);
                ended.await.map_err(DeployError::from)
            }
        };
        match ended {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => return Err(overtaken(pipeline, &rollout.name, error).await?),
        }
        let last = rollout_of(pipeline, &rollout.name).await?;
        match last.filter(|last| last.number == rollout.number && last.stage.is_open()) {
            Some(last) => rollout = last,
            None => break,
        }
    }
    Ok(())
}

fn reason_of(by: &AuditActor) -> String {
    format!("`{}` ended it", by.label)
}

/// Activates the stable version again. Returns false if the rollout was changed meanwhile.
async fn take_back(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    by: &AuditActor,
) -> Result<bool, DeployError> {
    let now = pipeline.clock.now();
    let step = RolloutStep {
        next: rollout.in_stage(RolloutStage::Aborted, now, Some(reason_of(by))),
        act: OperatorAct::EndRollout,
        by,
    };
    match replace(pipeline, &rollout.stable, &rollout.candidate, step).await {
        Ok(_) => Ok(true),
        Err(DeployError::Rollout(RolloutError::Changed { .. })) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the error of an operator whose change came after another one of the same rollout.
async fn overtaken(
    pipeline: &Pipeline,
    plugin: &str,
    error: DeployError,
) -> Result<DeployError, DeployError> {
    match error {
        DeployError::Fleet(FleetError::Changed(_)) => {
            Ok(changed_meanwhile(pipeline, plugin).await?.into())
        }
        other => Ok(other),
    }
}

async fn changed_meanwhile(pipeline: &Pipeline, plugin: &str) -> Result<RolloutError, DeployError> {
    let last = rollout_of(pipeline, plugin).await?;
    Ok(RolloutError::Changed {
        name: plugin.to_owned(),
        last: last.map(Box::new),
    })
}

async fn paused(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    paused: bool,
) -> Result<(), DeployError> {
    let now = pipeline.clock.now();
    let changed = Rollout {
        paused,
        recorded_spent: rollout.spent(now),
        spent_at: Some(now),
        ..rollout.clone()
    };
    let stored = pipeline.store.change_rollout(&changed).await?;
    match stored {
        Some(_) => {
            tracing::info!(plugin = %rollout.name, paused, "rollout changed");
            announce(pipeline).await;
            Ok(())
        }
        None => Err(changed_meanwhile(pipeline, &rollout.name).await?.into()),
    }
}

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
