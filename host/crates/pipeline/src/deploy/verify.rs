//! The verification of a version on stored deliveries: for an operator, before each activation,
//! and afterwards on the deliveries that it converted. It changes nothing.

use super::outcome::Verified;
use super::{
    concerns,
    error::DeployError,
    outcome::ComponentOrigin,
    rolled_back,
    stored::{publisher_of, stored_version, trusted_version},
    trust,
};
use crate::prelude::*;
use crate::verify::{self, Choice, Part, VerifyReport};
use crate::versions::{VersionError, activation, loaded, serving};
use leadhost_domain::publisher::Publisher;
use leadhost_plugin::LoadError;

#[leadhost_boxed::boxed]
pub async fn component(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: ComponentOrigin,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    let wasm = trust::arrived(pipeline, wasm).await?;
    let prepared = pipeline.plugins.prepare(wasm).await?;
    let name = origin.name.clone();
    let publisher = publisher_of(pipeline, &prepared.loaded, origin).await?;
    with_concerns(
        pipeline,
        prepared,
        &publisher,
        Some(&name),
        (choice, budget),
    )
    .await
}

async fn with_concerns(
    pipeline: &Arc<Pipeline>,
    prepared: PreparedVersion,
    publisher: &Publisher,
    origin: Option<&str>,
    (choice, budget): (Choice, Duration),
) -> Result<Verified, DeployError> {
    // Without the turn of a trial, as below.
    let concerns = concerns::find(pipeline, &prepared, publisher, origin).await?;
    let (candidate, golden) = (prepared.loaded, prepared.golden);
    let verified = compare(pipeline, candidate, golden, choice, budget).await?;
    Ok(Verified {
        concerns,
        ..verified
    })
}

#[leadhost_boxed::boxed]
pub async fn stored(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    let (loaded, record) = trusted_version(pipeline, digest).await?;
    let prepared = PreparedVersion {
        loaded,
        golden: record.golden,
        checks: record.checks,
    };
    with_concerns(
        pipeline,
        prepared,
        &record.publisher,
        None,
        (choice, budget),
    )
    .await
}

pub(super) async fn before_activation(
    pipeline: &Arc<Pipeline>,
    prepared: &PreparedVersion,
) -> Result<Verified, DeployError> {
    let policy = &pipeline.config.verify;
    let choice = Choice {
        last: policy.deliveries,
        since: None,
        failed: false,
        converted_by: None,
    };
    let (candidate, budget) = (Arc::clone(&prepared.loaded), policy.budget());
    compare(pipeline, candidate, prepared.golden, choice, budget).await
}

/// Compares a version with another one on the deliveries that the first one converted last: how
/// leads would be with the other one. `against`: the active version if `None`, or the previous one that was not
/// rolled back if the version itself is active.
#[leadhost_boxed::boxed]
pub async fn impact(
    pipeline: &Arc<Pipeline>,
    record: &PluginRecord,
    against: Option<Digest>,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    let name = &record.description.name;
    let active = activation(pipeline, name).await?;
    let other = match (against, &active) {
        (Some(against), _) => Some(against),
        (None, Some(active)) if active.digest == record.digest => {
            rolled_back::previous_good(pipeline, active).await?
        }
        (None, active) => active.as_ref().map(|active| active.digest.clone()),
    };
    let other = other.ok_or_else(|| DeployError::NothingToCompare(name.clone()))?;
    let (candidate, record) = stored_version(pipeline, &record.digest).await?;
    let (against, _) = stored_version(pipeline, &other).await?;
    let choice = Choice {
        converted_by: Some(candidate.digest.clone()),
        ..choice
    };
    let _turn = pipeline.verifications.turn().await?;
    let report = verify::run(pipeline, &against, &candidate, choice, budget).await?;
    Ok(Verified {
        // The policy is about activations.
        drift: Vec::new(),
        concerns: Vec::new(),
        candidate,
        golden: record.golden,
        active: active.map(|active| active.digest),
        against: Some(against),
        report,
    })
}

async fn compare(
    pipeline: &Arc<Pipeline>,
    candidate: Arc<Loaded>,
    golden: u32,
    choice: Choice,
    budget: Duration,
) -> Result<Verified, DeployError> {
    // Without the turn of a trial: the active version may need one to be loaded.
    let _turn = pipeline.verifications.turn().await?;
    let active = serving(pipeline, &candidate.description.name).await?;
    let serving = match &active {
        Some(digest) => match loaded(pipeline, digest).await {
            Ok(serving) => serving,
            Err(VersionError::Store(error)) => return Err(error.into()),
            Err(VersionError::Load(error @ LoadError::Busy { .. })) => return Err(error.into()),
            // It serves no request: a version that repairs this must not depend on it.
            Err(VersionError::Load(error)) => {
                tracing::warn!(plugin = %candidate.description.name, digest = digest.short(), %error, "active plugin version failed to load, nothing to compare with");
                None
            }
        },
        None => None,
    };
    let report = match &serving {
        // A change of kind is a concern of its own.
        Some(serving) if serving.digest != candidate.digest && serving.kind == candidate.kind => {
            verify::run(pipeline, serving, &candidate, choice, budget).await?
        }
        _ => VerifyReport::default(),
    };
    let policy = &pipeline.config.verify;
    let mut drift = verify::drift(Part::Deliveries, &report.tally, policy);
    let inline = Duration::from_millis(pipeline.config.plugins.inline_ms);
    drift.extend(verify::drift_of_cost(&report.costs, inline, policy));
    if report.is_too_little() {
        let (compared, chosen) = (report.tally.differences.compared, report.coverage.chosen);
        let seconds = budget.as_secs();
        drift.push(format!(
            "only {compared} of {chosen} stored deliveries could be compared in {seconds} s"
        ));
    }
    Ok(Verified {
        drift,
        concerns: Vec::new(),
        candidate,
        golden,
        active,
        against: serving,
        report,
    })
}
