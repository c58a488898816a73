//! Saves what a batch made and changed, all but what carries a stamp (`stamp`).
//! Rows travel as one array a column. What is new comes first, since it may meet
//! what another host has just made; then what was locked by `load` is changed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::columns::{self, at};
use super::load::{Locked, WHOLE};
use crate::domain::delivery::DeliveryStatus;
use crate::domain::exchange::HttpResponse;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::store::decide::{Change, Claim, Delivery, Fetch, Item, Known};
use crate::store::{StoreError, Write};

/// How a transaction is found again when the answer to its commit was lost.
#[derive(Clone, Debug)]
pub struct Trace {
    pub batch: Uuid,
    /// The server's process that has it, and the number that it gave to it.
    pub backend: i32,
    pub number: String,
}

// One statement for all that nearly every batch has. Its last part is the
// batch's mark. Keys are counted: one that is missing was made by another host
// since this transaction looked for it.
const NEW: &str = "
with claimed as (
  insert into dedupe (connection_id, key, workspace_id, delivery_id, item, until_at, deal_id,
    contact_id)
  select * from unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[], $5::int[],
    $6::timestamptz[], $7::uuid[], $8::uuid[])
  on conflict do nothing
  returning 1
), named as (
  insert into contact_keys (workspace_id, key, contact_id)
  select * from unnest($9::uuid[], $10::text[], $11::uuid[])
  on conflict do nothing
  returning 1
), arrived as (
  insert into deliveries (workspace_id, id, connection_id, received_at, method, path, query,
    headers, body_bytes, status, error, notes, ran, attempts, next_attempt_at, presented, body)
  select n.workspace_id, n.id, n.connection_id, n.received_at, n.method, n.path, n.query::json,
    n.headers::json, length(n.body), n.status, n.error, n.notes::json, n.ran::jsonb, n.attempts,
    n.next_attempt_at, n.presented, n.body
  from unnest($12::uuid[], $13::uuid[], $14::text[], $15::timestamptz[], $16::text[], $17::text[],
    $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::bigint[],
    $25::timestamptz[], $26::bytea[], $27::bytea[])
    as n (workspace_id, id, connection_id, received_at, method, path, query, headers, status, error,
      notes, ran, attempts, next_attempt_at, presented, body)
), contained as (
  insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id,
    message)
  select * from unnest($28::uuid[], $29::uuid[], $30::int[], $31::text[], $32::text[], $33::uuid[],
    $34::uuid[], $35::text[])
)
insert into commit_markers (batch_id)
values ($36)
returning pg_backend_pid() as backend, pg_current_xact_id()::xid::text as number,
  (select count(*) from claimed) as claims,
  (select count(*) from named) as keys";

/// What nobody had before.
pub async fn new(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
    writes: &[Write],
    batch: Uuid,
) -> Result<Trace, StoreError> {
    let claims = new_claims(known, locked);
    let keys = new_keys(known);
    let (claims_sent, keys_sent) = (claims.keys.len(), keys.keys.len());
    let deliveries = new_deliveries(known, writes)?;
    let items = Items::of(known, |delivery| delivery.change == Change::New).0;
    let row = sqlx::query(NEW)
        .bind(claims.connections)
        .bind(claims.keys)
        .bind(claims.workspaces)
        .bind(claims.deliveries)
        .bind(claims.items)
        .bind(claims.untils)
        .bind(claims.deals)
        .bind(claims.contacts)
        .bind(keys.workspaces)
        .bind(keys.keys)
        .bind(keys.contacts)
        .bind(deliveries.workspaces)
        .bind(deliveries.ids)
        .bind(deliveries.connections)
        .bind(deliveries.received)
        .bind(deliveries.methods)
        .bind(deliveries.paths)
        .bind(deliveries.queries)
        .bind(deliveries.headers)
        .bind(deliveries.states.statuses)
        .bind(deliveries.states.errors)
        .bind(deliveries.states.notes)
        .bind(deliveries.states.ran)
        .bind(deliveries.states.attempts)
        .bind(deliveries.states.next)
        .bind(deliveries.states.presented)
        .bind(deliveries.bodies)
        .bind(items.workspaces)
        .bind(items.deliveries)
        .bind(items.places)
        .bind(items.statuses)
        .bind(items.externals)
        .bind(items.deals)
        .bind(items.contacts)
        .bind(items.messages)
        .bind(batch)
        .fetch_one(connection)
        .await?;
    let made = |column: &str| -> Result<usize, StoreError> {
        Ok(usize::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
    };
    if made("claims")? < claims_sent || made("keys")? < keys_sent {
        return Err(StoreError::Contended);
    }
    Ok(Trace {
        batch,
        backend: row.try_get("backend")?,
        number: row.try_get("number")?,
    })
}

#[derive(Default)]
struct Claims<'a> {
    connections: Vec<&'a str>,
    keys: Vec<Cow<'a, str>>,
    workspaces: Vec<Uuid>,
    deliveries: Vec<Uuid>,
    items: Vec<i32>,
    untils: Vec<Option<DateTime<Utc>>>,
    deals: Vec<Option<Uuid>>,
    contacts: Vec<Option<Uuid>>,
}

