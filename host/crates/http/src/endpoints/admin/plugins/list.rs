use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::status::host_view;

use super::connection_names::connection_names;
use super::rollout;
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
pub async fn list(call: &Call<'_>) -> ApiResult {
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
    let refusals = if has_inbox {
        store.refusals().await?
    } else {
        // The service no longer takes files, so nothing can correct them.
        Vec::new()
    };
    reply::ok(&PluginList {
        plugins,
        refusals: refusals
            .into_iter()
            .filter(|refusal| refusal.overtaken_at.is_none())
            .map(refusal_view)
            .collect(),
        hosts: hosts.into_iter().map(host_view).collect(),
    })
}

fn circuits(
    open: &[OpenCircuit],
    names: &HashMap<String, String>,
    records: &[PluginRecord],
) -> Vec<CircuitView> {
    let of_these = |open: &&OpenCircuit| records.iter().any(|record| record.digest == open.digest);
    open.iter()
        .filter(of_these)
        .map(|open| {
            view! { CircuitView from open: function, inline_only, failures, since, until;
                digest: open.digest.clone(),
                connection: open.lane.clone(),
                name: names.get(&open.lane).cloned(),
                reason: open.reason.clone()
            }
        })
        .collect()
}

fn version(record: PluginRecord, activation: Option<&Activation>) -> PluginVersion {
    let state = match activation {
        Some(one) if one.digest == record.digest => VersionState::Active,
        Some(one) if one.previous.as_ref() == Some(&record.digest) => VersionState::Previous,
        _ => VersionState::Stored,
    };
    view! { PluginVersion from record: digest, contract, bytes, golden, origin, publisher,
        stored_at;
        state,
        kind: record.kind(),
        version: record.description.version,
        summary: record.description.summary,
        secrets: record.description.secrets,
        hosts: record.description.hosts
    }
}

fn refusal_view(refusal: PluginRefusal) -> RefusalView {
    view! { RefusalView of PluginRefusal [plugin: _, overtaken_at: _] from refusal: origin, digest, reason, at }
}
