//! Instances' templates, as their providers listed them. They are of a connection
//! and name no person, so that they are read before a workspace is named.

use super::columns::{self, json, text};
use super::db::Db;
use crate::domain::connection::Connection;
use crate::store::row::messages::template_list;
use crate::store::{StoreError, TemplateList};

const ONE: &str = "
select synced_at, error, unlisted, templates
from template_lists
where connection_id = $1
and workspace_id = $2";

pub async fn one(db: &Db, channel: &Connection) -> Result<Option<TemplateList>, StoreError> {
    sqlx::query(ONE)
        .bind(channel.id.as_str())
        .bind(channel.workspace.0)
        .fetch_optional(db.pool())
        .await?
        .as_ref()
        .map(template_list)
        .transpose()
}

const PUT: &str = "
insert into template_lists (workspace_id, connection_id, synced_at, error, unlisted, templates)
values ($1, $2, $3, $4, $5, $6::json)
on conflict (connection_id) do update
set synced_at = excluded.synced_at, error = excluded.error, unlisted = excluded.unlisted,
  templates = excluded.templates";

pub async fn put(db: &Db, channel: &Connection, list: &TemplateList) -> Result<(), StoreError> {
    sqlx::query(PUT)
        .bind(channel.workspace.0)
        .bind(channel.id.as_str())
        .bind(list.synced_at.map(columns::at))
        .bind(list.error.as_deref().map(text))
        .bind(list.is_unlisted)
        .bind(text(&json(&list.templates)?))
        .execute(db.pool())
        .await?;
    Ok(())
}

pub(super) const SQL: &[&str] = &[ONE, PUT];
