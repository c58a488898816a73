//! A change of a rollout, with its row of the audit, its line of the log and its announcement.

use crate::fleet;
use crate::prelude::*;
use leadhost_domain::audit::{Act, AuditActor, OperatorAct, SERVICE};
use leadhost_store::Announcement;

/// Reason recorded when another version was activated during the rollout.
pub const OVERTAKEN: &str = "another version was activated";

pub async fn announce(pipeline: &Pipeline) {
    fleet::announce(pipeline, Announcement::Plugins).await;
}

pub fn service() -> AuditActor {
    AuditActor::service(SERVICE)
}

pub struct RolloutStep<'a> {
    /// How the rollout is to stand, with the generation that was read.
    pub next: Rollout,
    pub act: OperatorAct,
    pub by: &'a AuditActor,
}

pub async fn noted(
    pipeline: &Pipeline,
    stored: &Rollout,
    act: OperatorAct,
    by: &AuditActor,
) -> Result<(), StoreError> {
    let act = act_of(stored, act, by, pipeline.clock.now());
    pipeline.store.add_audit(act).await?;
    announced(pipeline, stored, by).await;
    Ok(())
}

pub async fn announced(pipeline: &Pipeline, stored: &Rollout, by: &AuditActor) {
    let (plugin, candidate) = (&stored.name, stored.candidate.short());
    // The reason of an operator has the label of a key, which may be a name.
    let why = match (&by.key, stored.stage) {
        (Some(_), RolloutStage::Aborted) => "an operator ended it",
        _ => stored.why.as_deref().unwrap_or_default(),
    };
    // A rollback is logged as an error.
    if stored.stage != RolloutStage::RolledBack {
        tracing::info!(%plugin, candidate, stage = stored.stage.as_str(), percent = stored.share(), why, "rollout changed");
    }
    announce(pipeline).await;
}

/// Returns the act of the audit for a change of a rollout, by the service or by an operator. A rollback names
/// the guard that tripped.
pub fn act_of(rollout: &Rollout, act: OperatorAct, by: &AuditActor, now: Micros) -> Act {
    let why = match rollout.stage {
        RolloutStage::RolledBack => "guard",
        _ => "why",
    };
    let detail = json!({
        "mode": rollout.plan.mode,
        "candidate": rollout.candidate,
        "stable": rollout.stable,
        "stage": rollout.stage,
        "percent": rollout.last_share(),
        why: rollout.why,
    });
    Act::done(by.clone(), now, (act, &rollout.name), &detail)
}
