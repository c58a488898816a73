//! Starts the background tasks.

use super::{
    deploy, fleet, redrive, repair, rollup, source_changes, sweep, templates, unanswered, worker,
};
use crate::prelude::*;

/// Starts the background tasks: the worker, the periodic jobs, the inbox, and work that the
/// last stop interrupted.
pub fn start(pipeline: &Arc<Pipeline>, shutdown: &Shutdown) -> Vec<tokio::task::JoinHandle<()>> {
    let mut tasks = vec![
        tokio::spawn(worker::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(sweep::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(templates::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(unanswered::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(repair::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(rollup::run(Arc::clone(pipeline), shutdown.clone())),
        tokio::spawn(source_changes::task::run(
            Arc::clone(pipeline),
            shutdown.clone(),
        )),
        pipeline.spawn(redrive::resume(Arc::clone(pipeline))),
    ];
    tasks.extend(deploy::rollout::start(pipeline, shutdown));
    tasks.extend(fleet::start(pipeline, shutdown));
    if !pipeline.config.plugins.inbox.is_empty() {
        tasks.push(tokio::spawn(deploy::watch_inbox(
            Arc::clone(pipeline),
            shutdown.clone(),
        )));
    }
    tasks
}
