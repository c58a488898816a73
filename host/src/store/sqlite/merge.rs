//! A contact whose last deal moved to another one: what is left of it goes there.

use super::db::Db;
use super::tombstones;
use crate::clock::Clock;
use crate::domain::id::{ContactId, WorkspaceId};
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::gone::Gone;

const EMPTY: &str = "
select from_.id
from contacts as from_
join contacts as into_ on into_.id = ?3
where from_.id = ?2
and from_.id <> into_.id
and +from_.workspace_id = ?1
and +into_.workspace_id = ?1
and from_.edited = '[]'
and from_.banned_at is null
and not exists (select 1 from deals where person_id = from_.id)
and not exists (select 1 from conversations where contact_id = from_.id)
and not exists (select 1 from tickets where contact_id = from_.id)";

const KEYS: &str = "
update contact_keys
set contact_id = ?3
where contact_id = ?2
and +workspace_id = ?1";

const SHARED_KEYS: &str = "
insert or ignore into shared_keys (workspace_id, key, contact_id)
select workspace_id, key, ?3
from shared_keys
where contact_id = ?2
and +workspace_id = ?1";

// What is its own is shared with nobody.
const SHARED_BEFORE: &str = "
delete from shared_keys
where +workspace_id = ?1
and (contact_id = ?2
  or contact_id = ?3
  and exists (
    select 1 from contact_keys as own
    where own.workspace_id = shared_keys.workspace_id
    and own.key = shared_keys.key
    and own.contact_id = ?3))";

const ITEMS: &str = "
update items
set contact_id = ?3
where contact_id = ?2
and ?1 is not null";

const CONTACT: &str = "
delete from contacts
where id = ?2
and +workspace_id = ?1
and ?3 is not null";

/// Whether it went.
pub async fn contact(
    db: &Db,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    from: ContactId,
    into: ContactId,
) -> Result<bool, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let of = |sql| {
        sqlx::query(sql)
            .bind(workspace.to_string())
            .bind(from.to_string())
            .bind(into.to_string())
    };
    if of(EMPTY).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(false);
    }
    for sql in [KEYS, SHARED_KEYS, SHARED_BEFORE, ITEMS, CONTACT] {
        of(sql).execute(&mut *connection).await?;
    }
    let mut gone = Gone::default();
    gone.remove(Entity::Contacts, &[from.0]);
    tombstones::bury(connection, workspace, &gone, clock.now()).await?;
    transaction.commit().await?;
    Ok(true)
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[EMPTY, KEYS, SHARED_KEYS, SHARED_BEFORE, ITEMS, CONTACT];
