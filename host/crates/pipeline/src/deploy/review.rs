//! The review of a version before its activation or its rollout: every concern is accepted, or it is refused.

use tokio::sync::MutexGuard;

use super::super::fleet::FleetError;
use super::super::versions::serving;
use super::concern::{AcceptedWords, Concern};
use super::error::{DeployCommand, DeployError};
use super::outcome::Verified;
use super::stored::{rollout_of, trusted_version};
use super::{concerns, verify};
use crate::prelude::*;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::plugin::Description;
use leadhost_domain::publisher::Publisher;

pub struct TriedStored {
    pub prepared: PreparedVersion,
    pub publisher: Publisher,
    pub verified: Verified,
}

/// The first half of an activation of a stored version. It changes nothing and may be cancelled.
pub async fn try_stored(
    pipeline: &Arc<Pipeline>,
    name: &str,
    digest: &Digest,
) -> Result<TriedStored, DeployError> {
    let (loaded, record) = trusted_version(pipeline, digest).await?;
    if loaded.description.name != name {
        let found = loaded.description.name.clone();
        return Err(DeployError::AnotherName {
            name: name.to_owned(),
            digest: digest.clone(),
            found,
        });
    }
    let prepared = PreparedVersion {
        loaded,
        golden: record.golden,
        checks: record.checks,
    };
    let verified = verify::before_activation(pipeline, &prepared).await?;
    Ok(TriedStored {
        prepared,
        publisher: record.publisher,
        verified,
    })
}

pub struct Agreed {
    pub verified: Verified,
    pub accepted: Vec<Concern>,
}

/// Returns a version if every concern about it is accepted, and the lock under which this holds.
/// `command`: the command that runs with it.
pub async fn reviewed<'a>(
    pipeline: &'a Arc<Pipeline>,
    tried: TriedStored,
    accept: &AcceptedWords,
    command: DeployCommand,
) -> Result<(Agreed, MutexGuard<'a, ()>), DeployError> {
    let TriedStored {
        prepared,
        publisher,
        verified,
    } = tried;
    let mut trial = pipeline.plugins.trial().await?;
    let alone = pipeline.deploying.lock().await;
    let objections = trial.within(concerns::find(pipeline, &prepared, &publisher, None));
    let objections = objections.await??;
    let agreed = agree(pipeline, verified, objections, accept, command).await?;
    Ok((agreed, alone))
}

/// Refuses to activate another version beside a canary that is open or about to begin.
pub async fn no_canary(pipeline: &Pipeline, name: &str) -> Result<(), DeployError> {
    let last = rollout_of(pipeline, name).await?;
    let is_canary =
        |one: &Rollout| matches!(one.stage, RolloutStage::Verified | RolloutStage::Canary);
    match last.filter(is_canary) {
        Some(rollout) => Err(DeployError::CanaryOpen {
            name: rollout.name,
            candidate: rollout.candidate,
            by: rollout.started_by,
            at: rollout.started_at,
        }),
        None => Ok(()),
    }
}

pub async fn agree(
    pipeline: &Pipeline,
    verified: Verified,
    mut concerns: Vec<Concern>,
    accept: &AcceptedWords,
    command: DeployCommand,
) -> Result<Agreed, DeployError> {
    let Description { name, version, .. } = &verified.candidate.description;
    no_canary(pipeline, name).await?;
    // On a shared store the swap checks this again, in the same transaction.
    if serving(pipeline, name).await? != verified.active {
        return Err(FleetError::Changed(name.clone()).into());
    }
    concerns.extend(verified.drift_concerns());
    let (accepted, refused): (Vec<_>, Vec<_>) = concerns
        .into_iter()
        .partition(|concern| accept.has(concern));
    if !refused.is_empty() {
        return Err(DeployError::Refused {
            name: name.clone(),
            version: version.clone(),
            command,
            concerns: refused,
            verified: Some(Box::new(verified)),
        });
    }
    let candidate = &verified.candidate;
    for Concern { accept, what } in &accepted {
        let accept = accept.map_or("", AcceptWord::as_str);
        tracing::warn!(plugin = %name, %version, digest = candidate.digest.short(), accept, what, "concern about a plugin version accepted");
    }
    Ok(Agreed { verified, accepted })
}
