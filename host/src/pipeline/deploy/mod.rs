//! Deploys a plugin version: it is compiled in the background, checked, tried, verified on stored
//! deliveries, stored, and then activated as a whole. A version that fails a step changes nothing,
//! and the error gives the reason.
//!
//! Only the store records which version is active, so files in the inbox do not undo an
//! activation or a rollback after a restart. The inbox is for bytes that were never seen
//! before: modification times, removals and restarts have no effect.

mod concerns;
mod inbox;
mod remove;
pub mod rolled_back;
pub mod rollout;
mod trust;
mod two_person;
pub mod verify;

use std::sync::Arc;

use tokio::sync::MutexGuard;

pub use concerns::{AcceptedWords, Concern};
pub use inbox::{take_in, watch_inbox};
pub use remove::remove;
pub use rollout::RolloutError;
pub use trust::is_trusted;
pub use verify::Verified;

use super::fleet::{self, Behind, FleetError};
use super::redrive;
use super::versions::{VersionError, activation, loaded, serving};
use crate::domain::accept::AcceptWord;
use crate::domain::acceptance::FirstAcceptance;
use crate::domain::id::KeyId;
use crate::domain::plugin::{Description, Digest, PluginKind};
use crate::domain::publisher::{PublicKey, Publisher};
use crate::domain::rollout::{Rollout, RolloutStage};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::plugin::{LoadError, Loaded, PreparedVersion};
use crate::store::{Activation, PluginRecord, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No trusted key has signed it. `signer`: the key that has.
    #[error("{}", trust::describe(digest, *signer))]
    Untrusted {
        digest: Digest,
        signer: Option<PublicKey>,
    },
    #[error(
        "{}: {}",
        refused(name, version, command),
        concerns::describe(.concerns)
    )]
    Refused {
        name: String,
        version: String,
        /// The command that was refused.
        command: &'static str,
        concerns: Vec<Concern>,
        /// The comparison with the active version, if there was one.
        verified: Option<Box<Verified>>,
    },
    /// The first of two keys has accepted it, and its acceptance waits for the second.
    #[error(
        "{name} {version} is not active yet: a second admin key has to accept this: {}. Run `leadhost {command} {name}@{}{}`{} with another key that has a different label, within {} h",
        concerns::list(.concerns),
        digest.short(),
        concerns::options(.concerns),
        same_plan(command),
        limits::ACCEPTANCE_KEPT.as_secs() / 3_600
    )]
    SecondKey {
        name: String,
        version: String,
        digest: Digest,
        /// The command that the second key runs.
        command: &'static str,
        /// All that was accepted, with those concerns that one key may accept.
        concerns: Vec<Concern>,
    },
    /// Two keys have to accept it, and the request came without one.
    #[error(
        "{name} {version} is not active: two admin keys have to accept this: {}. Run `leadhost {command} {name}@{}{}`{} with one key, and then with another key that has a different label",
        concerns::list(.concerns),
        digest.short(),
        concerns::options(.concerns),
        same_plan(command)
    )]
    NoKey {
        name: String,
        version: String,
        digest: Digest,
        /// The command that both keys run.
        command: &'static str,
        /// All that was accepted.
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
    /// A version that is to be removed is still needed.
    #[error("{name}@{} is not removed: {}", digest.short(), by.join("; "))]
    Named {
        name: String,
        digest: Digest,
        by: Vec<String>,
    },
    #[error("no version of `{0}` was active before the current one")]
    NothingBefore(String),
    #[error(
        "no version of `{0}` was active before this one, so name the one to compare it with: `leadhost plugin list` shows the stored ones, and `--against DIGEST` takes one"
    )]
    NothingToCompare(String),
    #[error("there is no plugin `{0}`; run `leadhost plugin list` to see the stored ones")]
    UnknownPlugin(String),
    /// A rollback by a key that may not let a version do more.
    #[error(
        "{name} is not rolled back, because the previous version may do more: {what}; this needs a key with the role admin"
    )]
    Widening { name: String, what: String },
    /// Another version cannot be activated meanwhile.
    #[error(
        "a canary of {name} {} is under way, which `{by}` started at {}: wait for its end, or end it with `leadhost plugin rollout abort {name}`",
        candidate.short(),
        at.to_the_second()
    )]
    CanaryOpen {
        name: String,
        candidate: Digest,
        /// The label of the key that started it.
        by: String,
        at: Micros,
    },
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
pub struct ComponentOrigin {
    /// `upload`, the address in a registry with its digest, or the file name.
    pub name: String,
    /// The publisher, unless the component is signed.
    pub publisher: Publisher,
}

