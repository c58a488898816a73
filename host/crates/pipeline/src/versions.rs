//! The versions of plugins that the store has: which one is active, and loading them when they are
//! needed.

use crate::prelude::*;
use leadhost_plugin::{self as plugin, LoadError};

#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[leadhost_boxed::boxed]
pub async fn activation(pipeline: &Pipeline, name: &str) -> Result<Option<Activation>, StoreError> {
    let activations = pipeline.store.activations().await?;
    Ok(activations.into_iter().find(|one| one.name == name))
}

#[leadhost_boxed::boxed]
pub async fn serving(pipeline: &Pipeline, name: &str) -> Result<Option<Digest>, StoreError> {
    let active = activation(pipeline, name).await?;
    Ok(active.map(|active| active.digest))
}

/// Returns a stored version, and loads it first if it is not in memory. `None`: the store
/// does not have it.
pub async fn loaded(
    pipeline: &Pipeline,
    digest: &Digest,
) -> Result<Option<Arc<Loaded>>, VersionError> {
    if let Some(loaded) = pipeline.plugins.by_digest(digest) {
        return Ok(Some(loaded));
    }
    let Some(wasm) = pipeline.store.plugin_wasm(digest).await? else {
        return Ok(None);
    };
    // Not in the caller's turn, which this may be a part of.
    let prepared = plugin::on_behalf_of(None, pipeline.plugins.prepare(wasm)).await?;
    pipeline.plugins.install(&prepared.loaded);
    Ok(Some(prepared.loaded))
}
