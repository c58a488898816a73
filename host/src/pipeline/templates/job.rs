//! Renews the lists of templates from time to time, those of instances that were
//! never asked for at once. One host does it at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::sync;
use crate::domain::connection::ConnectionKind;
use crate::domain::id::ConnectionId;
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::connections::ConnectionError;
use crate::pipeline::fleet::Job;
use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;
use crate::store::{StoreError, TemplateList};

/// Between two looks at which list is due.
const PERIOD: Duration = Duration::from_secs(5);

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut job = Job::new("templates");
    let mut due = HashMap::new();
    while !shutdown.has_begun() {
        match look(&pipeline, &mut job, &mut due, &shutdown).await {
            Ok(()) => {}
            Err(error) if error.is_told() => {}
            Err(error) => tracing::warn!(%error, "the lists of templates cannot be renewed"),
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = shutdown.begun() => {}
        }
    }
    job.leave(&pipeline).await;
}

/// When each list is to be asked for again, as far as this host has seen it.
type Due = HashMap<ConnectionId, Micros>;

async fn look(
    pipeline: &Arc<Pipeline>,
    job: &mut Job,
    due: &mut Due,
    shutdown: &Shutdown,
) -> Result<(), StoreError> {
    if pipeline.core.store.outage().is_some() || !pipeline.fleet.is_current() {
        return Ok(());
    }
    let channels: Vec<_> = pipeline
        .core
        .store
        .connections(None)
        .await?
        .into_iter()
        .filter(|connection| connection.kind == ConnectionKind::Channel)
        .filter(|connection| connection.paused.is_none())
        .collect();
    due.retain(|id, _| channels.iter().any(|channel| channel.id == *id));
    // What is kept twice is kept once: the fence guards nothing here.
    if channels.is_empty() || job.hold(pipeline).await?.is_none() {
        return Ok(());
    }
    for channel in channels {
        let now = pipeline.core.clock.now();
        if shutdown.has_begun() {
            break;
        }
        if due.get(&channel.id).is_some_and(|at| now < *at) {
            continue;
        }
        // Somebody may have asked meanwhile.
        let kept = pipeline.core.store.templates(&channel).await?;
        let next = kept.map_or(now, |list| after(pipeline, &list));
        if now < next {
            due.insert(channel.id, next);
            continue;
        }
        match pipeline.connections.get(&channel.id).await {
            Ok(Some(live)) => {
                let list = sync(pipeline, &live).await?;
                due.insert(channel.id, after(pipeline, &list));
                // A provider that hangs takes long: the job stays this host's.
                if job.hold(pipeline).await?.is_none() {
                    break;
                }
            }
            Ok(None) => {}
            Err(ConnectionError::Store(error)) => return Err(error),
            Err(error) => {
                tracing::warn!(instance = %channel.name, %error, "its templates cannot be asked for");
                due.insert(
                    channel.id,
                    now.plus_seconds(limits::TEMPLATES_AGAIN_SECONDS),
                );
            }
        }
    }
    Ok(())
}

/// When a list is to be asked for again: one that could not be renewed, soon.
fn after(pipeline: &Pipeline, list: &TemplateList) -> Micros {
    let period = pipeline
        .core
        .config
        .messages
        .templates_minutes
        .saturating_mul(60);
    let seconds = match list.error {
        Some(_) => limits::TEMPLATES_AGAIN_SECONDS.min(period),
        None => period,
    };
    list.synced_at
        .map_or(Micros(0), |at| at.plus_seconds(seconds))
}
