//! An activation in a fleet: proposed, prepared by every live host, then
//! switched in one row, then followed by all of them. A proposal keeps others
//! from switching the same plugin meanwhile.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::domain::plugin::Digest;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::plugin::Loaded;
use crate::store::{Activation, Announcement, Proposal, SeenHost, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("another activation of `{0}` is under way: try again when it has ended")]
    UnderWay(String),
    /// What each host said.
    #[error("it is not activated, since not every host can serve it: {}", line(.0))]
    NotPrepared(Vec<Behind>),
    #[error("another version of `{0}` came to serve meanwhile: look at it and try again")]
    Changed(String),
    #[error("the activation of `{0}` took too long and was given up: try again")]
    Lapsed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A live host that does not serve, or cannot prepare, what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Behind {
    pub host: String,
    pub reason: String,
}

fn line(behind: &[Behind]) -> String {
    behind
        .iter()
        .map(|one| format!("{}: {}", one.host, one.reason))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Between two looks at what the hosts say, when no announcement comes.
const LOOK: Duration = Duration::from_millis(250);

/// Makes a version serve that is loaded here and stored, once every live host
/// has prepared it, in the place of the one that was looked at. The hosts follow
/// after that.
pub async fn flip(
    pipeline: &Pipeline,
    loaded: &Loaded,
    instead_of: Option<&Digest>,
) -> Result<Activation, FleetError> {
    let name = &loaded.description.name;
    let compile =
        u32::try_from(pipeline.core.config.plugins.compile_seconds).unwrap_or(u32::MAX / 2);
    // Hosts hear of it late when the announcement is lost, and compile then.
    let patience = compile.saturating_add(u32::try_from(limits::HOST_DEAD_SECONDS).unwrap_or(0));
    let proposal = pipeline
        .core
        .store
        .propose(pipeline.fleet.host(), name, &loaded.digest, patience * 2)
        .await?
        .ok_or_else(|| FleetError::UnderWay(name.clone()))?;
    // From here on nobody else switches it: what was agreed to was about this one.
    let serves = match active(pipeline, name).await {
        Ok(serves) => serves,
        Err(error) => {
            withdraw(pipeline, &proposal).await;
            return Err(error.into());
        }
    };
    if serves.as_ref() != instead_of {
        withdraw(pipeline, &proposal).await;
        return Err(FleetError::Changed(name.clone()));
    }
    let behind = prepared(
        pipeline,
        &proposal,
        Duration::from_secs(u64::from(patience)),
    )
    .await;
    match behind {
        Ok(behind) if behind.is_empty() => {}
        refused => {
            withdraw(pipeline, &proposal).await;
            return Err(refused.map_or_else(FleetError::from, FleetError::NotPrepared));
        }
    }
    pipeline
        .core
        .store
        .flip(&proposal, pipeline.core.clock.now())
        .await?
        .ok_or_else(|| FleetError::Lapsed(name.clone()))
}

async fn active(pipeline: &Pipeline, name: &str) -> Result<Option<Digest>, StoreError> {
    let activations = pipeline.core.store.activations().await?;
    let active = activations.into_iter().find(|one| one.name == name);
    Ok(active.map(|one| one.digest))
}

async fn withdraw(pipeline: &Pipeline, proposal: &Proposal) {
    match pipeline.core.store.withdraw(proposal).await {
        // So that the hosts forget what they prepared.
        Ok(()) => super::tell(pipeline, Announcement::Plugins).await,
        Err(error) => tracing::debug!(%error, "the proposal ends by itself"),
    }
}

/// The hosts that cannot serve it; one is enough.
async fn prepared(
    pipeline: &Pipeline,
    proposal: &Proposal,
    patience: Duration,
) -> Result<Vec<Behind>, StoreError> {
    let end = Instant::now() + patience;
    loop {
        let said = pipeline.fleet.said.notified();
        let mut missing = Vec::new();
        let mut failed = Vec::new();
        for host in others(pipeline).await? {
            match host.report.prepared.get(&proposal.number) {
                None => missing.push(behind(
                    &host,
                    format!("it has not prepared it within {} s", patience.as_secs()),
                )),
                Some(preparation) => {
                    failed.extend(preparation.failure.clone().map(|why| behind(&host, why)));
                }
            }
        }
        if !failed.is_empty() {
            return Ok(failed);
        }
        if missing.is_empty() || Instant::now() >= end {
            return Ok(missing);
        }
        tokio::select! {
            () = said => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Returns when every live host serves it; else, after a bounded time, with
/// those that do not.
pub async fn converged(pipeline: &Pipeline, activation: &Activation) -> Vec<Behind> {
    let end = Instant::now() + Duration::from_secs(limits::CONVERGE_SECONDS);
    loop {
        let said = pipeline.fleet.said.notified();
        let late = Instant::now() >= end;
        match others(pipeline).await {
            Ok(hosts) => {
                let behind: Vec<(Behind, bool)> = hosts
                    .iter()
                    .filter_map(|host| is_behind(host, activation))
                    .collect();
                // Who failed is not waited for.
                if late || !behind.iter().any(|(_, waiting)| *waiting) {
                    return behind.into_iter().map(|(behind, _)| behind).collect();
                }
            }
            Err(error) if late => {
                return vec![Behind {
                    host: "the other hosts".to_owned(),
                    reason: format!("they could not be asked: {error}"),
                }];
            }
            Err(_) => {}
        }
        tokio::select! {
            () = said => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Which hosts serve an activation, and which do not.
pub fn where_it_serves(hosts: &[SeenHost], activation: &Activation) -> (Vec<String>, Vec<Behind>) {
    let mut serving = Vec::new();
    let mut not = Vec::new();
    for host in hosts.iter().filter(|host| host.alive) {
        match is_behind(host, activation) {
            None => serving.push(host.name.clone()),
            Some((behind, _)) => not.push(behind),
        }
    }
    (serving, not)
}

/// None: it serves this activation or a later one. With whether that may still come.
fn is_behind(host: &SeenHost, activation: &Activation) -> Option<(Behind, bool)> {
    let serves = host.report.serves.get(&activation.name);
    let reached = serves.filter(|serves| serves.generation >= activation.generation);
    match reached {
        Some(serves) => {
            let reason = serves.error.clone()?;
            Some((behind(host, reason), false))
        }
        None => {
            let reason = match serves {
                Some(serves) => format!("it still serves generation {}", serves.generation),
                None => "it does not serve it yet".to_owned(),
            };
            Some((behind(host, reason), true))
        }
    }
}

fn behind(host: &SeenHost, reason: String) -> Behind {
    Behind {
        host: host.name.clone(),
        reason,
    }
}

async fn others(pipeline: &Pipeline) -> Result<Vec<SeenHost>, StoreError> {
    let mut hosts = pipeline.core.store.hosts().await?;
    hosts.retain(|host| host.alive && host.id != pipeline.fleet.host());
    Ok(hosts)
}
