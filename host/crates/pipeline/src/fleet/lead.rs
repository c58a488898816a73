//! An activation in a fleet: it is proposed, prepared by every live host, then switched in
//! one row, and then followed by all hosts. While a proposal is open, no other host can
//! switch the same plugin.

use tokio::time::Instant;

use crate::prelude::*;
use crate::versions::serving;
use leadhost_domain::audit::Act;
use leadhost_domain::host_names::{self, Behind};
use leadhost_store::{Announcement, Proposal, SeenHost};

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("another activation of `{0}` is under way: try again when it has ended")]
    UnderWay(String),
    /// The reason of each host.
    #[error("it is not activated, because not every host can serve it: {}", line(.0))]
    NotPrepared(Vec<Behind>),
    #[error(
        "another version of `{0}` was activated while this was decided, and is active now: see `leadhost plugin list`, and try again if you still want the change"
    )]
    Changed(String),
    #[error("the activation of `{0}` timed out: try again")]
    Lapsed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn line(behind: &[Behind]) -> String {
    behind
        .iter()
        .map(|one| format!("{}: {}", one.host, one.reason))
        .collect::<Vec<_>>()
        .join("; ")
}

const LOOK: Duration = Duration::from_millis(250);

/// Activates a version that is loaded here and stored, once every live host has prepared
/// it, in place of the version that was reviewed. The hosts follow after that.
pub async fn flip(
    pipeline: &Pipeline,
    loaded: &Loaded,
    instead_of: Option<&Digest>,
) -> Result<Activation, FleetError> {
    let proposal = agreed(pipeline, loaded, instead_of).await?;
    pipeline
        .store
        .flip(&proposal, pipeline.clock.now())
        .await?
        .ok_or_else(|| FleetError::Lapsed(proposal.name))
}

/// Activates a version like [`flip`], changes the rollout of its plugin, and adds the act to the audit, all or
/// nothing. Returns `None` if the rollout was changed since its generation was read.
pub async fn flip_in_rollout(
    pipeline: &Pipeline,
    loaded: &Loaded,
    instead_of: Option<&Digest>,
    (changed, act): (&Rollout, &Act),
) -> Result<Option<(Activation, Rollout)>, FleetError> {
    let proposal = agreed(pipeline, loaded, instead_of).await?;
    let (store, now) = (&pipeline.store, pipeline.clock.now());
    let flipped = store
        .flip_in_rollout(&proposal, (changed, act), now)
        .await?;
    if flipped.is_some() {
        return Ok(flipped);
    }
    let rollouts = store.rollouts().await?;
    let is_as_read = rollouts
        .iter()
        .any(|one| one.name == changed.name && one.generation == changed.generation);
    if is_as_read {
        return Err(FleetError::Lapsed(proposal.name));
    }
    withdraw(pipeline, &proposal).await;
    Ok(None)
}

/// Proposes a version, and has every live host prepare it.
async fn agreed(
    pipeline: &Pipeline,
    loaded: &Loaded,
    instead_of: Option<&Digest>,
) -> Result<Proposal, FleetError> {
    let name = &loaded.description.name;
    let compile = pipeline.config.plugins.compile_time();
    // If the announcement is lost, hosts see the proposal late, and compile only then.
    let patience = compile + limits::HOST_DEAD;
    let proposal = pipeline
        .store
        .propose(pipeline.fleet.host(), name, &loaded.digest, patience * 2)
        .await?
        .ok_or_else(|| FleetError::UnderWay(name.clone()))?;
    // From here on no other host switches it: the concerns were accepted for this version.
    let serves = match serving(pipeline, name).await {
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
    let behind = prepared(pipeline, &proposal, patience).await;
    match behind {
        Ok(behind) if behind.is_empty() => Ok(proposal),
        refused => {
            withdraw(pipeline, &proposal).await;
            Err(refused.map_or_else(FleetError::from, FleetError::NotPrepared))
        }
    }
}

async fn withdraw(pipeline: &Pipeline, proposal: &Proposal) {
    match pipeline.store.withdraw(proposal).await {
        // So that the hosts drop the versions that they prepared.
        Ok(()) => super::announce(pipeline, Announcement::Plugins).await,
        Err(error) => tracing::debug!(%error, "proposal not withdrawn, it will expire"),
    }
}

/// Returns the hosts that cannot run it; one is enough.
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
                    format!(
                        "it did not prepare the version within {} s",
                        patience.as_secs()
                    ),
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

/// Returns when every live host runs it, or after a bounded time with the hosts that do
/// not.
pub async fn converged(pipeline: &Pipeline, activation: &Activation) -> Vec<Behind> {
    let end = Instant::now() + limits::CONVERGE_PATIENCE;
    loop {
        let said = pipeline.fleet.said.notified();
        let late = Instant::now() >= end;
        match others(pipeline).await {
            Ok(hosts) => {
                let behind: Vec<(Behind, bool)> = hosts
                    .iter()
                    .filter_map(|host| is_behind(host, activation))
                    .collect();
                // Hosts that failed are not waited for.
                if late || !behind.iter().any(|(_, waiting)| *waiting) {
                    return behind.into_iter().map(|(behind, _)| behind).collect();
                }
            }
            Err(error) if late => {
                return vec![Behind {
                    host: "the other hosts".to_owned(),
                    reason: format!("they could not be queried: {error}"),
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

pub fn hosts_that_serve(hosts: &[SeenHost], activation: &Activation) -> (Vec<String>, Vec<Behind>) {
    let mut serving = Vec::new();
    let mut not = Vec::new();
    for host in named_apart(hosts.iter().filter(|host| host.alive).cloned()) {
        match is_behind(&host, activation) {
            None => serving.push(host.name),
            Some((behind, _)) => not.push(behind),
        }
    }
    (serving, not)
}

/// Returns why a host is behind, and whether it may still catch up. `None` if it runs this
/// activation or a later one.
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
                None => "it does not serve the plugin yet".to_owned(),
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
    let mut hosts = pipeline.store.hosts().await?;
    hosts.retain(|host| host.alive);
    let mut hosts = named_apart(hosts.into_iter());
    hosts.retain(|host| host.id != pipeline.fleet.host());
    Ok(hosts)
}

fn named_apart(hosts: impl Iterator<Item = SeenHost>) -> Vec<SeenHost> {
    let mut hosts: Vec<SeenHost> = hosts.collect();
    let names = host_names::distinct(hosts.iter().map(|host| (host.id, host.name.as_str())));
    for (host, name) in hosts.iter_mut().zip(names) {
        host.name = name;
    }
    hosts
}
