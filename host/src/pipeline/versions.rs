//! Stored versions of plugins, loaded when they are needed.

use std::sync::Arc;

use super::state::Pipeline;
use crate::domain::plugin::Digest;
use crate::plugin::{LoadError, Loaded};
use crate::store::StoreError;

/// Why a stored version cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns a stored version, and loads it first if it is not in memory. `None`: the store
/// does not have it.
///
/// # Errors
///
/// [`VersionError`] if the store fails or the component does not load here.
pub async fn loaded(
    pipeline: &Pipeline,
    digest: &Digest,
) -> Result<Option<Arc<Loaded>>, VersionError> {
    if let Some(loaded) = pipeline.core.plugins.by_digest(digest) {
        return Ok(Some(loaded));
    }
    let Some(wasm) = pipeline.core.store.plugin_wasm(digest).await? else {
        return Ok(None);
    };
    let prepared = pipeline.core.plugins.prepare(wasm).await?;
    pipeline.core.plugins.install(&prepared.loaded);
    Ok(Some(prepared.loaded))
}
