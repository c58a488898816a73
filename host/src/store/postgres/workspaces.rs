//! Which workspaces there are, for what names them in parts.

use sqlx::Row as _;

use super::db::Db;
use crate::domain::id::WorkspaceId;
use crate::store::StoreError;

const WORKSPACE_IDS: &str = "
select id
from workspaces
order by id";

/// Of every workspace that there is.
pub async fn workspace_ids(db: &Db) -> Result<Vec<WorkspaceId>, StoreError> {
    let rows = sqlx::query(WORKSPACE_IDS).fetch_all(db.pool()).await?;
    rows.iter()
        .map(|row| Ok(WorkspaceId(row.try_get(0)?)))
        .collect()
}

pub(super) const SQL: &[&str] = &[WORKSPACE_IDS];
