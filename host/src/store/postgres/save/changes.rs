//! Changes of what `load` has locked, and work that is new with its delivery.

use std::collections::BTreeMap;

use sqlx::postgres::PgConnection;

use super::dialogue;
use super::queue::queue;
use super::rows::{Claims, Items, Places, States, each, place, remove};
use crate::domain::exchange::HttpResponse;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::store::decide::{Change, Fetch, Known};
use crate::store::postgres::columns::{self, at};
use crate::store::postgres::load::Locked;
use crate::store::postgres::sweep::{self, Old};
use crate::store::{StoreError, Write};

pub async fn changes(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
    writes: &[Write],
) -> Result<(), StoreError> {
    changed_deliveries(connection, known).await?;
    changed_items(connection, known).await?;
    fetches(connection, known).await?;
    queue(connection, known, locked, writes).await?;
    answers(connection, known).await?;
    changed_claims(connection, known, locked).await?;
    dialogue::changes(connection, known, locked).await?;
    pauses(connection, known).await?;
    evicted(connection, known).await
}

/// Comes last: the rows are not locked in the order of the others, and so nothing
/// but the clocks of the feeds may be waited for while they are. What another host
/// evicts too, or has taken up since it was loaded, is left to it: the quarantine
/// is past its bound by that much until the next delivery comes.
async fn evicted(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let mut old = Old::default();
    for (workspace, id) in &known.evicted {
        old.workspaces.push(workspace.0);
        old.ids.push(id.0);
    }
    sweep::remove(connection, &old, known.now).await?;
    Ok(())
}

// A sender that has nothing to prove any more is proven: its address goes.
const CHANGED_DELIVERIES: &str = "
update deliveries as d
set status = n.status, error = n.error, notes = n.notes::json, ran = n.ran::jsonb,
  attempts = n.attempts, next_attempt_at = n.next_attempt_at, presented = n.presented,
  peer = case when n.presented is null then null else d.peer end
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
  $8::timestamptz[], $9::bytea[])
  as n (workspace_id, id, status, error, notes, ran, attempts, next_attempt_at, presented)
where d.workspace_id = n.workspace_id
and d.id = n.id";

async fn changed_deliveries(
    connection: &mut PgConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let mut workspaces = Vec::new();
    let mut ids = Vec::new();
    let mut states = States::default();
    for (id, delivery) in &known.deliveries {
        if delivery.change == Change::Changed {
            workspaces.push(delivery.workspace.0);
            ids.push(id.0);
            states.push(delivery)?;
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    sqlx::query(CHANGED_DELIVERIES)
        .bind(workspaces)
        .bind(ids)
        .bind(states.statuses)
        .bind(states.errors)
        .bind(states.notes)
        .bind(states.ran)
        .bind(states.attempts)
        .bind(states.next)
        .bind(states.presented)
        .execute(connection)
        .await?;
    Ok(())
}

const CHANGED_ITEMS: &str = "
insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id,
  message)
select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::uuid[],
  $7::uuid[], $8::text[])
on conflict (workspace_id, delivery_id, item) do update
set status = excluded.status, external_id = excluded.external_id, deal_id = excluded.deal_id,
  contact_id = excluded.contact_id, message = excluded.message";

const REMOVED_ITEMS: &str = "
delete from items as i
using unnest($1::uuid[], $2::uuid[], $3::int[]) as n (workspace_id, delivery_id, item)
where i.workspace_id = n.workspace_id
and i.delivery_id = n.delivery_id
and i.item = n.item";

async fn changed_items(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let (items, removed) = Items::of(known, |delivery| delivery.change != Change::New);
    remove(connection, REMOVED_ITEMS, removed).await?;
    if items.places.is_empty() {
        return Ok(());
    }
    sqlx::query(CHANGED_ITEMS)
        .bind(items.workspaces)
        .bind(items.deliveries)
        .bind(items.places)
        .bind(items.statuses)
        .bind(items.externals)
        .bind(items.deals)
        .bind(items.contacts)
        .bind(items.messages)
        .execute(connection)
        .await?;
    Ok(())
}

