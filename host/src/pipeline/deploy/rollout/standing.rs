//! How a rollout stands: what all hosts have seen of it, and which of them act on it.

use std::collections::HashSet;

use crate::domain::id::HostId;
use crate::domain::rollout::Rollout;
use crate::pipeline::fleet::Behind;
use crate::pipeline::rollout::Observations;
use crate::pipeline::state::Pipeline;
use crate::store::StoreError;

/// A rollout, with the sum of what the hosts have seen.
#[derive(Debug)]
pub struct Standing {
    pub rollout: Rollout,
    pub seen: Observations,
    /// Live hosts that act on its current generation.
    pub hosts: Vec<String>,
    /// Live hosts that do not, with the reason.
    pub behind: Vec<Behind>,
}

/// Returns how the last rollout of a plugin stands, or `None` if there was none.
///
/// # Errors
///
/// [`StoreError`] if the store fails.
pub async fn of(pipeline: &Pipeline, plugin: &str) -> Result<Option<Standing>, StoreError> {
    let rollouts = pipeline.core.store.rollouts().await?;
    match rollouts.into_iter().find(|one| one.name == plugin) {
        Some(rollout) => Ok(Some(sum(pipeline, rollout).await?)),
        None => Ok(None),
    }
}

/// Adds up what the hosts have reported about a rollout.
///
/// # Errors
///
/// [`StoreError`] if the store fails.
pub async fn sum(pipeline: &Pipeline, rollout: Rollout) -> Result<Standing, StoreError> {
    let store = &pipeline.core.store;
    let reports = store.rollout_reports(&rollout.name, rollout.number).await?;
    let mut live: Vec<(HostId, String)> = if store.is_shared() {
        let hosts = store.hosts().await?;
        let live = hosts.into_iter().filter(|host| host.alive);
        live.map(|host| (host.id, host.name)).collect()
    } else {
        Vec::new()
    };
    let own = pipeline.fleet.host();
    // Before its first heartbeat a host is not among them.
    if !live.iter().any(|(id, _)| *id == own) {
        live.push((own, pipeline.fleet.name().to_owned()));
    }
    let is_open = rollout.stage.is_open();
    let mut standing = Standing {
        rollout,
        seen: Observations::default(),
        hosts: Vec::new(),
        behind: Vec::new(),
    };
    let mut known = HashSet::new();
    for report in reports {
        if live.iter().any(|(id, _)| *id == report.host) {
            known.insert(report.host);
            let reason = match &report.error {
                // It does not act on it, and the rollout has ended.
                Some(_) if !is_open => None,
                Some(error) => Some(error.clone()),
                None if report.generation < standing.rollout.generation => {
                    Some(format!("it still acts on generation {}", report.generation))
                }
                None => None,
            };
            match reason {
                None => standing.hosts.push(report.host_name),
                Some(reason) => standing.behind.push(Behind {
                    host: report.host_name,
                    reason,
                }),
            }
        }
        // Hosts that have stopped saw it too.
        let seen = serde_json::from_value(report.seen);
        standing
            .seen
            .merge(seen.map_err(|error| StoreError::Inconsistent {
                what: format!("a report on a rollout cannot be read: {error}"),
            })?);
    }
    live.retain(|(id, _)| is_open && !known.contains(id));
    standing
        .behind
        .extend(live.into_iter().map(|(_, host)| Behind {
            host,
            reason: "it has not prepared the versions yet".to_owned(),
        }));
    Ok(standing)
}
