//! Loads the rows that a batch touches, and locks those that it may change, in a few statements
//! regardless of the number of writes.
//!
//! Every batch locks in the same order, so that hosts do not deadlock: work of deliveries, repairs,
//! work of sends, dedupe keys, partners' idempotency keys, channels' ids of messages, deals, contacts,
//! conversations, messages, message errors, tickets, each sorted. New rows are inserted after
//! all of these locks are held (`save`), and the clocks of the feeds come last (`stamp`). On SQLite
//! the batch holds the file's write lock from its beginning: it takes the same steps, never waits,
//! and never fails with [`StoreError::Contended`].
//!
//! Some locks cover rows that do not exist yet. A host locks a contact before it opens a
//! conversation with it, and an existing deal before it links a conversation to it. Therefore a
//! locked deal has the open conversations that are found, and no other. A host locks the
//! conversation of a ticket, or its deal if it has no conversation, before it opens or closes the
//! ticket. Therefore there is one at a time.
//!
//! Reports of channels lead the other way: from the channel's id to the message, and from there to
//! the conversation. That path is first followed without a lock, so that its rows can then be
//! locked in order. If the locked rows lead elsewhere, another host changed them in between, and
//! the batch runs again.

pub mod desk;
pub mod dialogue;
pub mod leads;
mod links;
pub mod locked;
pub mod repairs;

use self::locked::{LockedRows, QueueRow, SEND, WHOLE, place};
use crate::Write;
use crate::decide::{self, ItemPlaces};
use crate::operations::prelude::*;