const FETCHES: &str = "
insert into fetches (workspace_id, delivery_id, item, connection_id, dedupe_key, external_id, hop,
  due_at, until_at, attempts, ran, request, state, response_head, response_body)
select n.workspace_id, n.delivery_id, n.item, n.connection_id, n.dedupe_key, n.external_id, n.hop,
  n.due_at, n.until_at, n.attempts, n.ran::jsonb, n.request::json, n.state, n.response_head::json,
  n.response_body
from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::int[],
  $8::timestamptz[], $9::timestamptz[], $10::bigint[], $11::text[], $12::text[], $13::bytea[],
  $14::text[], $15::bytea[])
  as n (workspace_id, delivery_id, item, connection_id, dedupe_key, external_id, hop, due_at,
    until_at, attempts, ran, request, state, response_head, response_body)
on conflict (workspace_id, delivery_id, item) do update
set connection_id = excluded.connection_id, dedupe_key = excluded.dedupe_key,
  external_id = excluded.external_id, hop = excluded.hop, due_at = excluded.due_at,
  until_at = excluded.until_at, attempts = excluded.attempts, ran = excluded.ran,
  request = excluded.request, state = excluded.state, response_head = excluded.response_head,
  response_body = excluded.response_body";

const REMOVED_FETCHES: &str = "
delete from fetches as f
using unnest($1::uuid[], $2::uuid[], $3::int[]) as n (workspace_id, delivery_id, item)
where f.workspace_id = n.workspace_id
and f.delivery_id = n.delivery_id
and f.item = n.item";

async fn fetches(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let mut removed = Places::default();
    let mut rows: Vec<(&(DeliveryId, u32), &Fetch)> = Vec::new();
    for (key, fetch) in &known.fetches {
        match fetch.change {
            Change::None => {}
            Change::Removed => removed.push(fetch.workspace.0, key.0, key.1),
            Change::New | Change::Changed => rows.push((key, fetch)),
        }
    }
    remove(connection, REMOVED_FETCHES, removed).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let ran = rows
        .iter()
        .map(|(_, fetch)| columns::json(&fetch.ran))
        .collect::<Result<Vec<_>, _>>()?;
    let heads = rows
        .iter()
        .map(|(_, fetch)| fetch.response.as_ref().map(head).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    sqlx::query(FETCHES)
        .bind(each(&rows, |(_, fetch)| fetch.workspace.0))
        .bind(each(&rows, |((delivery, _), _)| delivery.0))
        .bind(each(&rows, |((_, index), _)| place(*index)))
        .bind(each(&rows, |(_, fetch)| fetch.connection.as_str()))
        .bind(each(&rows, |(_, fetch)| {
            fetch.dedupe_key.as_deref().map(columns::text)
        }))
        .bind(each(&rows, |(_, fetch)| {
            fetch.external_id.as_deref().map(columns::text)
        }))
        .bind(each(&rows, |(_, fetch)| place(fetch.hop)))
        .bind(each(&rows, |(_, fetch)| at(fetch.due_at)))
        .bind(each(&rows, |(_, fetch)| at(fetch.until)))
        .bind(each(&rows, |(_, fetch)| i64::from(fetch.attempts)))
        .bind(ran)
        .bind(each(&rows, |(_, fetch)| fetch.request.as_str()))
        .bind(each(&rows, |(_, fetch)| fetch.state.as_slice()))
        .bind(heads)
        .bind(each(&rows, |(_, fetch)| {
            fetch
                .response
                .as_ref()
                .map(|response| response.body.as_slice())
        }))
        .execute(connection)
        .await?;
    Ok(())
}

/// All of an answer but its body.
fn head(response: &HttpResponse) -> Result<String, StoreError> {
    columns::json(&(response.status, &response.headers))
}

// An item that was fetched anew gets a new number with its new answer.
const ANSWERS: &str = "
insert into answers (workspace_id, delivery_id, item, hop, external_id, request, response_head,
  response_body)
select n.workspace_id, n.delivery_id, n.item, n.hop, n.external_id, n.request::json,
  n.response_head::json, n.response_body
from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[], $6::text[], $7::text[],
  $8::bytea[])
  as n (workspace_id, delivery_id, item, hop, external_id, request, response_head, response_body)
