//! Deploys a plugin version: it is compiled in the background, checked, tried, stored, and
//! then activated as a whole. A version that fails a step changes nothing, and the error
//! gives the reason.
//!
//! Only the store records which version is active, so files in the inbox do not undo an
//! activation or a rollback after a restart. The inbox is for bytes that were never seen
//! before: modification times, removals and restarts have no effect.

mod concerns;
mod take_in;
pub mod verify;

use std::sync::Arc;

pub use concerns::{Accept, Concern};
pub use take_in::{take_in, watch_inbox};
pub use verify::Verified;

use super::fleet::{self, Behind, FleetError};
use super::redrive;
use super::versions::{VersionError, loaded};
use crate::domain::id::KeyId;
use crate::domain::plugin::{Description, Digest, PluginKind};
use crate::domain::publisher::Publisher;
use crate::pipeline::state::Pipeline;
use crate::plugin::{LoadError, Loaded, Prepared, Trial};
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
#[derive(Clone, Debug)]
pub struct Activated {
    pub activation: Activation,
    /// Live hosts that had not switched when the time for it was up.
    pub behind: Vec<Behind>,
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
    let concerns = concerns.await??;
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

/// A component that has passed its trial and is not stored yet.
pub struct Tried {
    trial: Trial,
    prepared: Prepared,
    wasm: Vec<u8>,
}

/// The first half of an upload. It changes nothing and may be cancelled.
///
/// # Errors
///
/// [`DeployError`] if the component cannot be loaded or its trial fails.
pub async fn try_out(pipeline: &Arc<Pipeline>, wasm: Vec<u8>) -> Result<Tried, DeployError> {
    let mut trial = pipeline.core.plugins.trial().await?;
    let prepared = trial.prepare(wasm.clone()).await?;
    Ok(Tried {
        trial,
        prepared,
        wasm,
    })
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
    let tried = try_out(pipeline, wasm).await?;
    admit(pipeline, tried, origin.into(), activate, accept).await
}

/// The second half of an upload, which must run to its end.
///
/// # Errors
///
/// [`DeployError`] if a concern is not accepted, or the store or the fleet fails.
pub async fn admit(
    pipeline: &Arc<Pipeline>,
    tried: Tried,
    origin: Origin,
    activate: bool,
    accept: &Accept,
) -> Result<Deployed, DeployError> {
    let Tried {
        mut trial,
        prepared,
        wasm,
    } = tried;
    let _alone = pipeline.deploying.lock().await;
    let serves = serving(pipeline, &prepared.loaded.description.name).await?;
    let name = origin.name.clone();
    let publisher = publisher_of(pipeline, &prepared.loaded, origin).await?;
    if activate {
        let concerns = trial.within(concerns::find(pipeline, &prepared, &publisher, Some(&name)));
        agreed(&prepared.loaded, concerns.await??, accept)?;
    }
    let record = keep(pipeline, &prepared, wasm, name, publisher).await?;
    let activation = if activate {
        Some(swap(pipeline, &prepared.loaded, serves.as_ref()).await?)
    } else {
        None
    };
    Ok(Deployed { record, activation })
}

/// Activates a stored version.
///
/// # Errors
///
/// [`DeployError`] if the version is not stored, has another name or cannot be loaded, a
/// concern is not accepted, or the store or the fleet fails.
pub async fn activate(
    pipeline: &Arc<Pipeline>,
    name: &str,
    digest: &Digest,
    accept: &Accept,
) -> Result<Activated, DeployError> {
    let loaded = loaded(pipeline, digest)
        .await?
        .ok_or_else(|| DeployError::UnknownDigest(digest.clone()))?;
    if loaded.description.name != name {
        let found = loaded.description.name.clone();
        return Err(DeployError::AnotherName {
            name: name.to_owned(),
            digest: digest.clone(),
            found,
        });
    }
    let record = pipeline
        .core
        .store
        .plugin(digest)
        .await?
        .ok_or_else(|| DeployError::UnknownDigest(digest.clone()))?;
    // Waits for the trial first: a deployment that waits for it does not block others.
    let mut trial = pipeline.core.plugins.trial().await?;
    let _alone = pipeline.deploying.lock().await;
    let serves = serving(pipeline, name).await?;
    let prepared = Prepared {
        loaded: Arc::clone(&loaded),
        golden: record.golden,
        checks: record.checks.clone(),
    };
    let concerns = trial.within(concerns::find(pipeline, &prepared, &record.publisher, None));
    agreed(&loaded, concerns.await??, accept)?;
    swap(pipeline, &loaded, serves.as_ref()).await
}

/// Activates the version that was active before. It was accepted once, so no concerns are
/// raised except a change of kind.
///
/// # Errors
///
/// [`DeployError`] if there is no such plugin or no version before, that version cannot be
/// loaded or has another kind while the name is in use, or the store or the fleet fails.
pub async fn rollback(pipeline: &Arc<Pipeline>, name: &str) -> Result<Activated, DeployError> {
    let _alone = pipeline.deploying.lock().await;
    let activations = pipeline.core.store.activations().await?;
    let serves = activations
        .into_iter()
        .find(|activation| activation.name == name)
        .ok_or_else(|| DeployError::UnknownPlugin(name.to_owned()))?;
    let previous = serves
        .previous
        .ok_or_else(|| DeployError::NothingBefore(name.to_owned()))?;
    let loaded = loaded(pipeline, &previous)
        .await?
        .ok_or(DeployError::UnknownDigest(previous))?;
    // Even a rollback must not change the kind of a plugin that is in use.
    let old = pipeline.core.store.plugin(&serves.digest).await?;
    if let Some(kind) = old.and_then(|old| old.kind())
        && let Some(concern) = concerns::of_kind(pipeline, name, kind, loaded.kind).await?
    {
        return Err(DeployError::Refused {
            name: name.to_owned(),
            version: loaded.description.version.clone(),
            concerns: vec![concern],
        });
    }
    swap(pipeline, &loaded, Some(&serves.digest)).await
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

/// Returns the active version of a name, as the store has it.
async fn serving(pipeline: &Pipeline, name: &str) -> Result<Option<Digest>, StoreError> {
    let activations = pipeline.core.store.activations().await?;
    let serves = activations.into_iter().find(|one| one.name == name);
    Ok(serves.map(|activation| activation.digest))
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
    Ok(Activated { activation, behind })
}

fn agreed(loaded: &Loaded, concerns: Vec<Concern>, accept: &Accept) -> Result<(), DeployError> {
    let concerns: Vec<_> = concerns
        .into_iter()
        .filter(|concern| concern.accept.is_empty() || !accept.has(&concern.accept))
        .collect();
    if concerns.is_empty() {
        return Ok(());
    }
    let (name, version) = (
        loaded.description.name.clone(),
        loaded.description.version.clone(),
    );
    Err(DeployError::Refused {
        name,
        version,
        concerns,
    })
}
