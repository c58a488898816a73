//! `GET /admin/v1/plugins`: every stored version, which of them serve on this host and on the
//! others, and recent refusals.

use std::collections::{BTreeMap, HashMap};

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::domain::connection::Connection;
use crate::domain::workspace::Workspace;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::fleet;
use crate::plugin::Open;
use crate::store::{Activation, PluginRecord, Store};

/// # Errors
///
/// [`ApiError::Store`] if the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let store = &call.http.core.store;
    let hosts = store.hosts().await?;
    let activations = store.activations().await?;
    let mut by_name: BTreeMap<String, Vec<PluginRecord>> = BTreeMap::new();
    for record in store.plugins().await? {
        let name = record.description.name.clone();
        by_name.entry(name).or_default().push(record);
    }
    let open = call.http.core.plugins.open_breakers();
    let names = if open.is_empty() {
        HashMap::new()
    } else {
        names(store.as_ref()).await?
    };
    let plugins: Vec<Value> = by_name
        .iter()
        .map(|(name, records)| {
            let activation = activations.iter().find(|one| one.name == *name);
            let served = call.http.core.plugins.active(name);
            let fleet = activation
                .filter(|_| store.is_shared())
                .map(|one| fleet::where_it_serves(&hosts, one));
            let versions: Vec<Value> = records
                .iter()
                .map(|record| version(record, activation))
                .collect();
            json!({
                "name": name,
                "digest": activation.map(|one| &one.digest),
                "previous": activation.and_then(|one| one.previous.as_ref()),
                "generation": activation.map(|one| one.generation),
                "activatedAt": activation.map(|one| one.activated_at),
                // The version on this host: another digest, or none, shows that it lags or
                // failed to load.
                "serves": served.map(|loaded| loaded.digest.clone()),
                // For hosts that share the store: which of them serve the active version, and
                // which do not.
                "servedBy": fleet.as_ref().map(|(serving, _)| serving),
                "behind": fleet.as_ref().map(|(_, behind)| behind),
                "versions": versions,
                // The versions that this host does not try for now, or tries less often.
                "circuits": circuits(&open, &names, records),
            })
        })
        .collect();
    let refusals = store.refusals().await?;
    reply::json(
        StatusCode::OK,
        &json!({ "plugins": plugins, "refusals": refusals, "hosts": hosts }),
    )
}

/// Returns the names of connections by id, as `leadhost connection list` shows them.
async fn names(store: &dyn Store) -> Result<HashMap<String, String>, ApiError> {
    let workspaces = store.workspaces().await?;
    let named = |connection: Connection| {
        let of_it = |workspace: &&Workspace| workspace.id == connection.workspace;
        let workspace = workspaces.iter().find(of_it)?;
        let name = format!("{}/{}", workspace.slug, connection.name);
        Some((connection.id.to_string(), name))
    };
    let connections = store.connections(None).await?;
    Ok(connections.into_iter().filter_map(named).collect())
}

fn circuits(
    open: &[Open],
    names: &HashMap<String, String>,
    records: &[PluginRecord],
) -> Vec<Value> {
    let of_these = |open: &&Open| records.iter().any(|record| record.digest == open.digest);
    open.iter()
        .filter(of_these)
        .map(|open| {
            json!({
                "digest": open.digest,
                "connection": open.lane,
                "name": names.get(&open.lane),
                "function": open.function.name(),
                "inlineOnly": open.inline_only,
                "reason": open.reason,
                "failures": open.failures,
                "since": open.since,
                "until": open.until,
            })
        })
        .collect()
}

fn version(record: &PluginRecord, activation: Option<&Activation>) -> Value {
    let state = match activation {
        Some(one) if one.digest == record.digest => "active",
        Some(one) if one.previous.as_ref() == Some(&record.digest) => "previous",
        _ => "stored",
    };
    json!({
        "version": record.description.version,
        "digest": record.digest,
        "state": state,
        "summary": record.description.summary,
        "kind": record.kind(),
        "contract": record.contract,
        "bytes": record.bytes,
        "golden": record.golden,
        "origin": record.origin,
        "publisher": record.publisher,
        "storedAt": record.stored_at,
        "secrets": record.description.secrets,
        "hosts": record.description.hosts,
    })
}
