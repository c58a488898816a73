//! The rollback to the version that was active before.

use super::super::fleet::FleetError;
use super::super::versions::activation;
use super::activate::close_overtaken;
use super::concern::{AcceptedWords, Concern};
use super::error::{DeployCommand, DeployError};
use super::outcome::Activated;
use super::review::no_canary;
use super::stored::trusted_version;
use super::swap::swap;
use super::{concerns, rolled_back};
use crate::prelude::*;

/// Activates the version that was active before. The version was accepted before, so only two
/// concerns are raised: a change of kind, and, unless `may_widen`, permissions that the active
/// version lacks.
#[leadhost_boxed::boxed]
pub async fn rollback(
    pipeline: &Arc<Pipeline>,
    name: &str,
    may_widen: bool,
    accept: &AcceptedWords,
    begun: Option<i64>,
) -> Result<Activated, DeployError> {
    no_canary(pipeline, name).await?;
    let serves = activation(pipeline, name).await?;
    let serves = serves.ok_or_else(|| DeployError::UnknownPlugin(name.to_owned()))?;
    let previous = serves.previous.clone();
    let previous = previous.ok_or_else(|| DeployError::NothingBefore(name.to_owned()))?;
    // Before the lock: a version that is not in memory needs the turn of a trial, and those that
    // have one wait for the lock.
    let (loaded, record) = trusted_version(pipeline, &previous).await?;
    let _alone = pipeline.deploying.lock().await;
    let now = activation(pipeline, name).await?;
    if now.is_none_or(|now| now.generation != serves.generation) {
        return Err(FleetError::Changed(name.to_owned()).into());
    }
    // Under the lock, because by then a rollback by another operator or by a guard of this host has been
    // recorded.
    rolled_back::check_rollback(pipeline, &serves, accept, begun).await?;
    // Even a rollback must not change the kind of a plugin that is in use.
    let old = pipeline.store.plugin(&serves.digest).await?;
    if let Some(kind) = old.and_then(|old| old.kind())
        && let Some(concern) = concerns::about_kind(pipeline, name, kind, loaded.kind).await?
    {
        return Err(DeployError::Refused {
            name: name.to_owned(),
            version: loaded.description.version.clone(),
            command: DeployCommand::Activate,
            concerns: vec![concern],
            verified: None,
        });
    }
    if !may_widen {
        let prepared = PreparedVersion {
            loaded: Arc::clone(&loaded),
            golden: record.golden,
            checks: record.checks,
        };
        let mut concerns = concerns::find(pipeline, &prepared, &record.publisher, None).await?;
        concerns.retain(Concern::lets_do_more);
        if !concerns.is_empty() {
            let what: Vec<String> = concerns.into_iter().map(|concern| concern.what).collect();
            return Err(DeployError::Widening {
                name: name.to_owned(),
                what: what.join("; "),
            });
        }
    }
    let activated = swap(pipeline, &loaded, Some(&serves.digest), None).await?;
    close_overtaken(
        pipeline,
        &activated,
        "an operator rolled the active version back",
    )
    .await;
    Ok(activated)
}
