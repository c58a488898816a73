//! The verification of a version on stored deliveries, for an operator. It changes nothing.

use std::sync::Arc;
use std::time::Duration;

use super::{DeployError, loaded, serving};
use crate::domain::plugin::Digest;
use crate::pipeline::state::Pipeline;
use crate::pipeline::verify::{self, Choice, Report};
use crate::plugin::Loaded;

/// A version that was compared with the one that serves.
#[derive(Debug)]
pub struct Verified {
    pub candidate: Arc<Loaded>,
    /// The number of golden cases that it carries and has passed.
    pub golden: u32,
    /// `None` if no version of this name serves: there is nothing to compare with.
    pub serving: Option<Arc<Loaded>>,
    pub report: Report,
}

/// Verifies a component that is not stored.
///
/// # Errors
///
/// [`DeployError`] if the component cannot be loaded, its trial fails, or the store fails.
pub async fn component(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    // Held to the end: few verifications run at once.
    let mut trial = pipeline.core.plugins.trial().await?;
    let prepared = trial.prepare(wasm).await?;
    let (candidate, golden) = (Arc::clone(&prepared.loaded), prepared.golden);
    compare(pipeline, candidate, golden, choice, budget).await
}

/// Verifies a stored version.
///
/// # Errors
///
/// [`DeployError`] if the version is not stored or cannot be loaded, or the store fails.
pub async fn stored(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    let _trial = pipeline.core.plugins.trial().await?;
    let unknown = || DeployError::UnknownDigest(digest.clone());
    let candidate = loaded(pipeline, digest).await?.ok_or_else(unknown)?;
    let record = pipeline.core.store.plugin(digest).await?;
    let golden = record.ok_or_else(unknown)?.golden;
    compare(pipeline, candidate, golden, choice, budget).await
}

async fn compare(
    pipeline: &Arc<Pipeline>,
    candidate: Arc<Loaded>,
    golden: u32,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    let active = serving(pipeline, &candidate.description.name).await?;
    let serving = match &active {
        Some(digest) => loaded(pipeline, digest).await?,
        None => None,
    };
    let report = match &serving {
        Some(serving) => verify::run(pipeline, serving, &candidate, choice, budget).await?,
        None => Report::default(),
    };
    Ok(Verified {
        candidate,
        golden,
        serving,
        report,
    })
}