impl<'a> Claims<'a> {
    fn push(&mut self, connection: &'a str, key: Cow<'a, str>, claim: &Claim) {
        self.connections.push(connection);
        self.keys.push(key);
        self.workspaces.push(claim.workspace.0);
        self.deliveries.push(claim.delivery.0);
        self.items.push(place(claim.item));
        self.untils.push(claim.until.map(at));
        self.deals.push(claim.deal.map(|id| id.0));
        self.contacts.push(claim.contact.map(|id| id.0));
    }
}

/// Sorted, as every host inserts them.
fn new_claims<'a>(known: &'a Known, locked: &Locked) -> Claims<'a> {
    let new: BTreeMap<_, _> = known
        .claims
        .iter()
        .filter(|(key, claim)| {
            matches!(claim.change, Change::New | Change::Changed) && !locked.claims.contains(*key)
        })
        .map(|((connection, key), claim)| ((connection.as_str(), columns::text(key)), claim))
        .collect();
    let mut claims = Claims::default();
    for ((connection, key), claim) in new {
        claims.push(connection, key, claim);
    }
    claims
}

#[derive(Default)]
struct Keys<'a> {
    workspaces: Vec<Uuid>,
    keys: Vec<Cow<'a, str>>,
    contacts: Vec<Uuid>,
}

fn new_keys(known: &Known) -> Keys<'_> {
    let new: BTreeMap<_, _> = known
        .new_contact_keys
        .iter()
        .map(|(workspace, key, contact)| ((workspace.0, columns::text(key)), contact.0))
        .collect();
    let mut keys = Keys::default();
    for ((workspace, key), contact) in new {
        keys.workspaces.push(workspace);
        keys.keys.push(key);
        keys.contacts.push(contact);
    }
    keys
}

#[derive(Default)]
struct NewDeliveries<'a> {
    workspaces: Vec<Uuid>,
    ids: Vec<Uuid>,
    connections: Vec<&'a str>,
    received: Vec<DateTime<Utc>>,
    methods: Vec<Cow<'a, str>>,
    paths: Vec<Cow<'a, str>>,
    queries: Vec<String>,
    headers: Vec<String>,
    bodies: Vec<&'a [u8]>,
    states: States<'a>,
}

/// What may change of a delivery.
#[derive(Default)]
struct States<'a> {
    statuses: Vec<&'static str>,
    errors: Vec<Option<Cow<'a, str>>>,
    notes: Vec<String>,
    ran: Vec<Option<String>>,
    attempts: Vec<i64>,
    next: Vec<Option<DateTime<Utc>>>,
    presented: Vec<Option<&'a [u8]>>,
}

impl<'a> States<'a> {
    fn push(&mut self, delivery: &'a Delivery) -> Result<(), StoreError> {
        let notes: Vec<_> = delivery
            .notes
            .iter()
            .map(|note| columns::text(note))
            .collect();
        self.statuses.push(delivery.status.as_str());
        self.errors
            .push(delivery.error.as_deref().map(columns::text));
        self.notes.push(columns::json(&notes)?);
        self.ran
            .push(delivery.ran.as_ref().map(columns::json).transpose()?);
        self.attempts.push(i64::from(delivery.attempts));
        self.next.push(delivery.next_attempt_at.map(at));
        self.presented.push(delivery.presented.as_deref());
        Ok(())
    }
}

/// In the order of the writes, so that rows lie in the order of arrival.
fn new_deliveries<'a>(
    known: &'a Known,
    writes: &'a [Write],
) -> Result<NewDeliveries<'a>, StoreError> {
    let mut rows = NewDeliveries::default();
    for (place, write) in writes.iter().enumerate() {
        let Write::Accept(acceptance) = write else {
            continue;
        };
        let new = &acceptance.delivery;
        let Some(delivery) = known
            .deliveries
            .get(&new.id)
            .filter(|delivery| delivery.brought_by == Some(place))
        else {
            continue;
        };
        rows.workspaces.push(new.workspace.0);
        rows.ids.push(new.id.0);
        rows.connections.push(new.connection.as_str());
        rows.received.push(at(new.received_at));
        rows.methods.push(columns::text(&new.method));
        rows.paths.push(columns::text(&new.path));
        rows.queries.push(columns::json(&new.query)?);
        rows.headers.push(columns::json(&new.headers)?);
        rows.bodies.push(&new.body);
        rows.states.push(delivery)?;
    }
    Ok(rows)
}

