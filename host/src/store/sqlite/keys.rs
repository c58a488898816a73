//! Keys by the digest of their text; the text itself never comes here.

use super::db::Db;
use crate::domain::id::{KeyId, WorkspaceId};
use crate::domain::key::KeyRecord;
use crate::domain::time::Micros;
use crate::store::row::keys::{caller, latest, record};
use crate::store::{Caller, StoreError};

const AUTHENTICATE: &str = "
select k.id as key_id, k.kind, k.workspace_id as key_workspace_id, k.partner_id, k.label, k.hint,
  k.created_us as created_at, k.expires_us as expires_at, k.revoked_us as revoked_at,
  k.last_used_us as last_used_at, w.id, w.slug, w.name, w.region, w.time_zone, w.rate_limit,
  p.name as partner_name, p.workspace_id as partner_workspace_id
from keys as k
left join workspaces as w on w.id = k.workspace_id
left join partners as p on p.id = k.partner_id
where k.digest = ?1";

pub async fn authenticate(db: &Db, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError> {
    let row = sqlx::query(AUTHENTICATE)
        .bind(&digest[..])
        .fetch_optional(db.readers())
        .await?;
    row.as_ref().map(caller).transpose()
}

const CREATE: &str = "
insert into keys (id, digest, kind, workspace_id, partner_id, label, hint, created_us, expires_us,
  revoked_us, last_used_us)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

pub async fn create(db: &Db, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError> {
    let mut transaction = db.begin().await?;
    sqlx::query(CREATE)
        .bind(key.id.to_string())
        .bind(&digest[..])
        .bind(key.kind.as_str())
        .bind(key.workspace.map(|id| id.to_string()))
        .bind(key.partner.map(|id| id.to_string()))
        .bind(&key.label)
        .bind(&key.hint)
        .bind(key.created_at.0)
        .bind(key.expires_at.map(|at| at.0))
        .bind(key.revoked_at.map(|at| at.0))
        .bind(key.last_used_at.map(|at| at.0))
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

const LIST: &str = "
select id as key_id, kind, workspace_id as key_workspace_id, partner_id, label, hint,
  created_us as created_at, expires_us as expires_at, revoked_us as revoked_at,
  last_used_us as last_used_at
from keys
where ?1 is null or workspace_id = ?1
order by id";

pub async fn list(db: &Db, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError> {
    sqlx::query(LIST)
        .bind(workspace.map(|id| id.to_string()))
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(record)
        .collect()
}

const REVOKE: &str = "
update keys
set revoked_us = ?2
where id = ?1
and revoked_us is null";

pub async fn revoke(db: &Db, id: KeyId, now: Micros) -> Result<bool, StoreError> {
    let mut transaction = db.begin().await?;
    let done = sqlx::query(REVOKE)
        .bind(id.to_string())
        .bind(now.0)
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await?;
    Ok(done.rows_affected() > 0)
}

const TOUCH: &str = "
update keys
set last_used_us = max(coalesce(last_used_us, 0), used.value ->> 1)
from json_each(?1) as used
where keys.id = used.value ->> 0";

pub async fn touch(db: &Db, used: &[(KeyId, Micros)]) -> Result<(), StoreError> {
    if used.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = latest(used)
        .into_iter()
        .map(|(id, at)| (id, at.0))
        .collect();
    let mut transaction = db.begin().await?;
    sqlx::query(TOUCH)
        .bind(super::json(&rows)?)
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[AUTHENTICATE, CREATE, LIST, REVOKE, TOUCH];
/// Keys are few, and are listed whole.
#[cfg(test)]
pub(super) const WHOLE: &[&str] = &[LIST];
