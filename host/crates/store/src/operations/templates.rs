//! Templates of instances, as their providers listed them: one row per instance, since a list is
//! read and replaced as a whole. Lists belong to a connection and name no person, so they are read
//! before a workspace is named.

use crate::database::Database;
use crate::postgres::VisibleRows;
use crate::row::messages::template_list;
use crate::sql::{Sql, args, json, sql, steps};
use crate::{StoreError, TemplateList};
use leadhost_domain::id::{ConnectionId, WorkspaceId};

static ONE: Sql = sql("
select synced_at, error, unlisted, templates
from template_lists
where connection_id = :id
and workspace_id = :workspace");

/// Returns the list of templates of a connection in this workspace, or `None` if none was
/// stored yet.
pub async fn one(
    database: &Database,
    id: ConnectionId,
    workspace: WorkspaceId,
) -> Result<Option<TemplateList>, StoreError> {
    database
        .read(
            VisibleRows::Exempt,
            steps!(|tx| {
                let args = args! { id: &id, workspace };
                tx.row(&ONE, &args, |row| template_list(row)).await
            }),
        )
        .await
}

static PUT: Sql = sql("
insert into template_lists (workspace_id, connection_id, synced_at, error, unlisted, templates)
values (:workspace, :id, :synced_at, :error, :unlisted, :templates)
on conflict (connection_id) do update
set synced_at = excluded.synced_at, error = excluded.error, unlisted = excluded.unlisted,
  templates = excluded.templates");

/// Stores the list of templates of a connection. Replaces the previous list.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if a value cannot be serialized as JSON, and [`StoreError`] if
/// the database fails.
pub async fn put(
    database: &Database,
    id: ConnectionId,
    workspace: WorkspaceId,
    list: TemplateList,
) -> Result<(), StoreError> {
    database
        .write_alone(steps!(|tx| {
            let args = args! {
                id: &id,
                workspace,
                synced_at: list.synced_at,
                error: list.error.as_deref(),
                unlisted: list.is_unlisted,
                templates: json(&list.templates)?,
            };
            tx.run(&PUT, &args).await?;
            Ok(())
        }))
        .await
}

pub const SQL: &[&Sql] = &[&ONE, &PUT];
