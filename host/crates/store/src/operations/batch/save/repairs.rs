//! Receipts of repairs: the rows for the changes of a replay, and the rows outside feeds that an undo
//! changes.

use crate::operations::batch::load::locked::place;
use crate::operations::prelude::*;
use crate::operations::repairs::NEW_CHANGES;

statements! {
    static REMOVED_KEYS: Sql = made(|| schema::CONTACT_KEYS.remove());
    static REMOVED_SHARED_KEYS: Sql = made(|| schema::SHARED_KEYS.remove());

    // It becomes the own key of the first contact that shares it.
    static HEIRS: Sql = sql("
each (workspace_id uuid, key text)
insert into contact_keys (workspace_id, key, contact_id)
select s.workspace_id, s.key, s.contact_id
from each
ordered join shared_keys as s
  on s.workspace_id = each.workspace_id
  and s.key = each.key
where not exists (
  select 1 from shared_keys as before
  where before.workspace_id = s.workspace_id
  and before.key = s.key
  and before.contact_id < s.contact_id)
on conflict do nothing");

    static INHERITED: Sql = sql("
each (workspace_id uuid, key text)
delete from shared_keys
where (workspace_id, key, contact_id) in (
  select own.workspace_id, own.key, own.contact_id
  from each
  ordered join contact_keys as own
    on own.workspace_id = each.workspace_id
    and own.key = each.key)");

    static MARKS: Sql = made(|| schema::REPAIR_CHANGES.update(&["undone"]));
    static MOVED_ITEMS: Sql = made(|| schema::ITEMS.update(&["contact_id"]));

    // The configuration stays the repair's, because the one before it is no longer known. Such a delivery is
    // finished, so the batch has not locked it.
    static HARMED_AGAIN: Sql = sql("
each (workspace_id uuid, id uuid, plugin text, version text, digest text, contract text)
update deliveries as d
set ran = json_set(d.ran, '$.plugin', each.plugin,                   -- sqlite
  '$.version', each.version, '$.digest', each.digest,                -- sqlite
  '$.contract', each.contract)                                       -- sqlite
set ran = d.ran || jsonb_build_object('plugin', each.plugin,         -- postgres
  'version', each.version, 'digest', each.digest,                    -- postgres
  'contract', each.contract)                                         -- postgres
from each
where d.workspace_id = each.workspace_id
and d.id = each.id
and d.ran ->> 'digest' <> each.digest");

    static MOVED_MESSAGES: Sql = sql("
each (workspace_id uuid, conversation_id uuid, contact_id uuid)
update messages as m
set contact_id = each.contact_id
from each
where m.conversation_id = each.conversation_id
and (m.workspace_id = each.workspace_id) is true");

    static MOVED_SENDS: Sql = sql("
each (workspace_id uuid, conversation_id uuid, contact_id uuid)
update sends as s
set contact_id = own.contact_id
from (
  select m.workspace_id, m.id, each.contact_id
  from each
  ordered join messages as m
    on m.conversation_id = each.conversation_id
    and (m.workspace_id = each.workspace_id) is true
  offset 0 -- postgres
) as own
where s.workspace_id = own.workspace_id
and s.message_id = own.id");
}

/// Removes match keys that a repair or its undo takes from their contacts. They come before new ones, because
/// another contact may get one of them in the same batch.
pub async fn remove_undone_keys(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    tx.run_each(&REMOVED_KEYS, &lost_keys(set)).await?;
    let gone: Vec<_> = set
        .removed_shared_keys
        .iter()
        .map(|(workspace_id, key, contact_id)| args! { workspace_id, key, contact_id })
        .collect();
    tx.run_each(&REMOVED_SHARED_KEYS, &gone).await?;
    Ok(())
}

fn lost_keys(set: &WorkingSet) -> Vec<[Arg<'_>; 2]> {
    let lost = set.removed_contact_keys.iter();
    lost.map(|(workspace_id, key)| args! { workspace_id, key })
        .collect()
}

/// Gives the match keys that their owners have lost to the next contacts that share them.
pub async fn inherit_keys(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let lost = lost_keys(set);
    tx.run_each(&HEIRS, &lost).await?;
    tx.run_each(&INHERITED, &lost).await?;
    Ok(())
}

/// Saves the new rows of receipts, the results of undone ones, and the contacts of items whose
/// deals went back to them.
pub async fn save(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let mut new = Vec::new();
    for change in &set.new_repair_changes {
        new.push(args! {
            from change: workspace_id = workspace, repair_id = repair, delivery_id = delivery,
            item, kind, row_id = row, contact_id = contact, field, value_before = before,
            value_after = after,
        });
    }
    tx.run_each(&NEW_CHANGES, &new).await?;
    let marks: Vec<_> = set
        .undone_changes
        .iter()
        .map(|one| {
            args! { number: one.number, workspace_id: one.workspace, undone: one.undone.as_str() }
        })
        .collect();
    tx.run_each(&MARKS, &marks).await?;
    let harmed: Vec<_> = set
        .harmed_again
        .iter()
        .map(|((workspace_id, id), version)| {
            args! {
                workspace_id,
                id,
                plugin: &version.plugin,
                version: &version.version,
                digest: &version.digest,
                contract: &version.contract,
            }
        })
        .collect();
    tx.run_each(&HARMED_AGAIN, &harmed).await?;
    let items: Vec<_> = set
        .moved_items
        .iter()
        .map(|((workspace_id, delivery_id, item), contact_id)| {
            args! { delivery_id, item: place(*item), workspace_id, contact_id }
        })
        .collect();
    tx.run_each(&MOVED_ITEMS, &items).await?;
    let conversations: Vec<_> = set
        .moved_conversations
        .iter()
        .map(|((workspace_id, conversation_id), contact_id)| {
            args! { workspace_id, conversation_id, contact_id }
        })
        .collect();
    tx.run_each(&MOVED_MESSAGES, &conversations).await?;
    tx.run_each(&MOVED_SENDS, &conversations).await?;
    Ok(())
}