#[derive(Default)]
struct Items<'a> {
    workspaces: Vec<Uuid>,
    deliveries: Vec<Uuid>,
    places: Vec<i32>,
    statuses: Vec<&'static str>,
    externals: Vec<Option<Cow<'a, str>>>,
    deals: Vec<Option<Uuid>>,
    contacts: Vec<Option<Uuid>>,
    messages: Vec<Option<Cow<'a, str>>>,
}

impl<'a> Items<'a> {
    fn push(&mut self, id: DeliveryId, delivery: &Delivery, index: u32, item: &'a Item) {
        self.workspaces.push(delivery.workspace.0);
        self.deliveries.push(id.0);
        self.places.push(place(index));
        self.statuses.push(item.status.as_str());
        self.externals
            .push(item.external_id.as_deref().map(columns::text));
        self.deals.push(item.deal.map(|id| id.0));
        self.contacts.push(item.contact.map(|id| id.0));
        self.messages
            .push(item.message.as_deref().map(columns::text));
    }

    /// The items to write of these deliveries, and the places to empty.
    fn of(known: &'a Known, which: impl Fn(&Delivery) -> bool) -> (Self, Places) {
        let mut items = Self::default();
        let mut removed = Places::default();
        let chosen = known
            .deliveries
            .iter()
            .filter(|(_, delivery)| which(delivery));
        for (id, delivery) in chosen {
            for (index, item) in &delivery.items {
                match item.change {
                    Change::None => {}
                    Change::Removed => removed.push(delivery.workspace.0, *id, *index),
                    Change::New | Change::Changed => items.push(*id, delivery, *index, item),
                }
            }
        }
        (items, removed)
    }
}

/// Items or fetches by where they are.
#[derive(Default)]
struct Places {
    workspaces: Vec<Uuid>,
    deliveries: Vec<Uuid>,
    places: Vec<i32>,
}

impl Places {
    fn push(&mut self, workspace: Uuid, delivery: DeliveryId, index: u32) {
        self.workspaces.push(workspace);
        self.deliveries.push(delivery.0);
        self.places.push(place(index));
    }
}

fn place(index: u32) -> i32 {
    i32::try_from(index).expect("a delivery has far fewer items")
}

/// Changes of what `load` has locked, and work that is new with its delivery.
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
    pauses(connection, known).await
}

const CHANGED_DELIVERIES: &str = "
update deliveries as d
set status = n.status, error = n.error, notes = n.notes::json, ran = n.ran::jsonb,
  attempts = n.attempts, next_attempt_at = n.next_attempt_at, presented = n.presented
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

async fn remove(
    connection: &mut PgConnection,
    sql: &'static str,
    places: Places,
) -> Result<(), StoreError> {
    if places.places.is_empty() {
        return Ok(());
    }
    sqlx::query(sql)
        .bind(places.workspaces)
        .bind(places.deliveries)
        .bind(places.places)
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

/// A column of rows.
fn each<'a, R, T>(rows: &'a [R], column: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(column).collect()
}

/// All of an answer but its body.
fn head(response: &HttpResponse) -> Result<String, StoreError> {
    columns::json(&(response.status, &response.headers))
}

/// Whether a delivery in this state has a place in the queue though nobody holds it.
pub fn waits(status: DeliveryStatus) -> bool {
    match status {
        DeliveryStatus::Queued
        | DeliveryStatus::Failed
        | DeliveryStatus::Parked
        | DeliveryStatus::Unrouted
        | DeliveryStatus::Quarantined => true,
        DeliveryStatus::Converted
        | DeliveryStatus::Duplicate
        | DeliveryStatus::Rejected
        | DeliveryStatus::Ignored => false,
    }
}

#[derive(Default)]
struct Queue<'a> {
    workspaces: Vec<Uuid>,
    deliveries: Vec<Uuid>,
    places: Vec<i32>,
    connections: Vec<&'a str>,
    statuses: Vec<&'static str>,
    digests: Vec<Option<&'a str>>,
    bytes: Vec<i64>,
    dues: Vec<Option<DateTime<Utc>>>,
    leases: Vec<i64>,
    untils: Vec<Option<DateTime<Utc>>>,
}

// The size of a delivery stays as it came.
const QUEUE: &str = "
insert into queue (workspace_id, delivery_id, item, connection_id, status, digest, body_bytes,
  due_at, lease, lease_until)
select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[],
  $7::bigint[], $8::timestamptz[], $9::bigint[], $10::timestamptz[])
on conflict (delivery_id, item) do update
set connection_id = excluded.connection_id, status = excluded.status, digest = excluded.digest,
  due_at = excluded.due_at, lease = excluded.lease, lease_until = excluded.lease_until";

