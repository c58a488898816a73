//! `GET /admin/v1/plugins`: every stored version, which of them serve on this host and on the
//! others, and recent refusals.

use crate::endpoints::admin::status::host_view;
use std::collections::{BTreeMap, HashMap};

use hyper::StatusCode;

use super::connection_names::connection_names;
use super::rollout;
use crate::call::Call;
use crate::error::ApiError;
use crate::openapi::operation::describe;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::plugins::{
    CircuitView, PluginList, PluginVersion, PluginView, RefusalView, VersionState,
};
use leadhost_pipeline::deploy::rolled_back;
use leadhost_pipeline::fleet;
use leadhost_plugin::OpenCircuit;
use leadhost_store::{Activation, PluginRecord, PluginRefusal};

describe!(list, |operation| operation
    .summary("Lists the stored versions of all plugins")
    .describe("It also shows which hosts serve them, and which files were refused.")
    .answers::<PluginList>(200, "All plugins, by name."));
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let store = &call.http.core.store;
    let hosts = store.hosts().await?;
    let activations = store.activations().await?;
    let mut by_name: BTreeMap<String, Vec<PluginRecord>> = BTreeMap::new();
    for record in store.plugins().await? {
        let name = record.description.name.clone();
        by_name.entry(name).or_default().push(record);
    }
    let mut rollouts = rollout::open(call).await?;
    let mut ways_back = rolled_back::ways_back(&call.http.pipeline, &activations).await?;
    let open = call.http.core.plugins.open_breakers();
    let names = if open.is_empty() {
        HashMap::new()
    } else {
        connection_names(store.as_ref()).await?
    };
    let plugins = by_name
        .into_iter()
        .map(|(name, records)| {
            let activation = activations.iter().find(|one| one.name == name);
            let served = call.http.core.plugins.active(&name);
            let fleet = activation
                .filter(|_| store.is_shared())
                .map(|one| fleet::hosts_that_serve(&hosts, one));
            let (served_by, behind) = fleet.unzip();
            PluginView {
                digest: activation.map(|one| one.digest.clone()),
                previous: activation.and_then(|one| one.previous.clone()),
                way_back: ways_back.remove(&name),
                generation: activation.map(|one| one.generation),
                activated_at: activation.map(|one| one.activated_at),
                serves: served.map(|loaded| loaded.digest.clone()),
                served_by,
                behind,
                rollout: rollouts.remove(&name),
                circuits: circuits(&open, &names, &records),
                versions: records
                    .into_iter()
                    .map(|record| version(record, activation))
                    .collect(),
                name,
            }
        })
        .collect();
    let has_inbox = !call.http.core.config.plugins.inbox.is_empty() || store.is_shared();
    let refusals = match has_inbox {
        true => store.refusals().await?,
        // The service takes no files any more, so nothing can correct them.
        false => Vec::new(),
    };
    let list = PluginList {
        plugins,
        refusals: refusals
            .into_iter()
            .filter(|refusal| refusal.overtaken_at.is_none())
            .map(refusal_view)
            .collect(),
        hosts: hosts.into_iter().map(host_view).collect(),
    };
    reply::json(StatusCode::OK, &list)
}

fn circuits(
    open: &[OpenCircuit],
    names: &HashMap<String, String>,
    records: &[PluginRecord],
) -> Vec<CircuitView> {
    let of_these = |open: &&OpenCircuit| records.iter().any(|record| record.digest == open.digest);
    open.iter()
        .filter(of_these)
        .map(|open| CircuitView {
            digest: open.digest.clone(),
            connection: open.lane.clone(),
            name: names.get(&open.lane).cloned(),
            function: open.function,
            inline_only: open.inline_only,
            reason: open.reason.clone(),
            failures: open.failures,
            since: open.since,
            until: open.until,
        })
        .collect()
}

fn version(record: PluginRecord, activation: Option<&Activation>) -> PluginVersion {
    let state = match activation {
        Some(one) if one.digest == record.digest => VersionState::Active,
        Some(one) if one.previous.as_ref() == Some(&record.digest) => VersionState::Previous,
        _ => VersionState::Stored,
    };
    PluginVersion {
        state,
        kind: record.kind(),
        version: record.description.version,
        digest: record.digest,
        summary: record.description.summary,
        contract: record.contract,
        bytes: record.bytes,
        golden: record.golden,
        origin: record.origin,
        publisher: record.publisher,
        stored_at: record.stored_at,
        secrets: record.description.secrets,
        hosts: record.description.hosts,
    }
}

fn refusal_view(refusal: PluginRefusal) -> RefusalView {
    let PluginRefusal {
        origin,
        digest,
        plugin: _,
        reason,
        at,
        overtaken_at: _,
    } = refusal;
    RefusalView {
        origin,
        digest,
        reason,
        at,
    }
}
