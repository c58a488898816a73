//! The activation of a stored version, and what it needs to be accepted.

use super::concern::AcceptedWords;
use super::error::{DeployCommand, DeployError};
use super::outcome::Activated;
use super::review::{Agreed, TriedStored, reviewed};
use super::rollout;
use super::rollout::step::OVERTAKEN;
use super::swap::swap;
use crate::prelude::*;

/// The second half of an activation of a stored version, which must run to its end.
#[leadhost_boxed::boxed]
pub async fn activate(
    pipeline: &Arc<Pipeline>,
    tried: TriedStored,
    accept: &AcceptedWords,
) -> Result<Activated, DeployError> {
    let (agreed, _alone) = reviewed(pipeline, tried, accept, DeployCommand::Activate).await?;
    switch(pipeline, agreed).await
}

pub async fn switch(pipeline: &Arc<Pipeline>, agreed: Agreed) -> Result<Activated, DeployError> {
    let Agreed { verified, accepted } = agreed;
    let (candidate, instead_of) = (&verified.candidate, verified.active.as_ref());
    let activated = swap(pipeline, candidate, instead_of, None).await?;
    close_overtaken(pipeline, &activated, OVERTAKEN).await;
    if instead_of != Some(&candidate.digest) {
        overtake_refusals(pipeline, candidate).await;
    }
    Ok(Activated {
        verified: Some(Box::new(verified)),
        accepted,
        ..activated
    })
}

/// Ends a shadow or a probation that an activation overtakes. The activation stands if that fails.
pub async fn close_overtaken(pipeline: &Arc<Pipeline>, activated: &Activated, why: &str) {
    let Activation { name, digest, .. } = &activated.activation;
    let replaced = activated.before.as_ref();
    let closed = rollout::operate::close_overtaken(pipeline, name, digest, replaced, why).await;
    if let Err(error) = closed {
        tracing::warn!(plugin = %name, %error, "rollout not ended yet by the activation of another version");
    }
}

async fn overtake_refusals(pipeline: &Pipeline, activated: &Loaded) {
    let (name, digest) = (&activated.description.name, &activated.digest);
    let (store, now) = (&pipeline.store, pipeline.clock.now());
    if let Err(error) = store.overtake_refusals_of_bytes(digest, now).await {
        tracing::warn!(plugin = %name, %error, "earlier refusals of the plugin not marked as superseded");
    }
}
