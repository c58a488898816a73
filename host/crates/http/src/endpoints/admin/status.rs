use std::cmp::Reverse;

use super::etl;
use super::plugins::rollout;
use crate::endpoints::admin::prelude::*;
use crate::refused_requests::RefusedRequests;
use crate::tls;
use leadhost_admin_api::etl::MetricSetFreshness;
use leadhost_admin_api::hosts::HostView;
use leadhost_admin_api::status::{
    ActivePlugin, DiskView, PluginCalls, RefusedDeliveriesView, RefusedRequestsView, ServiceStatus,
    ThisHost,
};
use leadhost_config::disk;
use leadhost_domain::zone;
use leadhost_pipeline::{deploy, fleet};
use leadhost_store::SeenHost;

describe!(show, |operation| {
    operation
        .id("showStatus")
        .summary("Shows the state of the service and its backlog")
        .describe(
            "The backlog is of the whole store, calls of plugins and connections of this host.",
        )
        .answers::<ServiceStatus>(200, "The state of the service.")
});
pub async fn show(call: &Call<'_>) -> ApiResult {
    let http = call.http;
    let backlog = http.core.store.backlog().await?;
    let hosts = http.core.store.hosts().await?;
    let mut rollouts = rollout::open(call).await?;
    let plugins = http
        .core
        .store
        .activations()
        .await?
        .into_iter()
        .map(|activation| {
            let loaded = http.core.plugins.active(&activation.name);
            let (serving, behind) = fleet::hosts_that_serve(&hosts, &activation);
            let untrusted = loaded
                .as_ref()
                .is_some_and(|loaded| !deploy::is_trusted(&http.pipeline, loaded));
            ActivePlugin {
                trusted: !untrusted,
                rollout: rollouts.remove(&activation.name),
                name: activation.name,
                version: loaded.map(|loaded| loaded.description.version.clone()),
                digest: activation.digest,
                generation: activation.generation,
                activated_at: activation.activated_at,
                hosts: http.core.store.is_shared().then_some(serving.len()),
                behind,
            }
        })
        .collect();
    let (waiting, running) = http.core.plugins.load();
    let now = http.core.clock.now();
    let own = http.pipeline.fleet.host();
    let mut hosts: Vec<HostView> = hosts.into_iter().map(host_view).collect();
    // A host alone on its store sends no heartbeats, and one that has just started has sent none yet.
    if hosts.iter().all(|host| host.id != own) {
        hosts.push(HostView {
            id: own,
            name: http.pipeline.fleet.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: http.core.plugins.calls_counted_since(),
            seen_at: now,
            alive: true,
            clock_ahead_minutes: 0,
        });
    }
    let mut refused = Vec::new();
    for (reason, requests) in http.refused_requests.recent(now) {
        refused.push(refused_view(&http.core.store, reason, requests).await?);
    }
    reply::ok(&ServiceStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        engine: http.core.plugins.short_fingerprint().to_owned(),
        now,
        store_id: http.core.store.id(),
        draining: http.core.shutdown.has_begun(),
        sealing_key: http.core.sealer.key_id(),
        backlog,
        analytics: analytics(http).await,
        tzdata: zone::tzdata().to_owned(),
        plugins,
        host: ThisHost {
            id: own,
            name: http.pipeline.fleet.name().to_owned(),
        },
        hosts,
        log: http.core.store.log(),
        lost_log_lines: leadhost_telemetry::lost_log_lines(),
        certificate_ends_at: certificate_ends_at(http),
        troubles: http.pipeline.troubles.recent(now),
        connections: http.core.store.pool(),
        plugin_calls: PluginCalls { waiting, running },
        disk: Some(disk_view(http)),
        refused,
    })
}

async fn refused_view(
    store: &Store,
    reason: Shed,
    refused: RefusedRequests,
) -> Result<RefusedRequestsView, StoreError> {
    let RefusedRequests {
        requests,
        deliveries: counts,
        mut more_deliveries,
        first_at,
        last_at,
        ..
    } = refused;
    let mut deliveries = Vec::new();
    if !counts.is_empty() {
        let workspaces = store.workspaces().await?;
        let connections = store.connections(None).await?;
        for (id, count) in counts {
            let connection = connections.iter().find(|one| one.id == id);
            let named = connection.and_then(|connection| {
                let mut workspaces = workspaces.iter();
                let workspace = workspaces.find(|one| one.id == connection.workspace)?;
                Some((workspace.slug.clone(), connection.name.clone()))
            });
            match named {
                Some((workspace, name)) => deliveries.push(RefusedDeliveriesView {
                    connection_id: id,
                    workspace,
                    name,
                    deliveries: count,
                }),
                None => more_deliveries += count,
            }
        }
    }
    deliveries.sort_by_key(|one| Reverse(one.deliveries));
    Ok(RefusedRequestsView {
        reason,
        requests,
        first_at,
        last_at,
        deliveries,
        more_deliveries,
    })
}

/// Returns when the certificate of the configured file ends, which new connections get.
pub fn certificate_ends_at(http: &Http) -> Option<Micros> {
    let server = &http.core.config.server;
    let (_, ends) = server.has_tls().then(|| tls::validity(server))??;
    Some(ends)
}

fn disk_view(http: &Http) -> DiskView {
    let folder = &http.core.config.store.data_dir;
    DiskView {
        folder: folder.display().to_string(),
        free_bytes: disk::free_bytes(folder),
        reserve_bytes: limits::DISK_RESERVE_BYTES,
    }
}

/// Returns the freshness of each metric set. If it cannot be read, the rest of the status is
/// still shown.
async fn analytics(http: &Http) -> Vec<MetricSetFreshness> {
    let rollups = match http.core.store.rollup_status().await {
        Ok(rollups) => rollups,
        Err(error) => {
            tracing::warn!(%error, "freshness of analytics not read");
            Vec::new()
        }
    };
    let rollups = rollups.iter();
    rollups.map(|status| etl::freshness(http, status)).collect()
}

pub fn host_view(host: SeenHost) -> HostView {
    view! { HostView of SeenHost [report] from host: id, name, version, started_at, seen_at, alive;
        clock_ahead_minutes: report.clock_ahead_minutes
    }
}
