//! Deliveries with their items, fetches and answers. The bytes of new deliveries
//! travel as one blob beside their rows, cut up in SQL, since bytes in JSON would
//! double.

use std::net::IpAddr;

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::super::json;
use super::write;
use crate::domain::exchange::HttpResponse;
use crate::domain::hex;
use crate::store::decide::{Change, Delivery, Known};
use crate::store::{StoreError, Write};

#[derive(Serialize)]
struct NewDeliveryRow {
    workspace: String,
    id: String,
    connection: String,
    received: i64,
    method: String,
    path: String,
    query: String,
    headers: String,
    /// Where its body is in the blob, from 1 as SQL counts.
    at: usize,
    bytes: usize,
    status: &'static str,
    error: Option<String>,
    notes: String,
    ran: Option<String>,
    attempts: u32,
    next: Option<i64>,
    presented: Option<String>,
    peer: Option<IpAddr>,
}

// A piece of an empty blob is null to SQLite, not empty.
const NEW_DELIVERIES: &str = "
insert into deliveries (workspace_id, id, connection_id, received_at, method, path, query, headers,
  body_bytes, status, error, notes, ran, attempts, next_attempt_at, lease, presented, body,
  peer)
select value ->> 'workspace', value ->> 'id', value ->> 'connection', value ->> 'received',
  value ->> 'method', value ->> 'path', value ->> 'query', value ->> 'headers',
  value ->> 'bytes', value ->> 'status', value ->> 'error', value ->> 'notes', value ->> 'ran',
  value ->> 'attempts', value ->> 'next', 0, unhex(value ->> 'presented'),
  coalesce(substr(?2, value ->> 'at', value ->> 'bytes'), x''), value ->> 'peer'
from jsonb_each(?1)";

pub(super) async fn new_deliveries(
    connection: &mut SqliteConnection,
    known: &Known,
    writes: &[Write],
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    let mut bodies = Vec::new();
    // In the order of the writes, so that rows lie in the order of arrival.
    for (at, write) in writes.iter().enumerate() {
        let Write::Accept(acceptance) = write else {
            continue;
        };
        let new = &acceptance.delivery;
        let Some(delivery) = known
            .deliveries
            .get(&new.id)
            .filter(|delivery| delivery.brought_by == Some(at))
        else {
            continue;
        };
        rows.push(NewDeliveryRow {
            workspace: new.workspace.to_string(),
            id: new.id.to_string(),
            connection: new.connection.to_string(),
            received: new.received_at.0,
            method: new.method.clone(),
            path: new.path.clone(),
            query: json(&new.query)?,
            headers: json(&new.headers)?,
            at: bodies.len() + 1,
            bytes: new.body.len(),
            status: delivery.status.as_str(),
            error: delivery.error.clone(),
            notes: json(&delivery.notes)?,
            ran: delivery.ran.as_ref().map(json).transpose()?,
            attempts: delivery.attempts,
            next: delivery.next_attempt_at.map(|at| at.0),
            presented: delivery.presented.as_deref().map(hex::of),
            peer: delivery.peer,
        });
        bodies.extend_from_slice(&new.body);
    }
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(NEW_DELIVERIES)
        .bind(json(&rows)?)
        .bind(bodies)
        .execute(connection)
        .await?;
    Ok(())
}

#[derive(Serialize)]
struct ChangedDeliveryRow {
    id: String,
    status: &'static str,
    error: Option<String>,
    notes: String,
    ran: Option<String>,
    attempts: u32,
    next: Option<i64>,
    presented: Option<String>,
    held: bool,
    held_until: Option<i64>,
}

// A sender that has nothing to prove any more is proven: its address goes.
const CHANGED_DELIVERIES: &str = "
update deliveries
set status = value ->> 'status', error = value ->> 'error', notes = value ->> 'notes',
  ran = value ->> 'ran', attempts = value ->> 'attempts', next_attempt_at = value ->> 'next',
  presented = unhex(value ->> 'presented'), peer = iif(value ->> 'presented' is null, null, peer),
  lease_until_at = iif(value ->> 'held', coalesce(value ->> 'held_until', lease_until_at), null)
from jsonb_each(?1)
where deliveries.id = value ->> 'id'";

