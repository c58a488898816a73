//! How a plugin comes to serve: compiled aside, checked, tried, stored, then
//! swapped in whole. What does not pass changes nothing and says why.
//!
//! Which version serves is written in the store and nowhere else, so a restart
//! or a rollback is not undone by what lies in the inbox. The inbox is for
//! bytes never seen before: modification times, removals and restarts mean nothing.

mod concerns;
mod take_in;

use std::sync::Arc;

use serde::Serialize;

pub use concerns::{Accept, Concern};
pub use take_in::{take_in, watch_inbox};

use super::fleet::{self, Behind, FleetError};
use super::redrive;
use crate::app::App;
use crate::domain::plugin::{Description, Digest, PluginKind};
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
    },
    #[error(
        "there is no plugin with digest {0}; `leadhost plugin list` shows those that there are"
    )]
    UnknownDigest(Digest),
    #[error("plugin `{name}` has no version {digest}: that digest is of `{found}`")]
    AnotherName {
        name: String,
        digest: Digest,
        found: String,
    },
    #[error("no version of `{0}` served before the one that serves now")]
    NothingBefore(String),
    #[error("there is no plugin `{0}`; `leadhost plugin list` shows those that there are")]
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

/// A version that serves from now on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Activated {
    pub activation: Activation,
    /// Live hosts that had not swapped when the time for it was up.
    pub behind: Vec<Behind>,
}

/// A component that was looked at and not kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    pub digest: Digest,
    pub description: Description,
    pub kind: PluginKind,
    pub contract: String,
    pub golden: u32,
    /// What an activation would ask about.
    pub concerns: Vec<Concern>,
}

/// A component that is stored, and serves if it was activated.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployed {
    pub record: PluginRecord,
    pub activation: Option<Activated>,
}

/// Looks at a component and changes nothing.
pub async fn check(app: &Arc<App>, wasm: Vec<u8>) -> Result<CheckReport, DeployError> {
    let prepared = app.plugins.prepare(wasm).await?;
    let concerns = concerns::find(app, &prepared, None).await?;
    let loaded = &prepared.loaded;
    Ok(CheckReport {
        digest: loaded.digest.clone(),
        description: loaded.description.clone(),
        kind: loaded.kind,
        contract: loaded.contract.clone(),
        golden: prepared.golden,
        concerns,
    })
}

/// Keeps a component, and activates it when asked to and nothing stands against it.
pub async fn upload(
    app: &Arc<App>,
    wasm: Vec<u8>,
    origin: &str,
    activate: bool,
    accept: &Accept,
) -> Result<Deployed, DeployError> {
    let prepared = app.plugins.prepare(wasm.clone()).await?;
    let _alone = app.pipeline.deploying.lock().await;
    let serves = serving(app, &prepared.loaded.description.name).await?;
    if activate {
        agreed(
            &prepared.loaded,
            concerns::find(app, &prepared, Some(origin)).await?,
            accept,
        )?;
    }
    let record = keep(app, &prepared, wasm, origin).await?;
    let activation = if activate {
        Some(swap(app, &prepared.loaded, serves.as_ref()).await?)
    } else {
        None
    };
    Ok(Deployed { record, activation })
}

/// Makes a stored version serve.
pub async fn activate(
    app: &Arc<App>,
    name: &str,
    digest: &Digest,
    accept: &Accept,
) -> Result<Activated, DeployError> {
    let loaded = loaded(app, digest)
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
    let record = app
        .store
        .plugin(digest)
        .await?
        .ok_or_else(|| DeployError::UnknownDigest(digest.clone()))?;
    let _alone = app.pipeline.deploying.lock().await;
    let serves = serving(app, name).await?;
    let prepared = Prepared {
        loaded: Arc::clone(&loaded),
        golden: record.golden,
        checks: record.checks,
    };
    agreed(&loaded, concerns::find(app, &prepared, None).await?, accept)?;
    swap(app, &loaded, serves.as_ref()).await
}

