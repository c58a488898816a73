//! Deploys a plugin version: it is compiled in the background, checked, tried, verified on stored
//! deliveries, stored, and then activated as a whole. A version that fails a step changes nothing,
//! and the error gives the reason.
//!
//! Only the store records which version is active, so files in the inbox do not undo an
//! activation or a rollback after a restart. The inbox is for bytes that were never seen
//! before: modification times, removals and restarts have no effect.

mod concerns;
mod inbox;
pub mod rollout;
pub mod verify;

use std::sync::Arc;

pub use concerns::{Accept, Concern};
pub use inbox::{take_in, watch_inbox};
pub use rollout::RolloutError;
pub use verify::Verified;

use super::fleet::{self, Behind, FleetError};
use super::redrive;
use super::versions::{VersionError, loaded};
use crate::domain::id::KeyId;
use crate::domain::plugin::{Description, Digest, PluginKind};
use crate::domain::publisher::Publisher;
use crate::domain::rollout::{Rollout, RolloutStage};
use crate::pipeline::state::Pipeline;
use crate::plugin::{LoadError, Loaded, Prepared};
use crate::store::{Activation, PluginRecord, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{name} {version} is not activated: {}", concerns::describe(.concerns))]
    Refused {
        name: String,
        version: String,
        concerns: Vec<Concern>,
        /// The comparison with the active version, if there was one.
        verified: Option<Box<Verified>>,
    },
    #[error(
        "there is no plugin with digest {0}; run `leadhost plugin list` to see the stored ones"
    )]
    UnknownDigest(Digest),
    #[error("plugin `{name}` has no version {digest}: that digest belongs to `{found}`")]
    AnotherName {
        name: String,
        digest: Digest,
        found: String,
    },
    #[error("no version of `{0}` was active before the current one")]
    NothingBefore(String),
    #[error("there is no plugin `{0}`; run `leadhost plugin list` to see the stored ones")]
    UnknownPlugin(String),
    /// A rollback by a key that may not let a version do more.
    #[error(
        "{name} is not rolled back, because the previous version may do more: {what}; this needs a key with the role admin"
    )]
    Widening { name: String, what: String },
    /// Another version cannot be activated meanwhile.
    #[error(
        "a canary of {name} {} is under way: wait for its end, or end it with `leadhost plugin rollout abort {name}`",
        candidate.short()
    )]
    CanaryOpen { name: String, candidate: Digest },
    #[error("{0}")]
    Rollout(RolloutError),
    #[error(transparent)]
    Fleet(FleetError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FleetError> for DeployError {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Store(error) => Self::Store(error),
            other => Self::Fleet(other),
        }
    }
}

impl From<VersionError> for DeployError {
    fn from(error: VersionError) -> Self {
        match error {
            VersionError::Load(error) => Self::Load(error),
            VersionError::Store(error) => Self::Store(error),
        }
    }
}

/// The origin of a component that has just arrived.
#[derive(Clone, Debug)]
pub struct Origin {
    /// `upload`, or the file name.
    pub name: String,
    /// The publisher, unless the component is signed.
    pub publisher: Publisher,
}

impl Origin {
    /// The origin of an upload with this admin key.
    pub fn upload(key: KeyId) -> Self {
        Self {
            name: "upload".to_owned(),
            publisher: Publisher::AdminKey(key),
        }
    }
}

impl From<&str> for Origin {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            publisher: Publisher::from_origin(name),
        }
    }
}

/// A version that was activated.
#[derive(Debug)]
pub struct Activated {
    pub activation: Activation,
    /// Live hosts that had not switched when the time for it was up.
    pub behind: Vec<Behind>,
    /// The comparison with the version that was active before. A rollback makes none.
    pub verified: Option<Box<Verified>>,
}

/// A component that was checked and not stored.
#[derive(Debug)]
pub struct CheckReport {
    pub digest: Digest,
    pub description: Description,
    pub kind: PluginKind,
    pub contract: String,
    pub golden: u32,
    pub publisher: Publisher,
    /// The concerns that an activation would raise.
    pub concerns: Vec<Concern>,
}