const OUT_OF_QUEUE: &str = "
delete from queue as q
using unnest($1::uuid[], $2::uuid[], $3::int[]) as n (workspace_id, delivery_id, item)
where q.delivery_id = n.delivery_id
and q.item = n.item";

async fn queue(
    connection: &mut PgConnection,
    known: &Known,
    locked: &Locked,
    writes: &[Write],
) -> Result<(), StoreError> {
    let mut rows = Queue::default();
    let mut removed = Places::default();
    let until = |key: (DeliveryId, i32), held: bool| {
        let work = locked.work.get(&key)?;
        work.until.filter(|_| held)
    };
    // Sorted, though only this transaction can have them: the same order everywhere.
    let deliveries: BTreeMap<_, _> = known.deliveries.iter().collect();
    for (id, delivery) in deliveries {
        if delivery.change == Change::None {
            continue;
        }
        if !waits(delivery.status) && !delivery.held {
            if locked.work.contains_key(&(*id, WHOLE)) {
                removed.workspaces.push(delivery.workspace.0);
                removed.deliveries.push(id.0);
                removed.places.push(WHOLE);
            }
            continue;
        }
        let due = match delivery.status {
            DeliveryStatus::Queued | DeliveryStatus::Failed => delivery.next_attempt_at,
            _ => None,
        };
        rows.workspaces.push(delivery.workspace.0);
        rows.deliveries.push(id.0);
        rows.places.push(WHOLE);
        rows.connections.push(delivery.connection.as_str());
        rows.statuses.push(delivery.status.as_str());
        rows.digests
            .push(delivery.ran.as_ref().map(|ran| ran.digest.0.as_str()));
        rows.bytes.push(size(delivery, writes));
        rows.dues.push(due.map(at));
        rows.leases.push(delivery.lease);
        rows.untils.push(until((*id, WHOLE), delivery.held));
    }
    let fetches: BTreeMap<_, _> = known.fetches.iter().collect();
    for ((id, index), fetch) in fetches {
        match fetch.change {
            Change::None => {}
            Change::Removed => removed.push(fetch.workspace.0, *id, *index),
            Change::New | Change::Changed => {
                rows.workspaces.push(fetch.workspace.0);
                rows.deliveries.push(id.0);
                rows.places.push(place(*index));
                rows.connections.push(fetch.connection.as_str());
                rows.statuses.push("fetch");
                rows.digests
                    .push(fetch.ran.as_ref().map(|ran| ran.digest.0.as_str()));
                rows.bytes.push(0);
                rows.dues.push(Some(at(fetch.due_at)));
                rows.leases.push(fetch.lease);
                rows.untils.push(until((*id, place(*index)), fetch.held));
            }
        }
    }
    remove(connection, OUT_OF_QUEUE, removed).await?;
    if rows.places.is_empty() {
        return Ok(());
    }
    sqlx::query(QUEUE)
        .bind(rows.workspaces)
        .bind(rows.deliveries)
        .bind(rows.places)
        .bind(rows.connections)
        .bind(rows.statuses)
        .bind(rows.digests)
        .bind(rows.bytes)
        .bind(rows.dues)
        .bind(rows.leases)
        .bind(rows.untils)
        .execute(connection)
        .await?;
    Ok(())
}

/// The bytes of a delivery that this batch brings.
fn size(delivery: &Delivery, writes: &[Write]) -> i64 {
    match delivery.brought_by.and_then(|place| writes.get(place)) {
        Some(Write::Accept(acceptance)) => {
            i64::try_from(acceptance.delivery.body.len()).unwrap_or(i64::MAX)
        }
        _ => 0,
    }
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

const PAUSES: &str = "
update connections as c
set paused_at = n.paused_at, paused_reason = n.paused_reason
from unnest($1::text[], $2::timestamptz[], $3::text[]) as n (id, paused_at, paused_reason)
where c.id = n.id";

async fn pauses(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    // The last word of each connection.
    let last: HashMap<&ConnectionId, _> = known
        .pauses
        .iter()
        .map(|(connection, pause)| (connection, pause))
        .collect();
    let rows: Vec<_> = last
        .into_iter()
        .collect::<BTreeMap<_, _>>()
        .into_iter()
        .collect();
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

pub(super) const SQL: &[&str] = &[
    NEW,
    CHANGED_DELIVERIES,
    CHANGED_ITEMS,
    REMOVED_ITEMS,
    FETCHES,
    REMOVED_FETCHES,
    QUEUE,
    OUT_OF_QUEUE,
    ANSWERS,
    CHANGED_CLAIMS,
    REMOVED_CLAIMS,
    PAUSES,
];
