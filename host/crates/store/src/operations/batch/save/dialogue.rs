//! Messaging rows that carry no stamp: partners' idempotency keys, channels' ids of messages,
//! sends, holds, lists of templates.

use crate::IdempotencyKey;
use crate::decide::{IdempotencyRecord, Reference, ReferenceKey, TemplateState};
use crate::operations::batch::load::dialogue::contact_of;
use crate::operations::batch::load::locked::LockedRows;
use crate::operations::prelude::*;
use leadhost_domain::channel::Template;

use super::made::all_made;

statements! {
    static NEW_REQUESTS: Sql = made(|| schema::IDEMPOTENCY.insert(&[], OnConflict::Skip));
    static CHANGED_REQUESTS: Sql = made(|| schema::IDEMPOTENCY.update(&schema::IDEMPOTENCY.changed()));
    static NEW_REFERENCES: Sql = made(|| schema::CHANNEL_REFS.insert(&[], OnConflict::Skip));

    static CHANGED_REFERENCES: Sql =
        made(|| schema::CHANNEL_REFS.update(&schema::CHANNEL_REFS.changed()));

    static SENDS: Sql = made(|| schema::SENDS.insert(&[], OnConflict::Update));
    static REMOVED_SENDS: Sql = made(|| schema::SENDS.remove());

    // Holds are not locked beforehand: if two hosts set one, the later end is kept.
    static HOLDS: Sql = sql("
each (workspace_id uuid, connection_id text, contact_id uuid, until_at time)
insert into holds as h (workspace_id, connection_id, contact_id, until_at)
select workspace_id, connection_id, contact_id, until_at
from each
where true
on conflict (connection_id, contact_id) do update
set until_at = greatest(h.until_at, excluded.until_at)");

    static LISTS: Sql = sql("
each (connection_id text)
select connection_id, templates
from template_lists
where connection_id in (select connection_id from each)
order by connection_id
for update -- postgres
");

    static CHANGED_LISTS: Sql = sql("
each (connection_id text, templates json)
update template_lists as l
set templates = each.templates
from each
where l.connection_id = each.connection_id");
}

/// Sorted, because every host inserts them in this order.
fn requests(
    set: &WorkingSet,
    which: impl Fn(&IdempotencyKey) -> bool,
) -> Result<Vec<[Arg<'_>; IdempotencyRecord::WIDTH]>, StoreError> {
    let changed = set.dialogue.idempotency.iter();
    let changed: BTreeMap<_, _> = changed
        .filter(|(key, row)| row.change != RowChange::None && which(key))
        .collect();
    changed
        .into_iter()
        .map(|(key, row)| row.args(key))
        .collect()
}

/// Sorted, because every host inserts them in this order.
fn references(
    set: &WorkingSet,
    which: impl Fn(&ReferenceKey) -> bool,
) -> Result<Vec<[Arg<'_>; Reference::WIDTH]>, StoreError> {
    let changed = set.dialogue.references.iter();
    let changed: BTreeMap<_, _> = changed
        .filter(|(key, row)| row.change != RowChange::None && which(key))
        .collect();
    changed
        .into_iter()
        .map(|(key, row)| row.args(key))
        .collect()
}

/// Inserts idempotency keys and channels' ids of messages that did not exist before.
/// Fails with [`StoreError::Contended`] if another host created one of the rows in the meantime.
pub async fn new(tx: &mut Tx, set: &WorkingSet, locked: &LockedRows) -> Result<(), StoreError> {
    let rows = requests(set, |key| !locked.requests.contains(key))?;
    let made = tx.run_each(&NEW_REQUESTS, &rows).await?;
    all_made(rows.len(), made)?;
    let rows = references(set, |key| !locked.references.contains(key))?;
    let made = tx.run_each(&NEW_REFERENCES, &rows).await?;
    all_made(rows.len(), made)
}

/// Saves changes of locked rows, and sends, which are new together with their messages.
pub async fn changes(tx: &mut Tx, set: &WorkingSet, locked: &LockedRows) -> Result<(), StoreError> {
    let rows = requests(set, |key| locked.requests.contains(key))?;
    tx.run_each(&CHANGED_REQUESTS, &rows).await?;
    let rows = references(set, |key| locked.references.contains(key))?;
    tx.run_each(&CHANGED_REFERENCES, &rows).await?;
    sends(tx, set).await?;
    holds(tx, set).await?;
    templates(tx, &set.dialogue.template_changes).await
}

async fn sends(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let (mut written, mut removed) = (Vec::new(), Vec::new());
    for (id, send) in &set.dialogue.sends {
        match send.change {
            RowChange::None => {}
            RowChange::Removed => {
                removed.push(args! { workspace_id: send.workspace, message_id: *id });
            }
            RowChange::New | RowChange::Changed => written.push(send.args(*id)?),
        }
    }
    tx.run_each(&REMOVED_SENDS, &removed).await?;
    tx.run_each(&SENDS, &written).await?;
    Ok(())
}

async fn holds(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    // Sorted and deduplicated, because one statement must not change a row twice.
    let mut latest: BTreeMap<(&ConnectionId, Option<ContactId>), _> = BTreeMap::new();
    for hold in &set.dialogue.new_holds {
        let row = latest
            .entry((&hold.connection, hold.contact))
            .or_insert((hold.workspace, hold.until));
        row.1 = row.1.max(hold.until);
    }
    let rows: Vec<_> = latest
        .into_iter()
        .map(
            |((connection_id, contact), (workspace_id, until_at)): (_, (_, Micros))| {
                args! { workspace_id, connection_id, contact_id: contact_of(contact), until_at }
            },
        )
        .collect();
    tx.run_each(&HOLDS, &rows).await?;
    Ok(())
}

async fn templates(tx: &mut Tx, changes: &[TemplateState]) -> Result<(), StoreError> {
    let of: BTreeMap<&ConnectionId, ()> = changes
        .iter()
        .map(|change| (&change.connection, ()))
        .collect();
    let wanted: Vec<_> = of
        .into_keys()
        .map(|connection_id| args! { connection_id })
        .collect();
    let lists: Vec<(ConnectionId, Vec<Template>)> = tx
        .rows_each(&LISTS, &wanted, cells!("connection_id", "templates"))
        .await?;
    let mut rows = Vec::new();
    for (id, mut list) in lists {
        let mut changed = false;
        for change in changes.iter().filter(|change| change.connection == id) {
            changed |= change.change(&mut list);
        }
        if changed {
            let templates = json(&list)?;
            rows.push(args! { connection_id: id.to_string(), templates });
        }
    }
    tx.run_each(&CHANGED_LISTS, &rows).await?;
    Ok(())
}
