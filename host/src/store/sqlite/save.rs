//! Saves what a batch changed: one statement a table. Rows travel as one JSON
//! array; the bytes of new deliveries as one blob beside it, cut up in SQL, since
//! bytes in JSON would double. JSON columns travel as text within the JSON, so
//! that they are stored letter by letter as they were.

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::json;
use super::stamp::Stamps;
use crate::domain::deal::{FIRST_STAGE, Status};
use crate::domain::exchange::HttpResponse;
use crate::domain::row::Entity;
use crate::store::decide::{Change, Delivery, Known};
use crate::store::{StoreError, Write};

/// Everything that carries no stamp.
pub async fn rows(
    connection: &mut SqliteConnection,
    known: &Known,
    writes: &[Write],
) -> Result<(), StoreError> {
    new_deliveries(connection, known, writes).await?;
    changed_deliveries(connection, known).await?;
    items(connection, known).await?;
    fetches(connection, known).await?;
    answers(connection, known).await?;
    claims(connection, known).await?;
    contact_keys(connection, known).await?;
    pauses(connection, known).await
}

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
}

// A piece of an empty blob is null to SQLite, not empty.
const NEW_DELIVERIES: &str = "
insert into deliveries (workspace_id, id, connection_id, received_us, method, path, query, headers,
  body_bytes, status, error, notes, ran, attempts, next_attempt_us, lease, presented, body)
select value ->> 'workspace', value ->> 'id', value ->> 'connection', value ->> 'received',
  value ->> 'method', value ->> 'path', value ->> 'query', value ->> 'headers',
  value ->> 'bytes', value ->> 'status', value ->> 'error', value ->> 'notes', value ->> 'ran',
  value ->> 'attempts', value ->> 'next', 0, unhex(value ->> 'presented'),
  coalesce(substr(?2, value ->> 'at', value ->> 'bytes'), x'')
from jsonb_each(?1)";

async fn new_deliveries(
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
            presented: delivery.presented.as_deref().map(hex),
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
}

const CHANGED_DELIVERIES: &str = "
update deliveries
set status = value ->> 'status', error = value ->> 'error', notes = value ->> 'notes',
  ran = value ->> 'ran', attempts = value ->> 'attempts', next_attempt_us = value ->> 'next',
  presented = unhex(value ->> 'presented'),
  lease_until_us = iif(value ->> 'held', lease_until_us, null)
from jsonb_each(?1)
where deliveries.id = value ->> 'id'";

