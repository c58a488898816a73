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
mod connection;
mod declaration;
mod key;
mod plan;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use key::{KeyRequest, mint};

use declaration::{ActiveConverter, Converters, Declaration};

use crate::app::App;
use crate::domain::connection::Connection;
use crate::domain::exchange::Problem;
use crate::domain::id::{AgentId, ConnectionId, PartnerId, WorkspaceId};
use crate::pipeline::fleet;
use crate::plugin::Budget;
use crate::seal::OpenError;
use crate::store::{Announcement, AppliedChange, Store, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file's author has to change it.
    #[error("the workspace file has {}: {}", count(.0), .0.iter().map(line).collect::<Vec<_>>().join("; "))]
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
    pub partners: BTreeMap<String, PartnerId>,
    /// Keys that were made now, with their text; without it in a dry run.
    pub keys: Vec<MadeKey>,
    /// Secrets that were made now, by connection and name; empty in a dry run.
    pub generated: BTreeMap<String, BTreeMap<String, String>>,
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
pub async fn apply(app: &App, file: &Value, dry_run: bool) -> Result<Report, ApplyError> {
    let declaration = declaration::read(file, &converters(app)).map_err(ApplyError::Problems)?;
    try_configurations(app, &declaration).await?;
    let keys = declaration.keys.clone();
    let store = &*app.store;
    let now = app.clock.now();
    let before = connections_of(store, &declaration.slug).await?;
    let planned = plan::plan(declaration, &before, &app.sealer)?;
    let applied = store.apply(&planned.plan, now, dry_run).await?;
    if !dry_run {
        fleet::tell(app, Announcement::Connections).await;
        // What is known of a key holds its workspace's settings too.
        fleet::tell(app, Announcement::Keys).await;
        tracing::info!(
            workspace = planned.plan.slug,
            changes = applied.changes.len(),
            "a workspace file was applied"
        );
    }
    let made = key::make_missing(store, &applied, &keys, now, dry_run).await?;
    Ok(Report {
        dry_run,
        workspace: planned.plan.slug,
        workspace_id: applied.workspace_id,
        changes: applied.changes,
        connections: applied.connections,
        instances: applied.instances,
        partners: applied.partners,
        keys: made,
        generated: if dry_run {
            BTreeMap::new()
        } else {
            planned.generated
        },
    })
}

fn converters(app: &App) -> Converters {
    app.plugins
        .list()
        .into_iter()
        .filter(|listed| listed.active)
        .map(|listed| {
            let description = listed.loaded.description.clone();
            (description.name.clone(), ActiveConverter { description })
        })
        .collect()
}

/// A configuration may fit the schema and still mean nothing to its converter:
/// each is asked how senders prove themselves under it, as it will be for the
/// first delivery.
async fn try_configurations(app: &App, declaration: &Declaration) -> Result<(), ApplyError> {
    let mut problems = Vec::new();
    for (index, connection) in declaration.connections.iter().enumerate() {
        let Some(loaded) = app.plugins.active(&connection.plugin) else {
            // It was active when the file was read: an activation that fails to load says so itself.
            continue;
        };
        let path = format!("connections[{index}].config");
        let answer = app
            .plugins
            .sender_checks(
                &loaded,
                &connection.name,
                &connection.config,
                Budget::Worker,
            )
            .await;
        match answer {
            Ok(Ok(_)) => {}
            Ok(Err(problem)) => problems.push(Problem {
                path,
                message: problem.message,
            }),
            Err(error) => problems.push(Problem {
                path,
                message: format!("{} could not be asked about it: {error}", connection.plugin),
            }),
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ApplyError::Problems(problems))
    }
}

/// The connections that a workspace has by now, by name.
async fn connections_of(
    store: &dyn Store,
    slug: &str,
) -> Result<BTreeMap<String, Connection>, StoreError> {
    let workspaces = store.workspaces().await?;
    let Some(workspace) = workspaces
        .into_iter()
        .find(|workspace| workspace.slug == slug)
    else {
        return Ok(BTreeMap::new());
    };
    Ok(store
        .connections(Some(workspace.id))
        .await?
        .into_iter()
        .map(|connection| (connection.name.clone(), connection))
        .collect())
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
