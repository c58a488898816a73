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
use crate::domain::id::KeyId;
use crate::domain::plugin::{Description, Digest, PluginKind};
use crate::domain::publisher::Publisher;
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

/// Where a component came from just now.
#[derive(Clone, Debug)]
pub struct Origin {
    /// `upload`, or the file.
    pub name: String,
    /// Whose it is unless it is signed.
    pub publisher: Publisher,
}

impl Origin {
    /// Sent by an operator with this admin key.
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
            publisher: Publisher::of_origin(name),
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
    pub publisher: Publisher,
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
pub async fn check(
    app: &Arc<App>,
    wasm: Vec<u8>,
    origin: impl Into<Origin>,
) -> Result<CheckReport, DeployError> {
    let mut trial = app.plugins.trial().await?;
    let prepared = trial.prepare(wasm).await?;
    let publisher = publisher_of(app, &prepared.loaded, origin.into()).await?;
    let concerns = trial.within(concerns::find(app, &prepared, &publisher, None));
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

/// A component that has passed, and nothing of it is kept yet.
pub struct Tried {
    trial: Trial,
    prepared: Prepared,
    wasm: Vec<u8>,
}

/// The first half of an upload: it changes nothing and may be broken off.
pub async fn try_out(app: &Arc<App>, wasm: Vec<u8>) -> Result<Tried, DeployError> {
    let mut trial = app.plugins.trial().await?;
    let prepared = trial.prepare(wasm.clone()).await?;
    Ok(Tried {
        trial,
        prepared,
        wasm,
    })
}

/// Tries a component, keeps it, and activates it when asked to and nothing stands
/// against it.
pub async fn upload(
    app: &Arc<App>,
    wasm: Vec<u8>,
    origin: impl Into<Origin>,
    activate: bool,
    accept: &Accept,
) -> Result<Deployed, DeployError> {
    let tried = try_out(app, wasm).await?;
    admit(app, tried, origin.into(), activate, accept).await
}

/// The second half of an upload, which is done to its end.
pub async fn admit(
    app: &Arc<App>,
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
    let _alone = app.pipeline.deploying.lock().await;
    let serves = serving(app, &prepared.loaded.description.name).await?;
    let name = origin.name.clone();
    let publisher = publisher_of(app, &prepared.loaded, origin).await?;
    if activate {
        let concerns = trial.within(concerns::find(app, &prepared, &publisher, Some(&name)));
        agreed(&prepared.loaded, concerns.await??, accept)?;
    }
    let record = keep(app, &prepared, wasm, name, publisher).await?;
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
    // Its turn first: whoever waits for one keeps nobody from deploying.
    let mut trial = app.plugins.trial().await?;
    let _alone = app.pipeline.deploying.lock().await;
    let serves = serving(app, name).await?;
    let prepared = Prepared {
        loaded: Arc::clone(&loaded),
        golden: record.golden,
        checks: record.checks.clone(),
    };
    let concerns = trial.within(concerns::find(app, &prepared, &record.publisher, None));
    agreed(&loaded, concerns.await??, accept)?;
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
    // Whatever it is asked for, it stays what those who use the name call.
    let old = app.store.plugin(&serves.digest).await?;
    if let Some(kind) = old.and_then(|old| old.kind())
        && let Some(concern) = concerns::of_kind(app, name, kind, loaded.kind).await?
    {
        return Err(DeployError::Refused {
            name: name.to_owned(),
            version: loaded.description.version.clone(),
            concerns: vec![concern],
        });
    }
    swap(app, &loaded, Some(&serves.digest)).await
}

/// Who a component comes from: whoever signed it; else whoever brought these bytes
/// first. So a file of the inbox stays the inbox's when an operator, asked about it,
/// makes it serve.
async fn publisher_of(app: &App, loaded: &Loaded, origin: Origin) -> Result<Publisher, StoreError> {
    if let Some(key) = loaded.signer {
        return Ok(Publisher::Signer(key));
    }
    if let Some(record) = app.store.plugin(&loaded.digest).await? {
        return Ok(record.publisher);
    }
    // Only files of the inbox are noted as refused.
    let refusals = app.store.refusals().await?;
    let is_refused = refusals
        .iter()
        .any(|refusal| refusal.digest.as_ref() == Some(&loaded.digest));
    Ok(if is_refused {
        Publisher::Inbox
    } else {
        origin.publisher
    })
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
