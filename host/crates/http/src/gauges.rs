//! The metrics that are read at each request for them, and not counted as events happen.

use tokio::time::timeout;

use crate::endpoints::admin::status::certificate_ends_at;
use crate::prelude::*;
use leadhost_config::disk;
use leadhost_pipeline::fleet;

/// Sets them to their values of now. If the store does not answer in time, its metrics keep their last
/// values.
pub async fn refresh(http: &Http) {
    http.core
        .metrics
        .store
        .state(http.core.store.outage().is_none(), http.core.store.pool());
    http.core
        .metrics
        .fleet
        .serves(&http.pipeline.fleet.serves());
    http.core
        .metrics
        .egress
        .connections(http.core.egress.connections());
    http.core.metrics.log.refresh();
    http.core.metrics.traces.counts(http.core.tracer().counts());
    http.core
        .metrics
        .plugins
        .circuits(http.core.plugins.open_breakers().len());
    http.core.metrics.plugins.warm(http.core.plugins.warm());
    if let Some(free) = disk::free_bytes(&http.core.config.store.data_dir) {
        http.core.metrics.store.disk(free);
    }
    if let Some(log) = http.core.store.log() {
        http.core.metrics.store.log(log);
    }
    if let Some(ends) = certificate_ends_at(http) {
        http.core.metrics.http.certificate(ends);
    }
    let troubles = http.pipeline.troubles.recent(http.core.clock.now());
    http.core.metrics.intake.troubles(&troubles);
    // Without the store, the other metrics still help to find the cause.
    let patience = limits::READY_PATIENCE;
    match timeout(patience, record_store_metrics(http)).await {
        Ok(Err(error)) if !error.is_logged() => {
            tracing::warn!(%error, "metrics of the store not read");
        }
        Ok(_) => {}
        Err(_) => tracing::warn!("metrics of the store not read in time"),
    }
}

async fn record_store_metrics(http: &Http) -> Result<(), StoreError> {
    let backlog = http.core.store.backlog().await?;
    http.core
        .metrics
        .intake
        .backlog(&backlog, http.core.clock.now());
    if http.core.store.is_shared() {
        let (hosts, activations) = (
            http.core.store.hosts().await?,
            http.core.store.activations().await?,
        );
        let behind = activations
            .iter()
            .map(|activation| fleet::hosts_that_serve(&hosts, activation).1.len())
            .sum();
        let alive = hosts.iter().filter(|host| host.alive).count();
        http.core.metrics.fleet.hosts(alive, behind);
    }
    let audit = http.core.store.audit_extent().await?;
    http.core.metrics.store.audit(&audit);
    let rollups = http.core.store.rollup_status().await?;
    http.core
        .metrics
        .analytics
        .rollups(&rollups, http.core.clock.now());
    Ok(())
}
