//! Renews the lists of templates periodically, and at once those that were never requested,
//! on one host at a time.

use super::sync;
use crate::connections::ConnectionError;
use crate::fleet::FleetJob;
use crate::prelude::*;
use leadhost_store::TemplateList;

/// Between two checks for lists that are due.
const PERIOD: Duration = Duration::from_secs(5);

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut job = FleetJob::new("templates");
    let mut due = HashMap::new();
    while !shutdown.has_begun() {
        match look(&pipeline, &mut job, &mut due, &shutdown).await {
            Ok(()) => {}
            Err(error) if error.is_logged() => {}
            Err(error) => tracing::warn!(%error, "template lists not renewed"),
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = shutdown.begun() => {}
        }
    }
    job.leave(&pipeline).await;
}

/// When each list must be renewed, as far as this host knows.
type DueTimes = HashMap<ConnectionId, Micros>;

async fn look(
    pipeline: &Arc<Pipeline>,
    job: &mut FleetJob,
    due: &mut DueTimes,
    shutdown: &Shutdown,
) -> Result<(), StoreError> {
    if pipeline.store.outage().is_some() || !pipeline.fleet.is_current() {
        return Ok(());
    }
    let channels: Vec<_> = pipeline
        .store
        .connections(None)
        .await?
        .into_iter()
        .filter(|connection| connection.kind == ConnectionKind::Channel)
        .filter(|connection| connection.paused.is_none())
        .collect();
    due.retain(|id, _| channels.iter().any(|channel| channel.id == *id));
    // Idempotent: storing a list twice has no effect, so the fencing token is not checked.
    if channels.is_empty() || job.hold(pipeline).await?.is_none() {
        return Ok(());
    }
    for channel in channels {
        let now = pipeline.clock.now();
        if shutdown.has_begun() {
            break;
        }
        if due.get(&channel.id).is_some_and(|at| now < *at) {
            continue;
        }
        // It may have been renewed meanwhile.
        let kept = pipeline.store.templates(&channel).await?;
        let next = kept.map_or(now, |list| after(pipeline, &list));
        if now < next {
            due.insert(channel.id, next);
            continue;
        }
        match pipeline.connections.get(&channel.id).await {
            Ok(Some(live)) => {
                let list = sync(pipeline, &live).await?;
                due.insert(channel.id, after(pipeline, &list));
                // A slow provider takes long: renew the lease of the job.
                if job.hold(pipeline).await?.is_none() {
                    break;
                }
            }
            Ok(None) => {}
            Err(ConnectionError::Store(error)) => return Err(error),
            Err(error) => {
                tracing::warn!(instance = %channel.name, %error, "template list not requested");
                due.insert(channel.id, now.plus(limits::TEMPLATES_AGAIN_AFTER));
            }
        }
    }
    Ok(())
}

/// Returns when a list must be renewed; soon if the last attempt failed.
fn after(pipeline: &Pipeline, list: &TemplateList) -> Micros {
    let period = pipeline.config.messages.templates_period();
    let wait = match list.error {
        Some(_) => limits::TEMPLATES_AGAIN_AFTER.min(period),
        None => period,
    };
    list.synced_at.map_or(Micros(0), |at| at.plus(wait))
}
