//! Makes a workspace as its file declares it. The whole file is read and all of
//! its problems are told at once; only a file without any reaches the store, in
//! one transaction. What the file names is created or changed, by name; what it
//! leaves out stays. Applying the same file again changes nothing: connections
//! keep their ids, keys are recognised by their label, and secrets that the host
//! made (`generate:`) stay as they are.
//!
//! A key's text and a generated secret are in the report of the apply that made
//! them and nowhere after.

mod address;
mod binding;
mod connection;
mod declaration;
mod greeting;
mod instance;
mod key;
mod part;
mod plan;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use key::{KeyRequest, mint};
pub use part::{Part, apply_part};

use binding::Binding;
use declaration::{ActivePlugin, ActivePlugins, Checked, Declaration};
use reader::Unchecked;

use plan::Generated;

use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::exchange::{Pairs, Problem, SenderCheck, SenderChecks};
use crate::domain::id::{AgentId, ConnectionId, PartnerId, WorkspaceId};
use crate::pipeline::connections::webhook_path;
use crate::pipeline::fleet;
use crate::pipeline::state::Pipeline;
use crate::plugin::Budget;
use crate::seal::OpenError;
use crate::store::{Announcement, Applied, AppliedChange, Plan, Store, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file's author has to change it.
    #[error("nothing was applied, for {}: {}", count(.0), .0.iter().map(line).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
    /// A generated secret must be kept and cannot be read.
    #[error("the secrets of connection `{connection}` cannot be opened: {source}")]
    Sealed {
        connection: String,
        source: OpenError,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an apply did, or would do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub dry_run: bool,
    pub workspace: String,
    pub workspace_id: WorkspaceId,
    pub changes: Vec<AppliedChange>,
    pub connections: BTreeMap<String, ConnectionId>,
    pub instances: BTreeMap<String, AgentId>,
    /// Of instances with an adapter: where its provider sends webhooks to.
    pub channels: BTreeMap<String, String>,
    pub partners: BTreeMap<String, PartnerId>,
    /// Keys that were made now, with their text; without it in a dry run.
    pub keys: Vec<MadeKey>,
    /// Secrets that were made now, by connection and name; empty in a dry run.
    pub generated: BTreeMap<String, BTreeMap<String, String>>,
    /// The same of instances.
    pub generated_of_instances: BTreeMap<String, BTreeMap<String, String>>,
    /// What is as declared, and perhaps not as meant.
    pub warnings: Vec<Problem>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeKey {
    pub kind: &'static str,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Applies a file, or tells what that would change. What it changed counts at
/// once on this host, and on the others when they hear of it.
pub async fn apply(pipeline: &Pipeline, file: &Value, dry_run: bool) -> Result<Report, ApplyError> {
    let reading = declaration::read(file, &active_plugins(pipeline));
    let checked = check_configurations(pipeline, &reading.unchecked).await;
    let mut declaration = reading.checked(checked).map_err(ApplyError::Problems)?;
    let warnings = try_configurations(pipeline, &mut declaration).await?;
    let keys = declaration.keys.clone();
    let store = &*pipeline.core.store;
    let now = pipeline.core.clock.now();
    let before = connections_of(store, &declaration.slug).await?;
    let planned = plan::plan(declaration, &before, &pipeline.core.sealer)?;
    let applied = carry_out(pipeline, &planned.plan, dry_run).await?;
    let made = key::make_missing(store, &applied, &keys, now, dry_run).await?;
    let generated = if dry_run {
        Generated::default()
    } else {
        planned.generated
    };
    for warning in warnings.iter().filter(|_| !dry_run) {
        let Problem { path, message } = warning;
        tracing::warn!(
            workspace = planned.plan.slug,
            path,
            warning = message,
            "a declaration was applied with a warning"
        );
    }
    let channels = applied.channels.iter().filter_map(|(name, token)| {
        let instance = applied.instances.get(name)?;
        Some((name.clone(), webhook_path(*instance, token)))
    });
    Ok(Report {
        dry_run,
        channels: channels.collect(),
        workspace: planned.plan.slug,
        workspace_id: applied.workspace_id,
        changes: applied.changes,
        connections: applied.connections,
        instances: applied.instances,
        partners: applied.partners,
        keys: made,
        generated: generated.connections,
        generated_of_instances: generated.instances,
        warnings,
    })
}

/// Tells the store, and then every host.
async fn carry_out(pipeline: &Pipeline, plan: &Plan, dry_run: bool) -> Result<Applied, StoreError> {
    let applied = pipeline
        .core
        .store
        .apply(plan, pipeline.core.clock.now(), dry_run)
        .await?;
    if !dry_run {
        fleet::tell(pipeline, Announcement::Connections).await;
        // What is known of a key holds its workspace's settings too.
        fleet::tell(pipeline, Announcement::Keys).await;
        tracing::info!(
            workspace = plan.slug,
            changes = applied.changes.len(),
            "a workspace was declared"
        );
    }
    Ok(applied)
}

fn active_plugins(pipeline: &Pipeline) -> ActivePlugins {
    pipeline
        .core
        .plugins
        .list()
        .into_iter()
        .filter(|listed| listed.active)
        .map(|listed| {
            let description = listed.loaded.description.clone();
            let kind = listed.loaded.kind;
            (description.name.clone(), ActivePlugin { description, kind })
        })
        .collect()
}

/// Asks each plugin's schema once, about all configurations of its own.
async fn check_configurations(pipeline: &Pipeline, unchecked: &[Unchecked]) -> Vec<Checked> {
    let mut of_plugin: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, one) in unchecked.iter().enumerate() {
        of_plugin.entry(&one.plugin).or_default().push(index);
    }
    let mut checked = vec![Ok(Vec::new()); unchecked.len()];
    for (plugin, indexes) in of_plugin {
        // It was active when the file was read.
        let Some(loaded) = pipeline.core.plugins.active(plugin) else {
            continue;
        };
        let configs: Vec<Value> = indexes
            .iter()
            .map(|&index| unchecked[index].config.clone())
            .collect();
        match pipeline.core.plugins.config_faults(&loaded, &configs).await {
            Ok(faults) => {
                for (index, faults) in indexes.into_iter().zip(faults) {
                    checked[index] = Ok(faults);
                }
            }
            Err(error) => {
                for index in indexes {
                    checked[index] = Err(error.to_string());
                }
            }
        }
    }
    checked
}

/// A configuration may fit the schema and still mean nothing to its plugin: each
/// is asked how senders prove themselves under it, as it will be for the first
/// delivery, and an adapter by which routes its events come. The answer is what
/// its operator should know.
async fn try_configurations(
    pipeline: &Pipeline,
    declaration: &mut Declaration,
) -> Result<Vec<Problem>, ApplyError> {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    for connection in &mut declaration.connections {
        let binding = &mut connection.binding;
        let Some(loaded) = pipeline.core.plugins.active(&binding.plugin) else {
            // It was active when the file was read: an activation that fails to load says so itself.
            continue;
        };
        let lane = &connection.name;
        let checks = pipeline
            .core
            .plugins
            .sender_checks(&loaded, lane, &binding.config, Budget::Trial)
            .await;
        if let Ok(Ok(checks)) = &checks {
            let open = open_to_anybody(&connection.path, connection.kind, binding, checks);
            warnings.extend(open);
            problems.extend(unused_secrets(&connection.path, binding, checks));
        }
        let routes = match (connection.kind, checks) {
            (_, Err(error)) => Err(error),
            (_, Ok(Err(problem))) => Ok(Err(problem)),
            (ConnectionKind::Source, Ok(Ok(_))) => Ok(Ok(Vec::new())),
            (ConnectionKind::Channel, Ok(Ok(_))) => {
                pipeline
                    .core
                    .plugins
                    .routes(&loaded, lane, &binding.config, Budget::Trial)
                    .await
            }
        };
        let path = format!("{}.config", connection.path);
        match routes {
            Ok(Ok(routes)) => add_routes(&mut binding.routes, routes),
            Ok(Err(problem)) => problems.push(Problem {
                path,
                message: problem.message,
            }),
            Err(error) => problems.push(Problem {
                path,
                message: format!("{} could not be asked about it: {error}", binding.plugin),
            }),
        }
    }
    if problems.is_empty() {
        Ok(warnings)
    } else {
        Err(ApplyError::Problems(problems))
    }
}

/// Secrets that nobody would use: a name is misspelt, or its value is where it
/// should not be.
fn unused_secrets(
    path: &str,
    binding: &Binding,
    declared: &SenderChecks,
) -> impl Iterator<Item = Problem> {
    let checks = &declared.checks;
    let is_checked = |name: &String| checks.iter().any(|check| check.secret == *name);
    let unused = binding
        .undeclared
        .iter()
        .filter(move |name| !is_checked(name));
    unused.map(move |name| Problem {
        path: format!("{path}.secrets.{name}"),
        message: "neither the plugin nor one of `checks` uses this secret".to_owned(),
    })
}

/// A connection whose plugin could tell its senders from others, and has no secret
/// to do it with.
fn open_to_anybody(
    path: &str,
    kind: ConnectionKind,
    binding: &Binding,
    declared: &SenderChecks,
) -> Option<Problem> {
    let has = |check: &SenderCheck| binding.secrets.contains_key(&check.secret);
    let any = |checks: &[SenderCheck]| checks.iter().any(has);
    let wanted = &declared.checks.first()?.secret;
    if any(&declared.checks) || any(&binding.checks) {
        return None;
    }
    let what = match kind {
        ConnectionKind::Source => "leads",
        ConnectionKind::Channel => "webhooks",
    };
    Some(Problem {
        path: format!("{path}.secrets"),
        message: format!(
            "it takes {what} from anybody who knows its address: `{}` checks its senders only with the secret `{wanted}`, which is missing here",
            binding.plugin
        ),
    })
}

/// What the file says stays; what the adapter says comes to it.
fn add_routes(known: &mut BTreeMap<String, Vec<String>>, more: Pairs) {
    for (name, value) in more {
        let values = known.entry(name).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }
}

/// The connections that a workspace has by now.
async fn connections_of(store: &dyn Store, slug: &str) -> Result<Vec<Connection>, StoreError> {
    let workspaces = store.workspaces().await?;
    match workspaces.iter().find(|workspace| workspace.slug == slug) {
        Some(workspace) => store.connections(Some(workspace.id)).await,
        None => Ok(Vec::new()),
    }
}

fn count(problems: &[Problem]) -> String {
    match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn line(problem: &Problem) -> String {
    format!("{}: {}", problem.path, problem.message)
}