/// A component that is stored, and active if that was requested.
#[derive(Debug)]
pub struct Deployed {
    pub record: PluginRecord,
    pub activation: Option<Activated>,
}

/// Checks a component and changes nothing.
///
/// # Errors
///
/// [`DeployError`] if the component cannot be loaded, its trial fails, or the store fails.
pub async fn check(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: impl Into<Origin>,
) -> Result<CheckReport, DeployError> {
    let mut trial = pipeline.core.plugins.trial().await?;
    let prepared = trial.prepare(wasm).await?;
    let publisher = publisher_of(pipeline, &prepared.loaded, origin.into()).await?;
    let concerns = trial.within(concerns::find(pipeline, &prepared, &publisher, None));
    let mut concerns = concerns.await??;
    drop(trial);
    let verified = verify::before_activation(pipeline, &prepared).await?;
    concerns.extend(verified.concerns());
    let loaded = &prepared.loaded;
    Ok(CheckReport {
        digest: loaded.digest.clone(),
        description: loaded.description.clone(),
        kind: loaded.kind,
        contract: loaded.contract.clone(),
        golden: prepared.golden,
        publisher,
        concerns,
    })
}

/// A version that has passed its trial, and its comparison with the active version if it is to be
/// activated.
pub struct Tried {
    prepared: Prepared,
    verified: Option<Verified>,
}

impl Tried {
    /// Returns the version.
    pub fn version(&self) -> &Loaded {
        &self.prepared.loaded
    }
}

/// The first half of an upload. It changes nothing and may be cancelled. `activate`: whether the
/// component is to be activated.
///
/// # Errors
///
/// [`DeployError`] if the component cannot be loaded, its trial fails, or the store fails.
pub async fn try_out(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    activate: bool,
) -> Result<Tried, DeployError> {
    let prepared = pipeline.core.plugins.prepare(wasm).await?;
    let verified = if activate {
        Some(verify::before_activation(pipeline, &prepared).await?)
    } else {
        None
    };
    Ok(Tried { prepared, verified })
}

/// Tries a component, stores it, and activates it if that is requested and every concern is
/// accepted.
///
/// # Errors
///
/// [`DeployError`] if the component cannot be loaded, its trial fails, a concern is not
/// accepted, or the store or the fleet fails.
pub async fn upload(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: impl Into<Origin>,
    activate: bool,
    accept: &Accept,
) -> Result<Deployed, DeployError> {
    let tried = try_out(pipeline, wasm.clone(), activate).await?;
    admit(pipeline, tried, wasm, origin.into(), accept).await
}

/// The second half of an upload, which must run to its end.
///
/// # Errors
///
/// [`DeployError`] if a concern is not accepted, another version was activated meanwhile, or the
/// store or the fleet fails.
pub async fn admit(
    pipeline: &Arc<Pipeline>,
    tried: Tried,
    wasm: Vec<u8>,
    origin: Origin,
    accept: &Accept,
) -> Result<Deployed, DeployError> {
    let Tried { prepared, verified } = tried;
    // Waits for its turn first: a deployment that waits for it does not block others.
    let trial = match &verified {
        Some(_) => Some(pipeline.core.plugins.trial().await?),
        None => None,
    };
    let _alone = pipeline.deploying.lock().await;
    let name = origin.name.clone();
    let publisher = publisher_of(pipeline, &prepared.loaded, origin).await?;
    let verified = match verified.zip(trial) {
        Some((verified, mut trial)) => {
            let objections = concerns::find(pipeline, &prepared, &publisher, Some(&name));
            let objections = trial.within(objections).await??;
            Some(agreed(pipeline, verified, objections, accept).await?)
        }
        None => None,
    };
    let record = keep(pipeline, &prepared, wasm, name, publisher).await?;
    let activation = match verified {
        Some(verified) => Some(switch(pipeline, verified).await?),
        None => None,
    };
    Ok(Deployed { record, activation })
}

/// A stored version that may be activated, and its comparison with the active one.
pub struct TriedStored {
    prepared: Prepared,
    publisher: Publisher,
    verified: Verified,
}

