//! Makes a workspace match its file. The whole file is read, and all its problems are reported at
//! once; only a file without problems reaches the store, in one transaction. Entries of the file
//! are created or changed, by name; entries that it leaves out stay. Applying the same file again
//! is a no-op: connections keep their ids, keys are recognised by their label, and secrets that the
//! host generated (`generate:`) are kept.
//!
//! The text of a key and a generated secret are only in the report of the apply that created them.

mod address;
mod binding;
mod change;
mod changed;
mod configurations;
mod connection;
mod declaration;
mod greeting;
mod instance;
mod key;
mod left_out;
mod names;
mod outcome;
mod part;
mod plan;
mod reader;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

pub use change::{ChangeOutcome, ConnectionChange, change};
pub use changed::{ChangedConnection, ChangedValue};
pub use declaration::{DEFAULT_RATE_LIMIT, DEFAULT_REGION, RATE_LIMIT_MOST};
pub use key::{KeyRequest, check_label, mint};
pub use outcome::{ApplyError, ApplyOutcome, FileExtent, MadeKey};
pub use part::{DeclarationPart, apply_part};

use plan::{Generated, carry_out};

use self::configurations::{active_plugins, check_configurations, try_configurations};
use crate::connections::webhook_path;
use crate::state::Pipeline;
use leadhost_domain::exchange::InputProblem;
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::workspace::Workspace;
use leadhost_store::{Store, StoreError};

/// Applies a file, or reports what it would change. A change takes effect on this host at once, and
/// on the other hosts when they receive the announcement.
#[leadhost_boxed::boxed]
pub async fn apply(
    pipeline: &Arc<Pipeline>,
    file: &Value,
    extent: FileExtent,
    dry_run: bool,
) -> Result<ApplyOutcome, ApplyError> {
    let slug = file["workspace"]["slug"].as_str().unwrap_or_default();
    let found = workspace_of(&pipeline.store, slug).await?;
    let stored = match &found {
        Some(workspace) => pipeline.store.agents(workspace.id).await?,
        None => Vec::new(),
    };
    let reading = declaration::read(file, &active_plugins(pipeline), &stored);
    let checked = check_configurations(pipeline, &reading.unchecked).await;
    let named = |error: ApplyError| error.with_names(file);
    let mut declaration = reading
        .checked(checked)
        .map_err(|problems| named(ApplyError::Problems(problems)))?;
    let store = &pipeline.store;
    let before = match &found {
        Some(workspace) => store.connections(Some(workspace.id)).await?,
        None => Vec::new(),
    };
    let mut warnings = try_configurations(pipeline, &mut declaration, &before)
        .await
        .map_err(named)?;
    let (problems, unproven) = greeting::check(pipeline, &declaration, &before).await?;
    if !problems.is_empty() {
        return Err(named(ApplyError::Problems(problems)));
    }
    warnings.extend(unproven);
    if extent == FileExtent::Whole {
        warnings.extend(left_out::left_out(&declaration, &before));
    }
    let keys = declaration.keys.clone();
    let now = pipeline.clock.now();
    let workspace = found.map_or_else(|| WorkspaceId::new(now), |workspace| workspace.id);
    let planned = plan::plan(declaration, workspace, &before, &pipeline.sealer, now)?;
    let applied = carry_out(pipeline, &planned.plan, dry_run).await?;
    let mut changed_connections =
        changed::changed_connections(&planned.plan, &applied, &before, &pipeline.sealer);
    if !dry_run && !changed_connections.is_empty() {
        let after = store.connections(Some(applied.workspace_id)).await?;
        changed::note_versions(&mut changed_connections, &after);
    }
    let made = key::make_missing(store, &applied, &keys, now, dry_run).await?;
    let generated = if dry_run {
        Generated::default()
    } else {
        planned.generated
    };
    for warning in warnings.iter().filter(|_| !dry_run) {
        let InputProblem { path, message } = warning;
        tracing::warn!(
            workspace = planned.plan.slug,
            path,
            warning = message,
            "declaration applied with a warning"
        );
    }
    let channels = applied.channels.iter().filter_map(|(name, token)| {
        let instance = applied.instances.get(name)?;
        Some((name.clone(), webhook_path(*instance, token)))
    });
    Ok(ApplyOutcome {
        dry_run,
        channels: channels.collect(),
        workspace: planned.plan.slug,
        workspace_id: applied.workspace_id,
        changes: applied.changes,
        changed_connections,
        connections: applied.connections,
        instances: applied.instances,
        partners: applied.partners,
        keys: made,
        generated: generated.connections,
        generated_of_instances: generated.instances,
        warnings,
    })
}

async fn workspace_of(store: &Store, slug: &str) -> Result<Option<Workspace>, StoreError> {
    let workspaces = store.workspaces().await?;
    Ok(workspaces
        .into_iter()
        .find(|workspace| workspace.slug == slug))
}
