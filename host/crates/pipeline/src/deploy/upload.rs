//! The upload of a component: its trial, and its storage with or without its activation.

use super::activate::switch;
use super::concern::AcceptedWords;
use super::error::{DeployCommand, DeployError};
use super::outcome::{CheckReport, ComponentOrigin, Deployed, Verified};
use super::review::agree;
use super::stored::publisher_of;
use super::{concerns, trust, verify};
use crate::prelude::*;
use leadhost_domain::publisher::Publisher;

pub async fn check(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: impl Into<ComponentOrigin>,
) -> Result<CheckReport, DeployError> {
    let wasm = trust::arrived(pipeline, wasm).await?;
    let mut trial = pipeline.plugins.trial().await?;
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

pub struct Tried {
    pub prepared: PreparedVersion,
    pub verified: Option<Verified>,
}

impl Tried {
    pub fn version(&self) -> &Loaded {
        &self.prepared.loaded
    }
}

/// The first half of an upload. It changes nothing and may be cancelled. `activate`: whether the
/// component is to be activated.
pub async fn try_out(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    activate: bool,
) -> Result<Tried, DeployError> {
    let wasm = trust::arrived(pipeline, wasm).await?;
    let prepared = pipeline.plugins.prepare(wasm).await?;
    let verified = if activate {
        Some(verify::before_activation(pipeline, &prepared).await?)
    } else {
        None
    };
    Ok(Tried { prepared, verified })
}

pub async fn upload(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: impl Into<ComponentOrigin>,
    activate: bool,
    accept: &AcceptedWords,
) -> Result<Deployed, DeployError> {
    let tried = Box::pin(try_out(pipeline, wasm.clone(), activate)).await?;
    admit(pipeline, tried, wasm, origin.into(), accept).await
}

/// The second half of an upload, which must run to its end.
#[leadhost_boxed::boxed]
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
        Some(_) => Some(pipeline.plugins.trial().await?),
        None => None,
    };
    let _alone = pipeline.deploying.lock().await;
    let name = origin.name.clone();
    let publisher = publisher_of(pipeline, &prepared.loaded, origin).await?;
    let agreed = match verified.zip(trial) {
        Some((verified, mut trial)) => {
            let objections = concerns::find(pipeline, &prepared, &publisher, Some(&name));
            let objections = trial.within(objections).await??;
            let command = DeployCommand::Activate;
            Some(agree(pipeline, verified, objections, accept, command).await?)
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
        stored_at: pipeline.clock.now(),
    };
    pipeline.store.put_plugin(&record, &wasm).await?;
    pipeline.plugins.install(loaded);
    Ok(record)
}