/// The first half of an activation of a stored version. It changes nothing and may be cancelled.
///
/// # Errors
///
/// [`DeployError`] if the version is not stored, has another name or cannot be loaded, or the
/// store fails.
pub async fn try_stored(
    pipeline: &Arc<Pipeline>,
    name: &str,
    digest: &Digest,
) -> Result<TriedStored, DeployError> {
    let (loaded, record) = stored_version(pipeline, digest).await?;
    if loaded.description.name != name {
        let found = loaded.description.name.clone();
        return Err(DeployError::AnotherName {
            name: name.to_owned(),
            digest: digest.clone(),
            found,
        });
    }
    let prepared = Prepared {
        loaded,
        golden: record.golden,
        checks: record.checks,
    };
    let verified = verify::before_activation(pipeline, &prepared).await?;
    Ok(TriedStored {
        prepared,
        publisher: record.publisher,
        verified,
    })
}

/// The second half of an activation of a stored version, which must run to its end.
///
/// # Errors
///
/// [`DeployError`] if a concern is not accepted, another version was activated meanwhile, or the
/// store or the fleet fails.
pub async fn activate(
    pipeline: &Arc<Pipeline>,
    tried: TriedStored,
    accept: &Accept,
) -> Result<Activated, DeployError> {
    let TriedStored {
        prepared,
        publisher,
        verified,
    } = tried;
    let mut trial = pipeline.core.plugins.trial().await?;
    let _alone = pipeline.deploying.lock().await;
    let objections = trial.within(concerns::find(pipeline, &prepared, &publisher, None));
    let objections = objections.await??;
    let verified = agreed(pipeline, verified, objections, accept).await?;
    switch(pipeline, verified).await
}

