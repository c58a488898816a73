//! Keys by the digest of their text; the text itself never comes here.

use uuid::Uuid;

use super::columns;
use super::db::Db;
use crate::domain::id::{KeyId, WorkspaceId};
use crate::domain::key::KeyRecord;
use crate::domain::time::Micros;
use crate::store::row::keys::{caller, latest, record};
use crate::store::{Caller, StoreError};

const AUTHENTICATE: &str = "
select k.id as key_id, k.kind, k.workspace_id as key_workspace_id, k.partner_id, k.label, k.hint,
  k.created_at, k.expires_at, k.revoked_at, k.last_used_at,
  w.id, w.slug, w.name, w.region, w.time_zone, w.rate_limit,
  p.name as partner_name, p.workspace_id as partner_workspace_id
from keys as k
left join workspaces as w on w.id = k.workspace_id
left join partners as p on p.id = k.partner_id
where k.digest = $1";

pub async fn authenticate(db: &Db, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError> {
    let row = sqlx::query(AUTHENTICATE)
        .bind(&digest[..])
        .fetch_optional(db.pool())
        .await?;
    row.as_ref().map(caller).transpose()
}

const CREATE: &str = "
insert into keys (id, digest, kind, workspace_id, partner_id, label, hint, created_at, expires_at,
  revoked_at, last_used_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

pub async fn create(db: &Db, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError> {
    sqlx::query(CREATE)
        .bind(key.id.0)
        .bind(&digest[..])
        .bind(key.kind.as_str())
        .bind(key.workspace.map(|id| id.0))
        .bind(key.partner.map(|id| id.0))
        .bind(columns::text(&key.label))
        .bind(columns::text(&key.hint))
        .bind(columns::at(key.created_at))
        .bind(key.expires_at.map(columns::at))
        .bind(key.revoked_at.map(columns::at))
        .bind(key.last_used_at.map(columns::at))
        .execute(db.pool())
        .await?;
    Ok(())
}

const LIST: &str = "
select id as key_id, kind, workspace_id as key_workspace_id, partner_id, label, hint, created_at,
  expires_at, revoked_at, last_used_at
from keys
where $1::uuid is null or workspace_id = $1
order by id";

pub async fn list(db: &Db, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError> {
    sqlx::query(LIST)
        .bind(workspace.map(|id| id.0))
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(record)
        .collect()
}

const REVOKE: &str = "
update keys
set revoked_at = $2
where id = $1
and revoked_at is null";

pub async fn revoke(db: &Db, id: KeyId, now: Micros) -> Result<bool, StoreError> {
    let done = sqlx::query(REVOKE)
        .bind(id.0)
        .bind(columns::at(now))
        .execute(db.pool())
        .await?;
    Ok(done.rows_affected() > 0)
}

// Hosts may write down uses of the same keys at once: each takes the rows in one
// order, and leaves those alone that another has written this minute.
const TOUCH: &str = "
with used as (
  select id, at from unnest($1::uuid[], $2::timestamptz[]) as used (id, at)
), locked as (
  select k.id, used.at
  from keys as k
  join used on used.id = k.id
  where k.last_used_at is null or k.last_used_at < used.at
  order by k.id
  for update of k
)
update keys as k
set last_used_at = greatest(k.last_used_at, locked.at)
from locked
where k.id = locked.id";

pub async fn touch(db: &Db, used: &[(KeyId, Micros)]) -> Result<(), StoreError> {
    if used.is_empty() {
        return Ok(());
    }
    let latest = latest(used);
    let ids: Vec<Uuid> = latest.keys().map(|id| id.0).collect();
    let times: Vec<_> = latest.values().map(|at| columns::at(*at)).collect();
    sqlx::query(TOUCH)
        .bind(ids)
        .bind(times)
        .execute(db.pool())
        .await?;
    Ok(())
}

pub(super) const SQL: &[&str] = &[AUTHENTICATE, CREATE, LIST, REVOKE, TOUCH];