async fn changed_deliveries(
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
                presented: delivery.presented.as_deref().map(hex),
                held: delivery.held,
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

async fn items(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
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
  due_us, until_us, attempts, ran, lease, lease_until_us, request, state, response_head,
  response_body)
select value ->> 'workspace', value ->> 'delivery', value ->> 'item', value ->> 'connection',
  value ->> 'dedupe', value ->> 'external', value ->> 'hop', value ->> 'due', value ->> 'until',
  value ->> 'attempts', value ->> 'ran', value ->> 'lease', null, value ->> 'request',
  unhex(value ->> 'state'), value ->> 'head', unhex(value ->> 'body')
from jsonb_each(?1)
where true
on conflict (delivery_id, item) do update
set connection_id = excluded.connection_id, dedupe_key = excluded.dedupe_key,
  external_id = excluded.external_id, hop = excluded.hop, due_us = excluded.due_us,
  until_us = excluded.until_us, attempts = excluded.attempts, ran = excluded.ran,
  request = excluded.request, state = excluded.state, response_head = excluded.response_head,
  response_body = excluded.response_body,
  lease_until_us = iif(
    (select value ->> 'held' from jsonb_each(?1)
     where value ->> 'delivery' = fetches.delivery_id and value ->> 'item' = fetches.item),
    fetches.lease_until_us, null)";

const REMOVED_FETCHES: &str = "
delete from fetches
where (delivery_id, item) in (
  select value ->> 0, value ->> 1 from jsonb_each(?1)
)";

async fn fetches(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
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
                state: hex(&fetch.state),
                head: fetch.response.as_ref().map(head).transpose()?,
                body: fetch.response.as_ref().map(|response| hex(&response.body)),
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

async fn answers(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
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
                body: hex(&answer.response.body),
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, ANSWERS, &rows).await
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    connection: &'a str,
    key: &'a str,
    workspace: String,
    delivery: String,
    item: u32,
    until: Option<i64>,
    deal: Option<String>,
    contact: Option<String>,
}

const CLAIMS: &str = "
insert or replace into dedupe (connection_id, key, workspace_id, delivery_id, item, until_us,
  deal_id, contact_id)
select value ->> 'connection', value ->> 'key', value ->> 'workspace', value ->> 'delivery',
  value ->> 'item', value ->> 'until', value ->> 'deal', value ->> 'contact'
from jsonb_each(?1)";

const REMOVED_CLAIMS: &str = "
delete from dedupe
where (connection_id, key) in (
  select value ->> 0, value ->> 1 from jsonb_each(?1)
)";

async fn claims(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    let mut removed = Vec::new();
    for ((owner, key), claim) in &known.claims {
        match claim.change {
            Change::None => {}
            Change::Removed => removed.push((owner.as_str(), key.as_str())),
            Change::New | Change::Changed => rows.push(ClaimRow {
                connection: owner.as_str(),
                key,
                workspace: claim.workspace.to_string(),
                delivery: claim.delivery.to_string(),
                item: claim.item,
                until: claim.until.map(|until| until.0),
                deal: claim.deal.map(|id| id.to_string()),
                contact: claim.contact.map(|id| id.to_string()),
            }),
        }
    }
    write(connection, REMOVED_CLAIMS, &removed).await?;
    write(connection, CLAIMS, &rows).await
}

const CONTACT_KEYS: &str = "
insert into contact_keys (workspace_id, key, contact_id)
select value ->> 0, value ->> 1, value ->> 2
from jsonb_each(?1)";

async fn contact_keys(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    write(connection, CONTACT_KEYS, &known.new_contact_keys).await
}

const PAUSES: &str = "
update connections
set paused_us = value ->> 1, paused_reason = value ->> 2
from jsonb_each(?1)
where connections.id = value ->> 0";

async fn pauses(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    let rows: Vec<_> = known
        .pauses
        .iter()
        .map(|(id, pause)| (id, pause.since.0, &pause.reason))
        .collect();
    write(connection, PAUSES, &rows).await
}

/// Contacts and deals, each with its stamp, in the order in which they changed.
pub async fn stamped(
    connection: &mut SqliteConnection,
    known: &Known,
    stamps: &Stamps,
) -> Result<(), StoreError> {
    let mut next = stamps.clone();
    let mut take = |feed| {
        let stamp = next
            .get_mut(&feed)
            .ok_or_else(|| StoreError::Inconsistent {
                what: "a changed row without a stamp".to_owned(),
            })?;
        *stamp += 1;
        Ok::<_, StoreError>(*stamp - 1)
    };
    let mut contacts = Vec::new();
    for id in &known.changed_contacts {
        if let Some(contact) = known.contacts.get(id) {
            contacts.push(ContactRow {
                workspace: contact.workspace.to_string(),
                cursor: take((contact.workspace, Entity::Contacts))?,
                id: id.to_string(),
                name: contact.name.as_deref(),
                email: contact.email.as_deref(),
                phone: contact.phone_number.as_deref(),
                props: json(&contact.props)?,
            });
        }
    }
    let mut deals = Vec::new();
    for id in &known.changed_deals {
        if let Some(deal) = known.deals.get(id) {
            deals.push(DealRow {
                workspace: deal.workspace.to_string(),
                cursor: take((deal.workspace, Entity::Deals))?,
                id: id.to_string(),
                person: deal.person.to_string(),
                agent: deal.agent.map(|agent| agent.0),
                title: deal.title.as_deref(),
                props: json(&deal.props)?,
                product: deal.product.map(|id| id.to_string()),
                external: deal.external_id.as_deref(),
                connection: deal.connection.as_ref().map(|id| id.as_str()),
                delivery: deal.delivery.map(|id| id.to_string()),
            });
        }
    }
    if !contacts.is_empty() {
        sqlx::query(CONTACTS)
            .bind(json(&contacts)?)
            .bind(known.now.0)
            .execute(&mut *connection)
            .await?;
    }
    if !deals.is_empty() {
        sqlx::query(DEALS)
            .bind(json(&deals)?)
            .bind(known.now.0)
            .bind(Status::Open.as_str())
            .bind(FIRST_STAGE)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

#[derive(Serialize)]
struct ContactRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    name: Option<&'a str>,
    email: Option<&'a str>,
    phone: Option<&'a str>,
    props: String,
}

const CONTACTS: &str = "
insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, props, created_us,
  updated_us)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'name',
  value ->> 'email', value ->> 'phone', value ->> 'props', ?2, ?2
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, name = excluded.name, email = excluded.email,
  phone_number = excluded.phone_number, props = excluded.props, updated_us = excluded.updated_us";

#[derive(Serialize)]
struct DealRow<'a> {
    workspace: String,
    cursor: i64,
    id: String,
    person: String,
    agent: Option<i64>,
    title: Option<&'a str>,
    props: String,
    product: Option<String>,
    external: Option<&'a str>,
    connection: Option<&'a str>,
    delivery: Option<String>,
}

// Status, stage and agent belong to people and to the conversation: a source that
// changes its lead leaves them as they are.
const DEALS: &str = "
insert into deals (workspace_id, cursor_us, id, person_id, agent_id, status, title, props,
  created_us, updated_us, stage_code, product_id, external_id, connection_id, delivery_id)
select value ->> 'workspace', value ->> 'cursor', value ->> 'id', value ->> 'person',
  value ->> 'agent', ?3, value ->> 'title', value ->> 'props', ?2, ?2, ?4, value ->> 'product',
  value ->> 'external', value ->> 'connection', value ->> 'delivery'
from jsonb_each(?1)
where true
on conflict (id) do update
set cursor_us = excluded.cursor_us, title = excluded.title, props = excluded.props,
  product_id = excluded.product_id, updated_us = excluded.updated_us";

async fn write<T: Serialize>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    rows: &[T],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(sql)
        .bind(json(rows)?)
        .execute(connection)
        .await?;
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
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
    CLAIMS,
    REMOVED_CLAIMS,
    CONTACT_KEYS,
    PAUSES,
    CONTACTS,
    DEALS,
];
