//! Versions and rollouts as the store has them.

use super::super::versions::loaded;
use super::error::DeployError;
use super::outcome::ComponentOrigin;
use super::trust;
use crate::prelude::*;
use leadhost_domain::publisher::Publisher;

/// Returns the publisher of a component: its signer; otherwise the origin that first
/// brought these bytes. So a file of the inbox still belongs to the inbox if an operator
/// accepts its concerns and activates it.
pub async fn publisher_of(
    pipeline: &Pipeline,
    loaded: &Loaded,
    origin: ComponentOrigin,
) -> Result<Publisher, StoreError> {
    if let Some(key) = loaded.signer {
        return Ok(Publisher::Signer(key));
    }
    if let Some(record) = pipeline.store.plugin(&loaded.digest).await? {
        return Ok(record.publisher);
    }
    // Refusals are stored only for files of the inbox.
    let refusals = pipeline.store.refusals().await?;
    let is_refused = refusals
        .iter()
        .any(|refusal| refusal.digest.as_ref() == Some(&loaded.digest));
    Ok(if is_refused {
        Publisher::Inbox
    } else {
        origin.publisher
    })
}

/// Returns a stored version that may serve: nothing is run of one that may not.
pub async fn trusted_version(
    pipeline: &Pipeline,
    digest: &Digest,
) -> Result<(Arc<Loaded>, PluginRecord), DeployError> {
    trust::stored(pipeline, digest).await?;
    stored_version(pipeline, digest).await
}

/// Returns a stored version that serves or has served.
pub async fn stored_version(
    pipeline: &Pipeline,
    digest: &Digest,
) -> Result<(Arc<Loaded>, PluginRecord), DeployError> {
    let unknown = || DeployError::UnknownDigest(digest.clone());
    let loaded = loaded(pipeline, digest).await?.ok_or_else(unknown)?;
    let record = pipeline.store.plugin(digest).await?;
    Ok((loaded, record.ok_or_else(unknown)?))
}

pub async fn rollout_of(pipeline: &Pipeline, name: &str) -> Result<Option<Rollout>, StoreError> {
    let rollouts = pipeline.store.rollouts().await?;
    Ok(rollouts.into_iter().find(|one| one.name == name))
}
