//! Deploys a plugin version: it is compiled in the background, checked, tried, verified on stored
//! deliveries, stored, and then activated as a whole. A version that fails a step changes nothing,
//! and the error gives the reason.
//!
//! Only the store records which version is active, so files in the inbox do not undo an
//! activation or a rollback after a restart. The inbox is for bytes that were never seen
//! before: modification times, removals and restarts have no effect.

mod activate;
mod attempts;
mod concern;
mod concerns;
mod error;
mod inbox;
mod outcome;
mod remove;
mod review;
mod rollback;
pub mod rolled_back;
pub mod rollout;
mod stored;
mod swap;
mod trust;
mod upload;
pub mod verify;

use std::sync::Arc;

pub use activate::activate;
pub use concern::{AcceptedWords, Concern};
pub use error::{DeployCommand, DeployError};
pub use inbox::{take_in, watch_inbox};
pub use outcome::{Activated, CheckReport, ComponentOrigin, Deployed, Verified};
pub use remove::remove;
pub use review::{TriedStored, try_stored};
pub use rollback::rollback;
pub use rollout::RolloutError;
pub use trust::is_trusted;
pub use upload::{Tried, admit, check, try_out, upload};

use self::swap::serve;
use super::versions::{VersionError, loaded};
use crate::state::Pipeline;

/// Loads the active versions that the store records, before the host reports ready. The
/// deliveries of a version that fails to load wait.
#[leadhost_boxed::boxed]
pub async fn load_active(pipeline: &Arc<Pipeline>) -> Result<(), DeployError> {
    for activation in pipeline.store.activations().await? {
        match loaded(pipeline, &activation.digest).await {
            Ok(Some(loaded)) => {
                serve(pipeline, &activation)?;
                tracing::info!(plugin = %activation.name, version = %loaded.description.version, digest = loaded.digest.short(), "plugin version activated");
                if !is_trusted(pipeline, &loaded) {
                    tracing::warn!(plugin = %activation.name, version = %loaded.description.version, digest = loaded.digest.short(), signer = loaded.signer.map(tracing::field::display), "active plugin version not signed by a trusted key, still serving");
                }
            }
            Ok(None) => {
                tracing::error!(plugin = %activation.name, digest = %activation.digest, "active plugin version is missing from the store")
            }
            Err(VersionError::Store(error)) => return Err(error.into()),
            Err(error) => {
                tracing::error!(plugin = %activation.name, digest = activation.digest.short(), %error, "active plugin version failed to load, its deliveries wait")
            }
        }
    }
    Ok(())
}