impl ComponentOrigin {
    /// The origin of an upload with this admin key.
    pub fn upload(key: KeyId) -> Self {
        Self {
            name: "upload".to_owned(),
            publisher: Publisher::AdminKey(key),
        }
    }

    /// Returns the same publisher with the address in a registry from which the component was
    /// pulled, if it was.
    #[must_use]
    pub fn from_registry(self, address: Option<&str>) -> Self {
        Self {
            name: address.map_or(self.name, str::to_owned),
            ..self
        }
    }
}

impl From<&str> for ComponentOrigin {
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
    /// The version that was active before: the same one, if that was activated again.
    pub before: Option<Digest>,
    /// Live hosts that had not switched when the time for it was up.
    pub behind: Vec<Behind>,
    /// The comparison with the version that was active before. A rollback makes none.
    pub verified: Option<Box<Verified>>,
    /// The acceptance by the first of two keys, if two were needed.
    pub first_acceptance: Option<FirstAcceptance>,
    /// The concerns that were accepted.
    pub accepted: Vec<Concern>,
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
/// [`DeployError`] if no trusted key has signed the component, it cannot be loaded, its trial fails, or
/// the store fails.
pub async fn check(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: impl Into<ComponentOrigin>,
) -> Result<CheckReport, DeployError> {
    let wasm = trust::arrived(pipeline, wasm).await?;
    let mut trial = pipeline.core.plugins.trial().await?;
    let prepared = trial.prepare(wasm).await?;
    let origin = origin.into();
    let name = origin.name.clone();
    let publisher = publisher_of(pipeline, &prepared.loaded, origin).await?;
    let concerns = trial.within(concerns::find(pipeline, &prepared, &publisher, Some(&name)));
    let mut concerns = concerns.await??;
    drop(trial);
    let verified = verify::before_activation(pipeline, &prepared).await?;
    concerns.extend(verified.drift_concerns());
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
    prepared: PreparedVersion,
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
/// [`DeployError`] if no trusted key has signed the component, it cannot be loaded, its trial fails, or
/// the store fails.
pub async fn try_out(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    activate: bool,
) -> Result<Tried, DeployError> {
    let wasm = trust::arrived(pipeline, wasm).await?;
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
/// [`DeployError`] if no trusted key has signed the component, it cannot be loaded, its trial fails, a
/// concern is not accepted, or the store or the fleet fails.
pub async fn upload(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: impl Into<ComponentOrigin>,
    activate: bool,
    accept: &AcceptedWords,
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
    origin: ComponentOrigin,
    accept: &AcceptedWords,
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
    let agreed = match verified.zip(trial) {
        Some((verified, mut trial)) => {
            let objections = concerns::find(pipeline, &prepared, &publisher, Some(&name));
            let objections = trial.within(objections).await??;
            match agree(pipeline, verified, objections, accept, ACTIVATE).await {
                Ok(agreed) => Some(agreed),
                Err(error) => {
                    // The other key, or both of them, name the stored version.
                    if matches!(
                        error,
                        DeployError::SecondKey { .. } | DeployError::NoKey { .. }
                    ) {
                        keep(pipeline, &prepared, wasm, name, publisher).await?;
                    }
                    return Err(error);
                }
            }
        }
        None => None,
    };
    let record = keep(pipeline, &prepared, wasm, name, publisher).await?;
    let activation = match agreed {
        Some(agreed) => Some(switch(pipeline, agreed).await?),
        None => None,
    };
    Ok(Deployed { record, activation })
}

/// A stored version that may be activated, and its comparison with the active one.
pub struct TriedStored {
    prepared: PreparedVersion,
    publisher: Publisher,
    verified: Verified,
}

/// The first half of an activation of a stored version. It changes nothing and may be cancelled.
///
/// # Errors
///
/// [`DeployError`] if the version is not stored, has another name or cannot be loaded, no trusted key
/// has signed it, or the store fails.
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
    trust::stored(pipeline, &loaded)?;
    let prepared = PreparedVersion {
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
    accept: &AcceptedWords,
) -> Result<Activated, DeployError> {
    let (agreed, _alone) = reviewed(pipeline, tried, accept, ACTIVATE).await?;
    switch(pipeline, agreed).await
}

/// The command that activates a version, and the one that starts a canary with it.
const ACTIVATE: &str = "plugin activate";
const ROLL_OUT: &str = "plugin rollout start";

/// Returns what else the second of two keys has to repeat.
fn same_plan(command: &str) -> &'static str {
    if command == ROLL_OUT {
        ", with the options of the same plan (`--steps`, `--every`, `--probation`, `--comparisons`),"
    } else {
        ""
    }
}

/// Returns the words for a version with which a command does nothing.
fn refused(name: &str, version: &str, command: &str) -> String {
    if command == ROLL_OUT {
        format!("the rollout of {name} {version} is not started")
    } else {
        format!("{name} {version} is not activated")
    }
}

/// A version about which every concern is accepted.
struct Agreed {
    verified: Verified,
    /// The acceptance by the first of two keys, if two were needed.
    first_acceptance: Option<FirstAcceptance>,
    accepted: Vec<Concern>,
}

/// Returns a version if every concern about it is accepted, and the lock under which this holds.
/// `command`: the command that runs with it.
async fn reviewed<'a>(
    pipeline: &'a Arc<Pipeline>,
    tried: TriedStored,
    accept: &AcceptedWords,
    command: &'static str,
) -> Result<(Agreed, MutexGuard<'a, ()>), DeployError> {
    let TriedStored {
        prepared,
        publisher,
        verified,
    } = tried;
    let mut trial = pipeline.core.plugins.trial().await?;
    let alone = pipeline.deploying.lock().await;
    let objections = trial.within(concerns::find(pipeline, &prepared, &publisher, None));
    let objections = objections.await??;
    let agreed = agree(pipeline, verified, objections, accept, command).await?;
    Ok((agreed, alone))
}

/// Activates the version that was active before. The version was accepted before, so only two
/// concerns are raised: a change of kind, and, unless `may_widen`, permissions that the active
/// version lacks.
///
/// # Errors
///
/// [`DeployError`] if there is no such plugin or no version before, no trusted key has signed that
/// version, it cannot be loaded or has another kind while the name is in use, or the store or the fleet fails.
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
    trust::stored(pipeline, &loaded)?;
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
            command: ACTIVATE,
            concerns: vec![concern],
            verified: None,
        });
    }
    if !may_widen {
        let prepared = PreparedVersion {
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
/// `unchanged`: only while the rollout is as it was read. Returns the lock too: the caller records
/// the change of the rollout before the judge of this host finds it.
///
/// # Errors
///
/// [`DeployError`] if another version is active by now, the rollout was changed, the version
/// cannot be loaded, or the store or the fleet fails.
async fn replace<'a>(
    pipeline: &'a Arc<Pipeline>,
    digest: &Digest,
    instead_of: &Digest,
    unchanged: Option<&Rollout>,
) -> Result<(Activated, MutexGuard<'a, ()>), DeployError> {
    let (loaded, _) = stored_version(pipeline, digest).await?;
    let alone = pipeline.deploying.lock().await;
    let name = &loaded.description.name;
    if serving(pipeline, name).await?.as_ref() != Some(instead_of) {
        return Err(FleetError::Changed(name.clone()).into());
    }
    if let Some(rollout) = unchanged {
        let now = rollout_of(pipeline, name).await?;
        if now.is_none_or(|now| now.generation != rollout.generation) {
            return Err(RolloutError::Changed(name.clone()).into());
        }
    }
    let activated = swap(pipeline, &loaded, Some(instead_of)).await?;
    Ok((activated, alone))
}

/// Refuses to activate another version beside a canary that is open or about to begin.
async fn no_canary(pipeline: &Pipeline, name: &str) -> Result<(), DeployError> {
    let last = rollout_of(pipeline, name).await?;
    let is_canary =
        |one: &Rollout| matches!(one.stage, RolloutStage::Verified | RolloutStage::Canary);
    match last.filter(is_canary) {
        Some(rollout) => Err(DeployError::CanaryOpen {
            name: rollout.name,
            candidate: rollout.candidate,
            by: rollout.started_by,
            at: rollout.started_at,
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
    origin: ComponentOrigin,
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

/// Returns the last rollout of a name, as the store has it.
async fn rollout_of(pipeline: &Pipeline, name: &str) -> Result<Option<Rollout>, StoreError> {
    let rollouts = pipeline.core.store.rollouts().await?;
    Ok(rollouts.into_iter().find(|one| one.name == name))
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
                if !is_trusted(pipeline, &loaded) {
                    tracing::warn!(plugin = %activation.name, version = %loaded.description.version, digest = loaded.digest.short(), signer = loaded.signer.map(tracing::field::display), "active plugin version is not signed by a key of plugins.trusted_keys, and goes on serving: activate a signed one");
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

async fn keep(
    pipeline: &Pipeline,
    prepared: &PreparedVersion,
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
async fn switch(pipeline: &Arc<Pipeline>, agreed: Agreed) -> Result<Activated, DeployError> {
    let Agreed {
        verified,
        first_acceptance,
        accepted,
    } = agreed;
    let (candidate, instead_of) = (&verified.candidate, verified.active.as_ref());
    let activated = swap(pipeline, candidate, instead_of).await?;
    two_person::used(pipeline, first_acceptance.as_ref()).await;
    if instead_of != Some(&candidate.digest) {
        overtake_refusals(pipeline, candidate).await;
    }
    Ok(Activated {
        verified: Some(Box::new(verified)),
        first_acceptance,
        accepted,
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
        before: instead_of.cloned(),
        behind,
        verified: None,
        first_acceptance: None,
        accepted: Vec::new(),
    })
}

/// Returns the version if every concern is accepted, and those of the comparison too, by two keys
/// where that is the rule.
async fn agree(
    pipeline: &Pipeline,
    verified: Verified,
    mut concerns: Vec<Concern>,
    accept: &AcceptedWords,
    command: &'static str,
) -> Result<Agreed, DeployError> {
    let Description { name, version, .. } = &verified.candidate.description;
    no_canary(pipeline, name).await?;
    // On a shared store the swap checks this again, in the same transaction.
    if serving(pipeline, name).await? != verified.active {
        return Err(FleetError::Changed(name.clone()).into());
    }
    concerns.extend(verified.drift_concerns());
    let (accepted, refused): (Vec<_>, Vec<_>) = concerns
        .into_iter()
        .partition(|concern| accept.has(concern));
    if !refused.is_empty() {
        return Err(DeployError::Refused {
            name: name.clone(),
            version: version.clone(),
            command,
            concerns: refused,
            verified: Some(Box::new(verified)),
        });
    }
    let (candidate, by) = (&verified.candidate, accept.operator());
    let first = two_person::first_acceptance(pipeline, candidate, &accepted, by, command).await?;
    for Concern { accept, what } in &accepted {
        let accept = accept.map_or("", AcceptWord::as_str);
        tracing::warn!(plugin = %name, %version, digest = candidate.digest.short(), accept, what, "concern about a plugin version accepted");
    }
    Ok(Agreed {
        verified,
        first_acceptance: first,
        accepted,
    })
}
