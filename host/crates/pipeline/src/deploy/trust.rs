//! The trusted keys, `plugins.trusted_keys`: with them, a component is compiled, tried, compared, stored,
//! activated or rolled out only if one of them has signed it. Versions that served before continue to serve,
//! with a warning.

use super::error::DeployError;
use crate::prelude::*;
use leadhost_plugin::{LoadError, signature};

/// Returns a component that has arrived, if it may serve. This comes before anything of it is compiled
/// or run. A broken signature is left for its trial, which refuses it.
pub(super) async fn arrived(pipeline: &Pipeline, wasm: Vec<u8>) -> Result<Vec<u8>, DeployError> {
    let keys = pipeline.config.plugins.trusted_keys.clone();
    if keys.are_all() {
        return Ok(wasm);
    }
    // All of its bytes are hashed.
    let read = tokio::task::spawn_blocking(move || {
        let untrusted = match signature::signer(&wasm) {
            Ok(signer) if !keys.trust(signer) => Some((Digest::compute(&wasm), signer)),
            _ => None,
        };
        (wasm, untrusted)
    });
    match read.await {
        Ok((wasm, None)) => Ok(wasm),
        Ok((_, Some((digest, signer)))) => Err(DeployError::Untrusted { digest, signer }),
        Err(error) => Err(LoadError::Host(error.to_string()).into()),
    }
}

/// Refuses a stored version that may not serve, by its bytes: whoever can write to the store must not be able
/// to have it loaded either.
pub(super) async fn stored(pipeline: &Pipeline, digest: &Digest) -> Result<(), DeployError> {
    if pipeline.config.plugins.trusted_keys.are_all() {
        return Ok(());
    }
    if let Some(loaded) = pipeline.plugins.by_digest(digest) {
        let signer = loaded.signer;
        return if is_trusted(pipeline, &loaded) {
            Ok(())
        } else {
            Err(DeployError::Untrusted {
                digest: digest.clone(),
                signer,
            })
        };
    }
    match pipeline.store.plugin_wasm(digest).await? {
        Some(wasm) => arrived(pipeline, wasm).await.map(drop),
        None => Err(DeployError::UnknownDigest(digest.clone())),
    }
}

pub fn is_trusted(pipeline: &Pipeline, loaded: &Loaded) -> bool {
    pipeline.config.plugins.trusted_keys.trust(loaded.signer)
}
