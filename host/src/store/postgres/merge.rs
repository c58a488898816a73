//! A contact whose last deal moved to another one: what is left of it goes there.

use sqlx::Row as _;

use super::db::{Db, Rows};
use super::tombstones;
use crate::domain::id::{ContactId, WorkspaceId};
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::gone::Gone;

// Nothing is hung on it before this ends.
const LOCK: &str = "
select id
from contacts
where workspace_id = $1
and id in ($2, $3)
order by id
for update";

const EMPTY: &str = "
select count(*) = 2
  and bool_and(id = $3 or edited = '[]'::jsonb and banned_at is null)
  and not exists (select 1 from deals where workspace_id = $1 and person_id = $2)
  and not exists (select 1 from conversations where contact_id = $2)
  and not exists (select 1 from tickets where contact_id = $2)
from contacts
where workspace_id = $1
and id in ($2, $3)";

const KEYS: &str = "
update contact_keys
set contact_id = $3
where contact_id = $2
and (workspace_id = $1) is true";

const SHARED_KEYS: &str = "
insert into shared_keys (workspace_id, key, contact_id)
select workspace_id, key, $3
from shared_keys
where contact_id = $2
and (workspace_id = $1) is true
on conflict do nothing";

const SHARED_BEFORE: &str = "
delete from shared_keys
where contact_id = $2
and (workspace_id = $1) is true
and $3::uuid is not null";

// What is its own is shared with nobody.
const SHARED_WITH_ITSELF: &str = "
delete from shared_keys as shared
where shared.contact_id = $3
and (shared.workspace_id = $1) is true
and $2::uuid is not null
and exists (
  select 1 from contact_keys as own
  where own.workspace_id = shared.workspace_id
  and own.key = shared.key
  and own.contact_id = $3)";

const ITEMS: &str = "
update items
set contact_id = $3
where contact_id = $2
and $1::uuid is not null";

const CONTACT: &str = "
delete from contacts
where workspace_id = $1
and id = $2
and $3::uuid is not null";

/// Whether it went.
pub async fn contact(
    db: &Db,
    workspace: WorkspaceId,
    from: ContactId,
    into: ContactId,
) -> Result<bool, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    let of = |sql| sqlx::query(sql).bind(workspace.0).bind(from.0).bind(into.0);
    of(LOCK).execute(&mut *transaction).await?;
    let row = of(EMPTY).fetch_one(&mut *transaction).await?;
    let is_empty: Option<bool> = row.try_get(0)?;
    if is_empty != Some(true) || from == into {
        transaction.rollback().await?;
        return Ok(false);
    }
    for sql in [
        KEYS,
        SHARED_KEYS,
        SHARED_BEFORE,
        SHARED_WITH_ITSELF,
        ITEMS,
        CONTACT,
    ] {
        of(sql).execute(&mut *transaction).await?;
    }
    let mut gone = Gone::default();
    gone.remove(Entity::Contacts, &[from.0]);
    tombstones::bury(&mut transaction, workspace, &gone).await?;
    transaction.commit().await?;
    Ok(true)
}

pub(super) const SQL: &[&str] = &[
    LOCK,
    EMPTY,
    KEYS,
    SHARED_KEYS,
    SHARED_BEFORE,
    SHARED_WITH_ITSELF,
    ITEMS,
    CONTACT,
];
