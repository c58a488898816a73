//! Instances' templates, as their providers listed them: one row each, since they
//! are read and replaced as a whole.

use super::db::Db;
use super::json;
use crate::domain::connection::Connection;
use crate::store::row::messages::template_list;
use crate::store::{StoreError, TemplateList};

const ONE: &str = "
select synced_us as synced_at, error, unlisted, templates
from template_lists
where connection_id = ?1
and workspace_id = ?2";

pub async fn one(db: &Db, channel: &Connection) -> Result<Option<TemplateList>, StoreError> {
    sqlx::query(ONE)
        .bind(channel.id.as_str())
        .bind(channel.workspace.to_string())
        .fetch_optional(db.readers())
        .await?
        .as_ref()
        .map(template_list)
        .transpose()
}

const PUT: &str = "
insert into template_lists (connection_id, workspace_id, synced_us, error, unlisted, templates)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict (connection_id) do update
set synced_us = excluded.synced_us, error = excluded.error, unlisted = excluded.unlisted,
  templates = excluded.templates";

pub async fn put(db: &Db, channel: &Connection, list: &TemplateList) -> Result<(), StoreError> {
    let mut transaction = db.begin().await?;
    sqlx::query(PUT)
        .bind(channel.id.as_str())
        .bind(channel.workspace.to_string())
        .bind(list.synced_at.map(|at| at.0))
        .bind(&list.error)
        .bind(list.is_unlisted)
        .bind(json(&list.templates)?)
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[ONE, PUT];
