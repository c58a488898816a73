//! Merges a contact whose last deal moved to another contact into that one.

use serde_json::json;

use crate::decide::ContactRecord;
use crate::operations::batch::load::locked::place;
use crate::operations::prelude::*;
use crate::operations::repairs::NEW_CHANGES;
use crate::operations::tombstones;
use crate::sqlite::threads::End;
use crate::tombstones::Removal;
use crate::{ContactMerge, RepairPlace};
use leadhost_domain::repair::{LOST_KEYS, LOST_SHARED_KEYS, MERGED, RepairedKind, TAKEN_KEYS};

statements! {
    // As in a batch of the repair, the lock delays a change of its state until this transaction has
    // ended.
    static RUNS: Sql = sql("
select id
from repairs
where id = :repair
and generation = :generation
and state = 'running'
for share -- postgres
");

    // Nothing can be attached to the contact until this transaction ends.
    static LOCK: Sql = sql("
select id                          -- postgres
from contacts                      -- postgres
where (workspace_id = :workspace) is true -- postgres
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
where (workspace_id = :workspace) is true
and id in (:stays, :gone)
and (id = :stays or edited = '[]' and banned_at is null)");

    static GONE: Sql = reading!(CONTACTS as "contacts", "
select {columns}
from contacts
where workspace_id = :workspace
and id = :gone");

    static TAKEN: Sql = sql("
select key, true as own
from contact_keys
where contact_id = :gone
and (workspace_id = :workspace) is true
union all
select key, false
from shared_keys
where contact_id = :gone
and (workspace_id = :workspace) is true
order by key");

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

    // Receipts of repairs are about the other contact now: its erasure removes their values.
    static RECEIPTS: Sql = sql("
update repair_changes
set contact_id = :stays
where contact_id = :gone
and (workspace_id = :workspace) is true");

    static CONTACT: Sql = sql("
delete from contacts
where id = :gone
and workspace_id = :workspace");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Removes a contact whose last deal moved to another contact, which gets its keys. If the deal
    /// moved in a repair, its receipt gets rows for that.
    pub async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
        repair: Option<RepairPlace>,
    ) -> Result<ContactMerge, StoreError> {
        steps!(self.database.write_or_undo(Of(&[workspace])), |tx| {
            if let Some(repair) = repair
                && !runs(tx, repair).await?
            {
                return Ok((ContactMerge::Stale, End::Undo));
            }
            let args = args! { workspace, gone: from, stays: into };
            tx.run(&LOCK, &args).await?;
            let is_empty: bool = tx.only(&IS_EMPTY, &args, |row| row.get("is_empty")).await?;
            if !is_empty || from == into {
                return Ok((ContactMerge::Kept, End::Undo));
            }
            if let Some(repair) = repair {
                let gone = tx.only(&GONE, &args, ContactRecord::from_row).await?;
                let taken = tx.rows(&TAKEN, &args, cells!("key", "own")).await?;
                note(tx, (from, gone), into, repair, &taken).await?;
            }
            for sql in [
                &KEYS,
                &SHARED_KEYS,
                &SHARED_BEFORE,
                &SHARED_WITH_ITSELF,
                &ITEMS,
                &RECEIPTS,
                &CONTACT,
            ] {
                tx.run(sql, &args).await?;
            }
            let mut gone = Removal::default();
            gone.remove(Entity::Contacts, &[from.0]);
            tombstones::bury(tx, workspace, &gone).await?;
            Ok((ContactMerge::Merged, End::Commit))
        })
        .await
    }
}

/// Returns whether the repair is running in this generation. It stays so until the transaction ends.
async fn runs(tx: &mut Tx, of: RepairPlace) -> Result<bool, StoreError> {
    let args = args! { repair: of.repair, generation: of.generation };
    let found = tx
        .row(&RUNS, &args, |row| row.get::<RepairId>("id"))
        .await?;
    Ok(found.is_some())
}

/// Adds the merged contact to the receipt of the repair in which its last deal moved, after the keys
/// that the other one takes over.
async fn note(
    tx: &mut Tx,
    (from, gone): (ContactId, ContactRecord),
    into: ContactId,
    of: RepairPlace,
    taken: &[(String, bool)],
) -> Result<(), StoreError> {
    let row = |row: ContactId, field: &'static str, before: Value, after: Value| {
        Ok::<_, StoreError>(args! {
            workspace_id: gone.workspace,
            repair_id: of.repair,
            delivery_id: of.delivery,
            item: place(of.item),
            kind: RepairedKind::Contact.as_str(),
            row_id: row,
            contact_id: into,
            field,
            value_before: json(&before)?,
            value_after: json(&after)?,
        })
    };
    let mut rows = Vec::new();
    for (field, own) in [(LOST_KEYS, true), (LOST_SHARED_KEYS, false)] {
        let keys = taken.iter().filter(|(_, is_own)| *is_own == own);
        let keys: Vec<&String> = keys.map(|(key, _)| key).collect();
        if !keys.is_empty() {
            rows.push(row(from, field, json!(keys), json!([]))?);
        }
    }
    if !taken.is_empty() {
        let keys: Vec<&String> = taken.iter().map(|(key, _)| key).collect();
        rows.push(row(into, TAKEN_KEYS, json!(from), json!(keys))?);
    }
    rows.push(row(from, MERGED, gone.before_merge(), json!(into))?);
    tx.run_each(&NEW_CHANGES, &rows).await?;
    Ok(())
}
