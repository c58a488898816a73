//! Rows of leads other than people and deals: deliveries with their items, fetches and answers,
//! dedupe keys, partners' notes. Rows are sorted, because every host inserts them in this order: a
//! conflicting row of another host that is not committed yet is waited for.

use std::sync::LazyLock;

use crate::decide::{Claim, DeliveryRecord, ItemRecord};
use crate::operations::batch::load::locked::LockedRows;
use crate::operations::prelude::*;
use crate::schema::head;
use crate::sql::{Together, listed};
use crate::{Acceptance, Write};

use super::made::all_made;

statements! {
    static NEW_CLAIMS: Sql = made(|| schema::DEDUPE.insert(&[], OnConflict::Skip));
    static CHANGED_CLAIMS: Sql = made(|| schema::DEDUPE.update(&schema::DEDUPE.changed()));
    static REMOVED_CLAIMS: Sql = made(|| schema::DEDUPE.remove());
    static CONTACT_KEYS: Sql = made(|| schema::CONTACT_KEYS.insert(&[], OnConflict::Skip));
    static SHARED_KEYS: Sql = made(|| schema::SHARED_KEYS.insert(&[], OnConflict::Skip));
    static NEW_DELIVERIES: Sql = made(|| schema::DELIVERIES.insert(&[], OnConflict::Fail));
    static DELIVERY_KEYS: Sql = made(|| schema::DELIVERY_KEYS.insert(&[], OnConflict::Skip));

    // A sender without a proof left to check is authenticated, so its address is removed.
    static CHANGED_DELIVERIES: Sql = sql("
each (workspace_id uuid, id uuid, status text, error text, notes json, ran json, attempts number,
  next_attempt_at time, presented bytes)
update deliveries as d
set status = each.status, error = each.error, notes = each.notes, ran = each.ran::jsonb,
  attempts = each.attempts, next_attempt_at = each.next_attempt_at, presented = each.presented,
  peer = case when each.presented is null then null else d.peer end
from each
where d.workspace_id = each.workspace_id
and d.id = each.id");

    static NEW_ITEMS: Sql = made(|| schema::ITEMS.insert(&[], OnConflict::Fail));
    static ITEMS: Sql = made(|| schema::ITEMS.insert(&[], OnConflict::Update));
    static REMOVED_ITEMS: Sql = made(|| schema::ITEMS.remove());
    static FETCHES: Sql = made(|| schema::FETCHES.insert(&[], OnConflict::Update));
    static REMOVED_FETCHES: Sql = made(|| schema::FETCHES.remove());

    // An item that is fetched again gets a new number with its new answer.
    static ANSWERS: Sql = sql("
each (workspace_id uuid, delivery_id uuid, item number, hop number, external_id text, request json,
  response_head json, response_body bytes)
insert into answers (workspace_id, delivery_id, item, hop, external_id, request, response_head,
  response_body)
select workspace_id, delivery_id, item, hop, external_id, request, response_head, response_body
from each
where true
on conflict (workspace_id, delivery_id, item, hop) do update -- postgres
on conflict (delivery_id, item, hop) do update -- sqlite
set number = default, -- postgres
set number = (select max(number) + 1 from answers), -- sqlite
  external_id = excluded.external_id, request = excluded.request,
  response_head = excluded.response_head, response_body = excluded.response_body");

    static UNSTAMPED: Sql = sql("
each (workspace_id uuid, id uuid, edited json, provenance json)
update deals as d
set edited = each.edited::jsonb, provenance = each.provenance
from each
where d.id = each.id
and d.workspace_id = each.workspace_id");

    // The first pause is kept: its reason is what an operator has to look into.
    static PAUSES: Sql = sql("
each (id text, paused_at time, paused_reason text)
update connections
set paused_at = each.paused_at, paused_reason = each.paused_reason
from each
where connections.id = each.id
and connections.paused_at is null");

    static HISTORY: Sql = made(|| {
        let columns = ["workspace_id", "deal_id", "at", "who", "changes"];
        schema::DEAL_HISTORY.insert(&columns, OnConflict::Fail)
    });

    static LOGS: Sql = made(|| schema::DEAL_LOGS.insert(&[], OnConflict::Fail));
}

/// Returns dedupe keys that were not claimed before.
fn new_claims<'a>(
    set: &'a WorkingSet,
    locked: &LockedRows,
) -> Result<Vec<[Arg<'a>; Claim::WIDTH]>, StoreError> {
    let new: BTreeMap<_, _> = set
        .claims
        .iter()
        .filter(|(key, claim)| is_written(claim.change) && !locked.claims.contains(*key))
        .collect();
    new.into_iter()
        .map(|(key, claim)| claim.args(key))
        .collect()
}

pub async fn changed_claims(
    tx: &mut Tx,
    set: &WorkingSet,
    locked: &LockedRows,
) -> Result<(), StoreError> {
    let (mut changed, mut removed) = (Vec::new(), Vec::new());
    for key in &locked.claims {
        let Some(claim) = set.claims.get(key) else {
            continue;
        };
        match claim.change {
            RowChange::None => {}
            RowChange::New | RowChange::Changed => changed.push(claim.args(key)?),
            RowChange::Removed => removed.push(claim.args(key)?),
        }
    }
    tx.run_each(&REMOVED_CLAIMS, &removed).await?;
    tx.run_each(&CHANGED_CLAIMS, &changed).await?;
    Ok(())
}

fn contact_keys(set: &WorkingSet) -> Vec<[Arg<'_>; 3]> {
    let new: BTreeMap<_, _> = set
        .new_contact_keys
        .iter()
        .map(|(workspace, key, contact)| ((*workspace, key), *contact))
        .collect();
    new.into_iter()
        .map(|((workspace_id, key), contact_id)| args! { workspace_id, key, contact_id })
        .collect()
}

fn shared_keys(set: &WorkingSet) -> Vec<[Arg<'_>; 3]> {
    set.shared_keys
        .iter()
        .map(|(workspace_id, key, contact_id)| args! { workspace_id, key, contact_id })
        .collect()
}

/// Returns the deliveries that the batch brings, in the order of the writes, so that rows are stored in
/// the order of arrival.
fn brought<'a>(
    set: &'a WorkingSet,
    writes: &'a [Write],
) -> impl Iterator<Item = (&'a Acceptance, &'a DeliveryRecord)> {
    writes.iter().enumerate().filter_map(|(at, write)| {
        let Write::Accept(acceptance) = write else {
            return None;
        };
        let delivery = set.deliveries.get(&acceptance.delivery.id)?;
        (delivery.brought_by == Some(at)).then_some((&**acceptance, delivery))
    })
}

fn new_deliveries<'a>(
    set: &'a WorkingSet,
    writes: &'a [Write],
) -> Result<Vec<[Arg<'a>; DeliveryRecord::WIDTH]>, StoreError> {
    brought(set, writes)
        .map(|(acceptance, delivery)| delivery.args(&acceptance.delivery))
        .collect()
}

fn delivery_keys(set: &WorkingSet, writes: &[Write]) -> Vec<[Arg<'static>; 3]> {
    let mut rows = Vec::new();
    for (acceptance, _) in brought(set, writes) {
        let (id, workspace) = (acceptance.delivery.id, acceptance.delivery.workspace);
        let keys = acceptance.keys.iter();
        rows.extend(keys.map(|&key| args! { workspace_id: workspace, delivery_id: id, key }));
    }
    rows
}

/// Saves changes of existing deliveries. The raw request stays as it is.
pub async fn changed_deliveries(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for (id, delivery) in &set.deliveries {
        if delivery.change == RowChange::Changed {
            rows.push(args! {
                workspace_id: delivery.workspace,
                id,
                status: delivery.status.as_str(),
                error: delivery.error.as_deref(),
                notes: json(&delivery.notes)?,
                ran: delivery.ran.as_ref().map(json).transpose()?,
                attempts: delivery.attempts,
                next_attempt_at: delivery.next_attempt_at,
                presented: delivery.presented.as_deref(),
            });
        }
    }
    tx.run_each(&CHANGED_DELIVERIES, &rows).await?;
    Ok(())
}

fn items(
    set: &WorkingSet,
    which: impl Fn(&DeliveryRecord, RowChange) -> bool,
) -> Result<Vec<[Arg<'_>; ItemRecord::WIDTH]>, StoreError> {
    let items = set.deliveries.iter().flat_map(|(id, delivery)| {
        let items = delivery.items.iter();
        items.map(move |(index, item)| (*id, delivery, *index, item))
    });
    items
        .filter(|(_, delivery, _, item)| which(delivery, item.change))
        .map(|(id, delivery, index, item)| item.args(delivery.workspace, id, index))
        .collect()
}

pub async fn changed_items(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let removed = items(set, |_, change| change == RowChange::Removed)?;
    tx.run_each(&REMOVED_ITEMS, &removed).await?;
    let written = items(set, |delivery, change| {
        delivery.change != RowChange::New && is_written(change)
    })?;
    tx.run_each(&ITEMS, &written).await?;
    Ok(())
}

fn is_written(change: RowChange) -> bool {
    matches!(change, RowChange::New | RowChange::Changed)
}

pub async fn fetches(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let (mut written, mut removed) = (Vec::new(), Vec::new());
    for (key, fetch) in &set.fetches {
        match fetch.change {
            RowChange::None => {}
            RowChange::Removed => removed.push(args! {
                workspace_id: fetch.workspace,
                delivery_id: key.0,
                item: key.1,
            }),
            RowChange::New | RowChange::Changed => written.push(fetch.args(key)?),
        }
    }
    tx.run_each(&REMOVED_FETCHES, &removed).await?;
    tx.run_each(&FETCHES, &written).await?;
    Ok(())
}

/// Stores the answers of sources. An answer to the same fetch replaces the earlier one and gets
/// a new number.
pub async fn answers(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let rows = set
        .new_answers
        .iter()
        .map(|answer| {
            Ok(args! {
                from answer: workspace_id = workspace, delivery_id = delivery, item, hop,
                external_id, request;
                response_head: head(&answer.response)?, response_body: &answer.response.body,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    tx.run_each(&ANSWERS, &rows).await?;
    Ok(())
}

/// Saves changes of deals that no export shows.
pub async fn unstamped(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let deals = set.unstamped_deals.iter();
    let deals = deals.filter_map(|(workspace, id)| Some((workspace, id, set.deals.get(id)?)));
    let rows = deals.map(|(workspace_id, id, deal)| {
        let (edited, provenance) = (json(&deal.edited)?, json(&deal.provenance)?);
        Ok(args! { workspace_id: *workspace_id, id: *id, edited, provenance })
    });
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    tx.run_each(&UNSTAMPED, &rows).await?;
    Ok(())
}

/// Pauses connections. A connection that is already paused keeps its first pause.
pub async fn pauses(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let mut first: BTreeMap<&ConnectionId, _> = BTreeMap::new();
    for (connection, pause) in &set.pauses {
        first.entry(connection).or_insert(pause);
    }
    let rows: Vec<_> = first
        .into_iter()
        .map(|(id, pause)| args! { id, paused_at: pause.since, paused_reason: &pause.reason })
        .collect();
    tx.run_each(&PAUSES, &rows).await?;
    Ok(())
}

/// Returns the history of deals: who changed what. Every writer has locked the deal, so a deal's
/// rows are in the order in which they were decided.
fn history(set: &WorkingSet) -> Result<Vec<[Arg<'_>; 5]>, StoreError> {
    set.new_history
        .iter()
        .map(|row| {
            Ok(args! {
                workspace_id: row.workspace,
                deal_id: row.deal,
                at: set.now,
                who: json(&row.by)?,
                changes: json(&row.changes)?,
            })
        })
        .collect()
}

fn logs(set: &WorkingSet) -> Result<Vec<[Arg<'_>; 10]>, StoreError> {
    set.new_logs
        .iter()
        .map(|row| {
            Ok(args! {
                workspace_id: row.by.workspace,
                id: row.id,
                deal_id: row.deal,
                created_at: set.now,
                partner_id: row.by.partner,
                key_id: row.by.key,
                kind: &row.kind,
                subject: &row.subject,
                description: row.description.as_deref(),
                metadata: json(&row.metadata)?,
            })
        })
        .collect()
}

// Statements that nearly every batch needs.
static NEW: LazyLock<Together> = LazyLock::new(|| {
    Together::new(vec![
        &NEW_CLAIMS,
        &CONTACT_KEYS,
        &SHARED_KEYS,
        &NEW_DELIVERIES,
        &NEW_ITEMS,
        &HISTORY,
        &LOGS,
    ])
});

/// Inserts rows that did not exist before. A key that is missing in the count was created by
/// another host after this batch looked for it.
/// Fails with [`StoreError::Contended`] if another host created one of the keys.
pub async fn new(
    tx: &mut Tx,
    set: &WorkingSet,
    locked: &LockedRows,
    writes: &[Write],
) -> Result<(), StoreError> {
    let (claims, keys, shared) = (
        new_claims(set, locked)?,
        contact_keys(set),
        shared_keys(set),
    );
    let deliveries = new_deliveries(set, writes)?;
    let items = items(set, |delivery, change| {
        delivery.change == RowChange::New && is_written(change)
    })?;
    let (history, logs) = (history(set)?, logs(set)?);
    let rows = [
        listed(&claims),
        listed(&keys),
        listed(&shared),
        listed(&deliveries),
        listed(&items),
        listed(&history),
        listed(&logs),
    ];
    let [claims_made, keys_made, ..] = tx.run_together(&NEW, rows).await?;
    tx.run_each(&DELIVERY_KEYS, &delivery_keys(set, writes))
        .await?;
    all_made(claims.len(), claims_made)?;
    all_made(keys.len(), keys_made)
}