statements! {
    // The wanted rows are sorted, and are processed in that order.
    static WORK: Sql = sql("
each (id uuid, first number, last number)
select q.workspace_id, q.delivery_id, q.item, q.lease, q.lease_until_at
from each
cross join lateral (                                               -- postgres
  select workspace_id, delivery_id, item, lease, lease_until_at    -- postgres
  from queue                                                       -- postgres
  where delivery_id = each.id                                      -- postgres
  and (item < 0 or item between each.first and each.last)          -- postgres
  order by item                                                    -- postgres
  for update                                                       -- postgres
) as q                                                             -- postgres
cross join queue as q                                              -- sqlite
  on q.delivery_id = each.id                                       -- sqlite
  and (q.item < 0 or q.item between each.first and each.last)      -- sqlite
");
}

/// Locks the work that the batch names. A delivery without work is finished and not leased, so a
/// settlement of it is stale.
pub async fn work(
    tx: &mut Tx,
    wanted: &BTreeMap<DeliveryId, ItemPlaces>,
) -> Result<LockedRows, StoreError> {
    let mut stretches = Vec::new();
    for (id, places) in wanted {
        if places.stretches.is_empty() {
            // Without a range of items, only the delivery itself is locked.
            stretches.push(stretch(id.0, WHOLE, WHOLE));
        }
        for (first, last) in &places.stretches {
            stretches.push(stretch(id.0, place(*first), place(*last)));
        }
    }
    let mut locked = LockedRows::default();
    lock_work(tx, &mut locked, &stretches).await?;
    Ok(locked)
}

fn stretch(id: Uuid, first: i32, last: i32) -> [Arg<'static>; 3] {
    args! { id, first, last }
}

async fn lock_work(
    tx: &mut Tx,
    locked: &mut LockedRows,
    wanted: &[[Arg<'static>; 3]],
) -> Result<(), StoreError> {
    let found: Vec<((Uuid, i32), QueueRow)> = tx
        .rows_each(&WORK, wanted, |row| {
            let work = QueueRow {
                workspace: row.get("workspace_id")?,
                lease: row.get("lease")?,
                until: row.get("lease_until_at")?,
            };
            Ok(((row.get("delivery_id")?, row.get("item")?), work))
        })
        .await?;
    locked.work.extend(found);
    Ok(())
}

/// Loads everything that the writes touch, once the work that they name is locked.
/// Fails with [`StoreError::Contended`] if another host changed the rows while they were loaded.
pub async fn all(
    tx: &mut Tx,
    writes: &[Write],
    first: ReadSet,
    mut locked: LockedRows,
) -> Result<(WorkingSet, LockedRows), StoreError> {
    let mut set = WorkingSet::default();
    leads::deliveries(tx, &mut set, &locked, &first.deliveries).await?;
    let mut read_set = if locked.work.is_empty() {
        first
    } else {
        decide::read_set(writes, |id| set.deliveries.get(&id))
    };
    // A fetch that ends releases its dedupe key.
    read_set.claims.extend(
        set.fetches
            .values()
            .filter_map(|fetch| Some((fetch.connection.clone(), fetch.dedupe_key.clone()?))),
    );
    repairs::states(tx, &mut set, &read_set.repairs).await?;
    let links = dialogue::follow(tx, &read_set).await?;
    let sends = links.sends.iter().map(|id| stretch(id.0, SEND, SEND));
    let sends: Vec<_> = sends.collect();
    lock_work(tx, &mut locked, &sends).await?;
    leads::lock_external_ids(tx, &read_set.external_ids).await?;
    let mut people = leads::keys(tx, &mut set, &mut locked, &read_set).await?;
    // Only who holds the key alone locks those with persons, so two hosts lock them in one order.
    let further = read_set.claims_of_persons(&set);
    let mut of_ids = BTreeSet::new();
    if !further.is_empty() {
        read_set.deals_of_claims.extend(further.iter().cloned());
        let further = ReadSet {
            claims: further,
            ..ReadSet::default()
        };
        leads::keys(tx, &mut set, &mut locked, &further).await?;
        of_ids = leads::of_shared_ids(tx, &mut set, &read_set).await?;
    }
    read_set.heirs = repairs::heirs(tx, &read_set.heirs_of).await?;
    people.extend(&read_set.heirs);
    leads::others(tx, &mut set, &read_set).await?;
    dialogue::names(tx, &mut set, &mut locked, &links).await?;
    let mut deals = deals_that_may_change(&set, &read_set);
    deals.extend(&links.deals);
    deals.extend(of_ids);
    people.extend(leads::deals(tx, &mut set, &read_set, &deals).await?);
    people.extend(&links.contacts);
    leads::contacts(tx, &mut set, &people, &read_set.contacts).await?;
    repairs::shared_keys(tx, &mut set, &read_set.shared_keys).await?;
    let held = read_set.held_by(&set);
    let mut said: BTreeSet<_> = read_set.said_by_leads.union(&held).copied().collect();
    said.extend(&read_set.heirs);
    repairs::said(tx, &mut set, &said).await?;
    repairs::held(tx, &mut set, &held).await?;
    dialogue::lock_conversations(tx, &mut set, &locked, &links, &read_set).await?;
    desk::tickets(tx, &mut set, &links, &read_set).await?;
    dialogue::holds(tx, &mut set, &read_set).await?;
    leads::product_ids(tx, &mut set, &read_set.product_ids).await?;
    leads::owners(tx, &mut set, &read_set.owners).await?;
    leads::external_ids(tx, &mut set, &read_set.external_ids).await?;
    leads::first_agents(tx, &mut set, &read_set.first_agents).await?;
    leads::quarantine(tx, &mut set, &read_set.quarantine).await?;
    Ok((set, locked))
}

fn deals_that_may_change(set: &WorkingSet, read_set: &ReadSet) -> BTreeSet<(WorkspaceId, DealId)> {
    let of_claims = read_set.deals_of_claims.iter().filter_map(|key| {
        let claim = set.claims.get(key)?;
        Some((claim.workspace, claim.deal?))
    });
    let of_items = read_set
        .deals_of_deliveries
        .iter()
        .filter_map(|id: &DeliveryId| set.deliveries.get(id))
        .flat_map(|delivery| {
            let deals = delivery.items.values().filter_map(|item| item.deal);
            deals.map(|deal| (delivery.workspace, deal))
        });
    let named = read_set.deals.iter().copied();
    of_claims.chain(of_items).chain(named).collect()
}