pub(super) async fn changed_deliveries(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let changed = |delivery: &Delivery| delivery.change == Change::Changed;
    let rows = known
        .deliveries
        .iter()
        .filter(|(_, delivery)| changed(delivery))
        .map(|(id, delivery)| {
            Ok(ChangedDeliveryRow {
                id: id.to_string(),
                status: delivery.status.as_str(),
                error: delivery.error.clone(),
                notes: json(&delivery.notes)?,
                ran: delivery.ran.as_ref().map(json).transpose()?,
                attempts: delivery.attempts,
                next: delivery.next_attempt_at.map(|at| at.0),
                presented: delivery.presented.as_deref().map(hex::of),
                held: delivery.held,
                held_until: delivery.held_until.map(|until| until.0),
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, CHANGED_DELIVERIES, &rows).await
}

#[derive(Serialize)]
struct ItemRow<'a> {
    workspace: String,
    delivery: String,
    item: u32,
    status: &'static str,
    external: Option<&'a str>,
    deal: Option<String>,
    contact: Option<String>,
    message: Option<&'a str>,
}

const ITEMS: &str = "
insert or replace into items (workspace_id, delivery_id, item, status, external_id, deal_id,
  contact_id, message)
select value ->> 'workspace', value ->> 'delivery', value ->> 'item', value ->> 'status',
  value ->> 'external', value ->> 'deal', value ->> 'contact', value ->> 'message'
from jsonb_each(?1)";

const REMOVED_ITEMS: &str = "
delete from items
where (delivery_id, item) in (
  select value ->> 0, value ->> 1 from jsonb_each(?1)
)";

pub(super) async fn items(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    let mut removed = Vec::new();
    for (id, delivery) in &known.deliveries {
        for (index, item) in &delivery.items {
            match item.change {
                Change::None => {}
                Change::Removed => removed.push((id.to_string(), *index)),
                Change::New | Change::Changed => rows.push(ItemRow {
                    workspace: delivery.workspace.to_string(),
                    delivery: id.to_string(),
                    item: *index,
                    status: item.status.as_str(),
                    external: item.external_id.as_deref(),
                    deal: item.deal.map(|id| id.to_string()),
                    contact: item.contact.map(|id| id.to_string()),
                    message: item.message.as_deref(),
                }),
            }
        }
    }
    write(connection, REMOVED_ITEMS, &removed).await?;
    write(connection, ITEMS, &rows).await
}

#[derive(Serialize)]
struct FetchRow<'a> {
    workspace: String,
    delivery: String,
    item: u32,
    connection: &'a str,
    dedupe: Option<&'a str>,
    external: Option<&'a str>,
    hop: u32,
    due: i64,
    until: i64,
    attempts: u32,
    ran: String,
    lease: i64,
    held: bool,
    request: &'a str,
    state: String,
    head: Option<String>,
    body: Option<String>,
}

const FETCHES: &str = "
insert into fetches (workspace_id, delivery_id, item, connection_id, dedupe_key, external_id, hop,
  due_at, until_at, attempts, ran, lease, lease_until_at, request, state, response_head,
  response_body)
select value ->> 'workspace', value ->> 'delivery', value ->> 'item', value ->> 'connection',
  value ->> 'dedupe', value ->> 'external', value ->> 'hop', value ->> 'due', value ->> 'until',
  value ->> 'attempts', value ->> 'ran', value ->> 'lease', null, value ->> 'request',
  unhex(value ->> 'state'), value ->> 'head', unhex(value ->> 'body')
from jsonb_each(?1)
where true
on conflict (delivery_id, item) do update
set connection_id = excluded.connection_id, dedupe_key = excluded.dedupe_key,
  external_id = excluded.external_id, hop = excluded.hop, due_at = excluded.due_at,
  until_at = excluded.until_at, attempts = excluded.attempts, ran = excluded.ran,
  request = excluded.request, state = excluded.state, response_head = excluded.response_head,
  response_body = excluded.response_body,
  lease_until_at = iif(
    (select value ->> 'held' from jsonb_each(?1)
     where value ->> 'delivery' = fetches.delivery_id and value ->> 'item' = fetches.item),
    fetches.lease_until_at, null)";

const REMOVED_FETCHES: &str = "
delete from fetches
where (delivery_id, item) in (
  select value ->> 0, value ->> 1 from jsonb_each(?1)
)";

pub(super) async fn fetches(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    let mut removed = Vec::new();
    for ((delivery, item), fetch) in &known.fetches {
        match fetch.change {
            Change::None => {}
            Change::Removed => removed.push((delivery.to_string(), *item)),
            Change::New | Change::Changed => rows.push(FetchRow {
                workspace: fetch.workspace.to_string(),
                delivery: delivery.to_string(),
                item: *item,
                connection: fetch.connection.as_str(),
                dedupe: fetch.dedupe_key.as_deref(),
                external: fetch.external_id.as_deref(),
                hop: fetch.hop,
                due: fetch.due_at.0,
                until: fetch.until.0,
                attempts: fetch.attempts,
                ran: json(&fetch.ran)?,
                lease: fetch.lease,
                held: fetch.held,
                request: &fetch.request,
                state: hex::of(&fetch.state),
                head: fetch.response.as_ref().map(head).transpose()?,
                body: fetch
                    .response
                    .as_ref()
                    .map(|response| hex::of(&response.body)),
            }),
        }
    }
    write(connection, REMOVED_FETCHES, &removed).await?;
    write(connection, FETCHES, &rows).await
}

/// All of an answer but its body.
fn head(response: &HttpResponse) -> Result<String, StoreError> {
    json(&(response.status, &response.headers))
}

#[derive(Serialize)]
struct AnswerRow<'a> {
    workspace: String,
    delivery: String,
    item: u32,
    hop: u32,
    external: Option<&'a str>,
    request: &'a str,
    head: String,
    body: String,
}

// An item that was fetched anew gets a new number with its new answer.
const ANSWERS: &str = "
insert or replace into answers (workspace_id, delivery_id, item, hop, external_id, request,
  response_head, response_body)
select value ->> 'workspace', value ->> 'delivery', value ->> 'item', value ->> 'hop',
  value ->> 'external', value ->> 'request', value ->> 'head', unhex(value ->> 'body')
from jsonb_each(?1)";

pub(super) async fn answers(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let rows = known
        .new_answers
        .iter()
        .map(|answer| {
            Ok(AnswerRow {
                workspace: answer.workspace.to_string(),
                delivery: answer.delivery.to_string(),
                item: answer.item,
                hop: answer.hop,
                external: answer.external_id.as_deref(),
                request: &answer.request,
                head: head(&answer.response)?,
                body: hex::of(&answer.response.body),
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, ANSWERS, &rows).await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    NEW_DELIVERIES,
    CHANGED_DELIVERIES,
    ITEMS,
    REMOVED_ITEMS,
    FETCHES,
    REMOVED_FETCHES,
    ANSWERS,
];