/// Activates the version that was active before. It was accepted once, so no concerns are
/// raised except a change of kind, and, unless `may_widen`, what it may do more than the active one.
///
/// # Errors
///
/// [`DeployError`] if there is no such plugin or no version before, that version cannot be
/// loaded or has another kind while the name is in use, or the store or the fleet fails.
pub async fn rollback(
    pipeline: &Arc<Pipeline>,
    name: &str,
    may_widen: bool,
) -> Result<Activated, DeployError> {
    no_canary(pipeline, name).await?;
    let serves = activation(pipeline, name).await?;
    let serves = serves.ok_or_else(|| DeployError::UnknownPlugin(name.to_owned()))?;
    let previous = serves.previous.clone();
    let previous = previous.ok_or_else(|| DeployError::NothingBefore(name.to_owned()))?;
    // Before the lock: a version that is not in memory needs the turn of a trial, and those that
    // have one wait for the lock.
    let (loaded, record) = stored_version(pipeline, &previous).await?;
    let _alone = pipeline.deploying.lock().await;
    let now = activation(pipeline, name).await?;
    if now.is_none_or(|now| now.generation != serves.generation) {
        return Err(FleetError::Changed(name.to_owned()).into());
    }
    // Even a rollback must not change the kind of a plugin that is in use.
    let old = pipeline.core.store.plugin(&serves.digest).await?;
    if let Some(kind) = old.and_then(|old| old.kind())
        && let Some(concern) = concerns::of_kind(pipeline, name, kind, loaded.kind).await?
    {
        return Err(DeployError::Refused {
            name: name.to_owned(),
            version: loaded.description.version.clone(),
            concerns: vec![concern],
            verified: None,
        });
    }
    if !may_widen {
        let prepared = Prepared {
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
    swap(pipeline, &loaded, Some(&serves.digest)).await
}

/// Activates a version of a rollout in place of the other one. Both were accepted when it began.
/// `unchanged`: only while the rollout is as it was read.
///
/// # Errors
///
/// [`DeployError`] if another version is active by now, the rollout was changed, the version
/// cannot be loaded, or the store or the fleet fails.
async fn replace(
    pipeline: &Arc<Pipeline>,
    digest: &Digest,
    instead_of: &Digest,
    unchanged: Option<&Rollout>,
) -> Result<Activated, DeployError> {
    let (loaded, _) = stored_version(pipeline, digest).await?;
    let _alone = pipeline.deploying.lock().await;
    let name = &loaded.description.name;
    if serving(pipeline, name).await?.as_ref() != Some(instead_of) {
        return Err(FleetError::Changed(name.clone()).into());
    }
    if let Some(rollout) = unchanged {
        let now = pipeline.core.store.rollouts().await?;
        if !now.iter().any(|one| one.generation == rollout.generation) {
            return Err(RolloutError::Changed(name.clone()).into());
        }
    }
    swap(pipeline, &loaded, Some(instead_of)).await
}

/// Refuses to activate another version beside an open canary.
async fn no_canary(pipeline: &Pipeline, name: &str) -> Result<(), DeployError> {
    let rollouts = pipeline.core.store.rollouts().await?;
    let open = rollouts
        .into_iter()
        .find(|one| one.name == name && one.stage == RolloutStage::Canary);
    match open {
        Some(rollout) => Err(DeployError::CanaryOpen {
            name: rollout.name,
            candidate: rollout.candidate,
        }),
        None => Ok(()),
    }
}

/// Returns the publisher of a component: its signer; otherwise the origin that first
/// brought these bytes. So a file of the inbox still belongs to the inbox if an operator
/// accepts its concerns and activates it.
async fn publisher_of(
    pipeline: &Pipeline,
    loaded: &Loaded,
    origin: Origin,
) -> Result<Publisher, StoreError> {
    if let Some(key) = loaded.signer {
        return Ok(Publisher::Signer(key));
    }
    if let Some(record) = pipeline.core.store.plugin(&loaded.digest).await? {
        return Ok(record.publisher);
    }
    // Refusals are stored only for files of the inbox.
    let refusals = pipeline.core.store.refusals().await?;
    let is_refused = refusals
        .iter()
        .any(|refusal| refusal.digest.as_ref() == Some(&loaded.digest));
    Ok(if is_refused {
        Publisher::Inbox
    } else {
        origin.publisher
    })
}

/// Loads a stored version, with its record.
async fn stored_version(
    pipeline: &Pipeline,
    digest: &Digest,
) -> Result<(Arc<Loaded>, PluginRecord), DeployError> {
    let unknown = || DeployError::UnknownDigest(digest.clone());
    let loaded = loaded(pipeline, digest).await?.ok_or_else(unknown)?;
    let record = pipeline.core.store.plugin(digest).await?;
    Ok((loaded, record.ok_or_else(unknown)?))
}

/// Returns the activation of a name, as the store has it.
async fn activation(pipeline: &Pipeline, name: &str) -> Result<Option<Activation>, StoreError> {
    let activations = pipeline.core.store.activations().await?;
    Ok(activations.into_iter().find(|one| one.name == name))
}

/// Returns the active version of a name, as the store has it.
async fn serving(pipeline: &Pipeline, name: &str) -> Result<Option<Digest>, StoreError> {
    let active = activation(pipeline, name).await?;
    Ok(active.map(|active| active.digest))
}

/// Loads the active versions that the store records, before the host reports ready. The
/// deliveries of a version that fails to load wait.
///
/// # Errors
///
/// [`DeployError`] if the store fails.
pub async fn load_active(pipeline: &Arc<Pipeline>) -> Result<(), DeployError> {
    for activation in pipeline.core.store.activations().await? {
        match loaded(pipeline, &activation.digest).await {
            Ok(Some(loaded)) => {
                serve(pipeline, &activation)?;
                tracing::info!(plugin = %activation.name, version = %loaded.description.version, digest = loaded.digest.short(), "plugin version activated");
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

async fn keep(
    pipeline: &Pipeline,
    prepared: &Prepared,
    wasm: Vec<u8>,
    origin: String,
    publisher: Publisher,
) -> Result<PluginRecord, DeployError> {
    let loaded = &prepared.loaded;
    let record = PluginRecord {
        digest: loaded.digest.clone(),
        description: loaded.description.clone(),
        contract: loaded.contract.clone(),
        bytes: u64::try_from(wasm.len()).unwrap_or(u64::MAX),
        checks: prepared.checks.clone(),
        golden: prepared.golden,
        origin,
        publisher,
        stored_at: pipeline.core.clock.now(),
    };
    pipeline.core.store.put_plugin(&record, &wasm).await?;
    pipeline.core.plugins.install(loaded);
    Ok(record)
}

/// New calls by this name begin on this version.
fn serve(pipeline: &Pipeline, activation: &Activation) -> Result<(), DeployError> {
    pipeline
        .fleet
        .serve(&pipeline.core.plugins, activation)
        .map(|_news| ())
        .map_err(|missing| DeployError::UnknownDigest(missing.0))
}

/// Activates a version in place of the one that it was compared with.
async fn switch(pipeline: &Arc<Pipeline>, verified: Verified) -> Result<Activated, DeployError> {
    let (candidate, instead_of) = (&verified.candidate, verified.active.as_ref());
    let activated = swap(pipeline, candidate, instead_of).await?;
    if instead_of != Some(&candidate.digest) {
        overtake_refusals(pipeline, candidate).await;
    }
    Ok(Activated {
        verified: Some(Box::new(verified)),
        ..activated
    })
}

/// Marks the refusals that an activation overtakes, so that they are no longer shown.
async fn overtake_refusals(pipeline: &Pipeline, activated: &Loaded) {
    let (name, digest) = (&activated.description.name, &activated.digest);
    let (store, now) = (&pipeline.core.store, pipeline.core.clock.now());
    if let Err(error) = store.overtake_refusals_of_plugin(name, digest, now).await {
        tracing::warn!(plugin = %name, %error, "earlier refusals of the plugin not marked as overtaken");
    }
}

/// Switches the version: first in the store, then for every new call, on this host and on
/// the others. `instead_of` is the active version that the concerns were compared with.
async fn swap(
    pipeline: &Arc<Pipeline>,
    loaded: &Arc<Loaded>,
    instead_of: Option<&Digest>,
) -> Result<Activated, DeployError> {
    let name = loaded.description.name.clone();
    pipeline.core.plugins.install(loaded);
    let activation = if pipeline.core.store.is_shared() {
        fleet::flip(pipeline, loaded, instead_of).await?
    } else {
        pipeline
            .core
            .store
            .activate(&name, &loaded.digest, pipeline.core.clock.now())
            .await?
    };
    serve(pipeline, &activation)?;
    tracing::info!(
        plugin = %name,
        version = %loaded.description.version,
        digest = loaded.digest.short(),
        generation = activation.generation,
        "plugin version activated"
    );
    pipeline.wake();
    let (task_app, digest) = (Arc::clone(pipeline), loaded.digest.clone());
    pipeline
        .core
        .spawn(async move { redrive::run(&task_app, &name, &digest).await });
    let behind = if pipeline.core.store.is_shared() {
        fleet::converged(pipeline, &activation).await
    } else {
        Vec::new()
    };
    Ok(Activated {
        activation,
        behind,
        verified: None,
    })
}

/// Returns the comparison if every concern is accepted, and those of the comparison too.
async fn agreed(
    pipeline: &Pipeline,
    verified: Verified,
    mut concerns: Vec<Concern>,
    accept: &Accept,
) -> Result<Verified, DeployError> {
    let Description { name, version, .. } = &verified.candidate.description;
    no_canary(pipeline, name).await?;
    // On a shared store the swap checks this again, in the same transaction.
    if serving(pipeline, name).await? != verified.active {
        return Err(FleetError::Changed(name.clone()).into());
    }
    concerns.extend(verified.concerns());
    let (accepted, refused): (Vec<_>, Vec<_>) = concerns
        .into_iter()
        .partition(|concern| accept.has(concern));
    if !refused.is_empty() {
        return Err(DeployError::Refused {
            name: name.clone(),
            version: version.clone(),
            concerns: refused,
            verified: Some(Box::new(verified)),
        });
    }
    for Concern { accept, what } in accepted {
        tracing::warn!(plugin = %name, %version, digest = verified.candidate.digest.short(), accept, what, "concern about a plugin version accepted");
    }
    Ok(verified)
}
