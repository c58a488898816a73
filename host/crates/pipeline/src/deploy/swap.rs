//! The swap of the active version: in the store, then on all hosts.

use super::super::fleet::{self, FleetError};
use super::super::redrive;
use super::super::versions::serving;
use super::error::DeployError;
use super::outcome::Activated;
use super::rollout::error::RolloutError;
use super::rollout::step::{RolloutStep, act_of, announced};
use super::stored::{rollout_of, stored_version};
use crate::prelude::*;

/// Activates a version of a rollout in place of the other one, and takes the rollout to its next stage, both
/// or neither: `next`, of the generation that was read. Both versions were accepted when it began.
pub async fn replace(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    instead_of: &Digest,
    next: RolloutStep<'_>,
) -> Result<Activated, DeployError> {
    let (loaded, _) = stored_version(pipeline, digest).await?;
    let _alone = pipeline.deploying.lock().await;
    let name = &loaded.description.name;
    if serving(pipeline, name).await?.as_ref() != Some(instead_of) {
        return Err(FleetError::Changed(name.clone()).into());
    }
    swap(pipeline, &loaded, Some(instead_of), Some(next)).await
}

pub fn serve(pipeline: &Pipeline, activation: &Activation) -> Result<(), DeployError> {
    pipeline
        .fleet
        .serve(&pipeline.plugins, activation)
        .map(|_news| ())
        .map_err(|missing| DeployError::UnknownDigest(missing.0))
}

/// Switches the version: first in the store, then for every new call, on this host and on
/// the others. `instead_of` is the active version that the concerns were compared with. `step`: the change
/// of the rollout that the activation belongs to.
pub async fn swap(
    pipeline: &Arc<Pipeline>,
    loaded: &Arc<Loaded>,
    instead_of: Option<&Digest>,
    step: Option<RolloutStep<'_>>,
) -> Result<Activated, DeployError> {
    let name = loaded.description.name.clone();
    pipeline.plugins.install(loaded);
    let (activation, changed) = switched(pipeline, loaded, instead_of, step.as_ref()).await?;
    serve(pipeline, &activation)?;
    tracing::info!(
        plugin = %name,
        version = %loaded.description.version,
        digest = loaded.digest.short(),
        generation = activation.generation,
        "plugin version activated"
    );
    if let Some(before) = instead_of.filter(|before| **before != loaded.digest)
        && let Ok(Some(before)) = pipeline.store.plugin(before).await
        && before.description.version == loaded.description.version
    {
        tracing::warn!(
            plugin = %name,
            version = %loaded.description.version,
            digest = loaded.digest.short(),
            before = before.digest.short(),
            "plugin version has the number of the one before it, and other content"
        );
    }
    if let Some((step, changed)) = step.zip(changed) {
        announced(pipeline, &changed, step.by).await;
    }
    pipeline.wake();
    let (task_app, digest) = (Arc::clone(pipeline), loaded.digest.clone());
    pipeline.spawn(async move { redrive::run(&task_app, &name, &digest).await });
    let behind = if pipeline.store.is_shared() {
        fleet::converged(pipeline, &activation).await
    } else {
        Vec::new()
    };
    Ok(Activated {
        activation,
        before: instead_of.cloned(),
        behind,
        verified: None,
        accepted: Vec::new(),
    })
}

/// Switches the version in the store, changes the rollout that it belongs to, and adds that to the audit, all
/// or nothing: a rollback at the same moment would otherwise bring back what a guard or an operator takes back.
pub async fn switched(
    pipeline: &Pipeline,
    loaded: &Loaded,
    instead_of: Option<&Digest>,
    step: Option<&RolloutStep<'_>>,
) -> Result<(Activation, Option<Rollout>), DeployError> {
    let name = &loaded.description.name;
    let (store, now) = (&pipeline.store, pipeline.clock.now());
    let Some(step) = step else {
        let activation = if store.is_shared() {
            fleet::flip(pipeline, loaded, instead_of).await?
        } else {
            store.activate(name, &loaded.digest, now).await?
        };
        return Ok((activation, None));
    };
    let act = act_of(&step.next, step.act, step.by, now);
    let (digest, changed) = (&loaded.digest, (&step.next, &act));
    let switched = if store.is_shared() {
        fleet::flip_in_rollout(pipeline, loaded, instead_of, changed).await?
    } else {
        store.activate_in_rollout(digest, changed, now).await?
    };
    let Some((activation, changed)) = switched else {
        let last = rollout_of(pipeline, name).await?;
        let (name, last) = (name.clone(), last.map(Box::new));
        return Err(RolloutError::Changed { name, last }.into());
    };
    Ok((activation, Some(changed)))
}