/// Makes the version serve that served before. It was agreed to once: nothing is asked.
pub async fn rollback(app: &Arc<App>, name: &str) -> Result<Activated, DeployError> {
    let _alone = app.pipeline.deploying.lock().await;
    let activations = app.store.activations().await?;
    let serves = activations
        .into_iter()
        .find(|activation| activation.name == name)
        .ok_or_else(|| DeployError::UnknownPlugin(name.to_owned()))?;
    let previous = serves
        .previous
        .ok_or_else(|| DeployError::NothingBefore(name.to_owned()))?;
    let loaded = loaded(app, &previous)
        .await?
        .ok_or(DeployError::UnknownDigest(previous))?;
    swap(app, &loaded, Some(&serves.digest)).await
}

/// What serves under a name by the store's word.
async fn serving(app: &App, name: &str) -> Result<Option<Digest>, StoreError> {
    let activations = app.store.activations().await?;
    let serves = activations.into_iter().find(|one| one.name == name);
    Ok(serves.map(|activation| activation.digest))
}

/// A stored version, loaded if it is not yet.
pub async fn loaded(app: &App, digest: &Digest) -> Result<Option<Arc<Loaded>>, DeployError> {
    if let Some(loaded) = app.plugins.by_digest(digest) {
        return Ok(Some(loaded));
    }
    let Some(wasm) = app.store.plugin_wasm(digest).await? else {
        return Ok(None);
    };
    let prepared = app.plugins.prepare(wasm).await?;
    app.plugins.install(&prepared.loaded);
    Ok(Some(prepared.loaded))
}

/// Loads what serves by the store's word: before the host says that it is
/// ready. A version that does not load any more leaves its deliveries waiting.
pub async fn load_active(app: &Arc<App>) -> Result<(), DeployError> {
    for activation in app.store.activations().await? {
        match loaded(app, &activation.digest).await {
            Ok(Some(loaded)) => {
                serve(app, &activation)?;
                tracing::info!(plugin = %activation.name, version = %loaded.description.version, digest = loaded.digest.short(), "serves");
            }
            Ok(None) => {
                tracing::error!(plugin = %activation.name, digest = %activation.digest, "the active version is not in the store")
            }
            Err(DeployError::Store(error)) => return Err(error.into()),
            Err(error) => {
                tracing::error!(plugin = %activation.name, digest = activation.digest.short(), %error, "the active version does not load; its deliveries wait")
            }
        }
    }
    Ok(())
}

async fn keep(
    app: &App,
    prepared: &Prepared,
    wasm: Vec<u8>,
    origin: &str,
) -> Result<PluginRecord, DeployError> {
    let loaded = &prepared.loaded;
    let record = PluginRecord {
        digest: loaded.digest.clone(),
        description: loaded.description.clone(),
        contract: loaded.contract.clone(),
        bytes: u64::try_from(wasm.len()).unwrap_or(u64::MAX),
        checks: prepared.checks.clone(),
        golden: prepared.golden,
        origin: origin.to_owned(),
        stored_at: app.clock.now(),
    };
    app.store.put_plugin(&record, &wasm).await?;
    app.plugins.install(loaded);
    Ok(record)
}

/// From now on calls by this name begin on this version.
fn serve(app: &App, activation: &Activation) -> Result<(), DeployError> {
    app.fleet
        .serve(&app.plugins, activation)
        .map(|_news| ())
        .map_err(|missing| DeployError::UnknownDigest(missing.0))
}

/// The swap itself: the store's word first, then every call that begins after,
/// here and on the other hosts. `instead_of` is what it was agreed to against.
async fn swap(
    app: &Arc<App>,
    loaded: &Arc<Loaded>,
    instead_of: Option<&Digest>,
) -> Result<Activated, DeployError> {
    let name = loaded.description.name.clone();
    app.plugins.install(loaded);
    let activation = if app.store.is_shared() {
        fleet::flip(app, loaded, instead_of).await?
    } else {
        app.store
            .activate(&name, &loaded.digest, app.clock.now())
            .await?
    };
    serve(app, &activation)?;
    tracing::info!(
        plugin = %name,
        version = %loaded.description.version,
        digest = loaded.digest.short(),
        generation = activation.generation,
        "serves"
    );
    app.pipeline.wake();
    let (task_app, digest) = (Arc::clone(app), loaded.digest.clone());
    super::spawn(
        app,
        async move { redrive::run(&task_app, &name, &digest).await },
    );
    let behind = if app.store.is_shared() {
        fleet::converged(app, &activation).await
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
