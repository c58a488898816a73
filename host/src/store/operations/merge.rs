//! Merges a contact whose last deal moved to another contact into that one.

use crate::domain::id::{ContactId, WorkspaceId};
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::database::Database;
use crate::store::operations::tombstones;
use crate::store::postgres::Rows;
use crate::store::row::Columns as _;
use crate::store::sql::{Sql, args, sql, steps};
use crate::store::sqlite::threads::End;
use crate::store::tombstones::Removal;

// Nothing can be attached to the contact until this transaction ends.
static LOCK: Sql = sql("
select id                          -- postgres
from contacts                      -- postgres
where workspace_id = :workspace    -- postgres
and id in (:gone, :stays)          -- postgres
order by id                        -- postgres
for update                         -- postgres
");

static IS_EMPTY: Sql = sql("
select count(*) = 2
  and not exists (select 1 from deals where workspace_id = :workspace and person_id = :gone)
  and not exists (select 1 from conversations where contact_id = :gone)
  and not exists (select 1 from tickets where contact_id = :gone) as is_empty
from contacts
where workspace_id = :workspace
and id in (:stays, :gone)
and (id = :stays or edited = '[]' and banned_at is null)");

static KEYS: Sql = sql("
update contact_keys
set contact_id = :stays
where contact_id = :gone
and (workspace_id = :workspace) is true");

static SHARED_KEYS: Sql = sql("
insert into shared_keys (workspace_id, key, contact_id)
select workspace_id, key, :stays
from shared_keys
where contact_id = :gone
and (workspace_id = :workspace) is true
on conflict do nothing");

static SHARED_BEFORE: Sql = sql("
delete from shared_keys
where contact_id = :gone
and (workspace_id = :workspace) is true");

// A contact does not share a key that it owns.
static SHARED_WITH_ITSELF: Sql = sql("
delete from shared_keys
where contact_id = :stays
and (workspace_id = :workspace) is true
and exists (
  select 1 from contact_keys as own
  where own.workspace_id = shared_keys.workspace_id
  and own.key = shared_keys.key
  and own.contact_id = :stays)");

static ITEMS: Sql = sql("
update items
set contact_id = :stays
where contact_id = :gone");

static CONTACT: Sql = sql("
delete from contacts
where id = :gone
and workspace_id = :workspace");

/// Merges the contact. Returns whether it was removed.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn contact(
    database: &Database,
    workspace: WorkspaceId,
    from: ContactId,
    into: ContactId,
) -> Result<bool, StoreError> {
    database
        .write_or_undo(
            Rows::Of(&[workspace]),
            steps!(|tx| {
                let args = args! { workspace, gone: from, stays: into };
                tx.run(&LOCK, &args).await?;
                let is_empty = tx
                    .only(&IS_EMPTY, &args, |row| row.flag("is_empty"))
                    .await?;
                if !is_empty || from == into {
                    return Ok((false, End::Undo));
                }
                for sql in [
                    &KEYS,
                    &SHARED_KEYS,
                    &SHARED_BEFORE,
                    &SHARED_WITH_ITSELF,
                    &ITEMS,
                    &CONTACT,
                ] {
                    tx.run(sql, &args).await?;
                }
                let mut gone = Removal::default();
                gone.remove(Entity::Contacts, &[from.0]);
                tombstones::bury(tx, workspace, &gone).await?;
                Ok((true, End::Commit))
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[
    &LOCK,
    &IS_EMPTY,
    &KEYS,
    &SHARED_KEYS,
    &SHARED_BEFORE,
    &SHARED_WITH_ITSELF,
    &ITEMS,
    &CONTACT,
];