on conflict (workspace_id, delivery_id, item, hop) do update
set number = default, external_id = excluded.external_id, request = excluded.request,
  response_head = excluded.response_head, response_body = excluded.response_body";

async fn answers(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let rows = &known.new_answers;
    if rows.is_empty() {
        return Ok(());
    }
    let heads = rows
        .iter()
        .map(|answer| head(&answer.response))
        .collect::<Result<Vec<_>, _>>()?;
    sqlx::query(ANSWERS)
        .bind(each(rows, |answer| answer.workspace.0))
        .bind(each(rows, |answer| answer.delivery.0))
        .bind(each(rows, |answer| place(answer.item)))
        .bind(each(rows, |answer| place(answer.hop)))
        .bind(each(rows, |answer| {
            answer.external_id.as_deref().map(columns::text)
        }))
        .bind(each(rows, |answer| answer.request.as_str()))
        .bind(heads)
        .bind(each(rows, |answer| answer.response.body.as_slice()))
        .execute(connection)
        .await?;
    Ok(())
}

const CHANGED_CLAIMS: &str = "
update dedupe as d
set workspace_id = n.workspace_id, delivery_id = n.delivery_id, item = n.item,
  until_at = n.until_at, deal_id = n.deal_id, contact_id = n.contact_id
from unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[], $5::int[], $6::timestamptz[],
  $7::uuid[], $8::uuid[])
  as n (connection_id, key, workspace_id, delivery_id, item, until_at, deal_id, contact_id)
where d.connection_id = n.connection_id
and d.key = n.key";

const REMOVED_CLAIMS: &str = "
delete from dedupe as d
using unnest($1::text[], $2::text[]) as n (connection_id, key)
where d.connection_id = n.connection_id
and d.key = n.key";

async fn changed_claims(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
) -> Result<(), StoreError> {
    let mut changed = Claims::default();
    let mut removed_of = Vec::new();
    let mut removed = Vec::new();
    for key in &locked.claims {
        let Some(claim) = known.claims.get(key) else {
            continue;
        };
        let (owner, text) = (key.0.as_str(), columns::text(&key.1));
        match claim.change {
            Change::None => {}
            Change::New | Change::Changed => changed.push(owner, text, claim),
            Change::Removed => {
                removed_of.push(owner);
                removed.push(text);
            }
        }
    }
    if !removed.is_empty() {
        sqlx::query(REMOVED_CLAIMS)
            .bind(removed_of)
            .bind(removed)
            .execute(&mut *connection)
            .await?;
    }
    if changed.keys.is_empty() {
        return Ok(());
    }
    sqlx::query(CHANGED_CLAIMS)
        .bind(changed.connections)
        .bind(changed.keys)
        .bind(changed.workspaces)
        .bind(changed.deliveries)
        .bind(changed.items)
        .bind(changed.untils)
        .bind(changed.deals)
        .bind(changed.contacts)
        .execute(connection)
        .await?;
    Ok(())
}

// What paused it first is what a person has to look into.
const PAUSES: &str = "
update connections as c
set paused_at = n.paused_at, paused_reason = n.paused_reason
from unnest($1::text[], $2::timestamptz[], $3::text[]) as n (id, paused_at, paused_reason)
where c.id = n.id
and c.paused_at is null";

async fn pauses(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let mut first: BTreeMap<&ConnectionId, _> = BTreeMap::new();
    for (connection, pause) in &known.pauses {
        first.entry(connection).or_insert(pause);
    }
    let rows: Vec<_> = first.into_iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(PAUSES)
        .bind(each(&rows, |(connection, _)| connection.as_str()))
        .bind(each(&rows, |(_, pause)| at(pause.since)))
        .bind(each(&rows, |(_, pause)| columns::text(&pause.reason)))
        .execute(connection)
        .await?;
    Ok(())
}

pub const SQL: &[&str] = &[
    CHANGED_DELIVERIES,
    CHANGED_ITEMS,
    REMOVED_ITEMS,
    FETCHES,
    REMOVED_FETCHES,
    ANSWERS,
    CHANGED_CLAIMS,
    REMOVED_CLAIMS,
    PAUSES,
];
