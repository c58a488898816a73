//! What nobody had before, in one statement.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::rows::{Claims, Items, States};
use super::{all_made, deals, dialogue};
use crate::store::decide::{Change, Known};
use crate::store::postgres::columns::{self, at};
use crate::store::postgres::load::Locked;
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
    headers, body_bytes, status, error, notes, ran, attempts, next_attempt_at, presented, body,
    peer)
  select n.workspace_id, n.id, n.connection_id, n.received_at, n.method, n.path, n.query::json,
    n.headers::json, length(n.body), n.status, n.error, n.notes::json, n.ran::jsonb, n.attempts,
    n.next_attempt_at, n.presented, n.body, n.peer
  from unnest($12::uuid[], $13::uuid[], $14::text[], $15::timestamptz[], $16::text[], $17::text[],
    $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::bigint[],
    $25::timestamptz[], $26::bytea[], $27::bytea[], $28::text[])
    as n (workspace_id, id, connection_id, received_at, method, path, query, headers, status, error,
      notes, ran, attempts, next_attempt_at, presented, body, peer)
), contained as (
  insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id,
    message)
  select * from unnest($29::uuid[], $30::uuid[], $31::int[], $32::text[], $33::text[], $34::uuid[],
    $35::uuid[], $36::text[])
)
insert into commit_markers (batch_id)
values ($37)
returning pg_backend_pid() as backend, pg_current_xact_id()::xid::text as number,
  (select count(*) from claimed) as claims,
  (select count(*) from named) as keys";

// Sorted, as every host inserts them: another's that is not committed is waited for.
const SHARED_KEYS: &str = "
insert into shared_keys (workspace_id, key, contact_id)
select * from unnest($1::uuid[], $2::text[], $3::uuid[])
on conflict do nothing";

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
        .bind(deliveries.peers)
        .bind(items.workspaces)
        .bind(items.deliveries)
        .bind(items.places)
        .bind(items.statuses)
        .bind(items.externals)
        .bind(items.deals)
        .bind(items.contacts)
        .bind(items.messages)
        .bind(batch)
        .fetch_one(&mut *connection)
        .await?;
    let made = |column: &str| -> Result<u64, StoreError> {
        Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
    };
    all_made(claims_sent, made("claims")?)?;
    all_made(keys_sent, made("keys")?)?;
    if !known.shared_keys.is_empty() {
        let shared = shared_keys(known);
        sqlx::query(SHARED_KEYS)
            .bind(shared.workspaces)
            .bind(shared.keys)
            .bind(shared.contacts)
            .execute(&mut *connection)
            .await?;
    }
    dialogue::new(connection, known, locked).await?;
    deals::new(connection, known).await?;
    Ok(Trace {
        batch,
        backend: row.try_get("backend")?,
        number: row.try_get("number")?,
    })
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

impl<'a> Keys<'a> {
    fn push(&mut self, workspace: Uuid, key: Cow<'a, str>, contact: Uuid) {
        self.workspaces.push(workspace);
        self.keys.push(key);
        self.contacts.push(contact);
    }
}

fn new_keys(known: &Known) -> Keys<'_> {
    let new: BTreeMap<_, _> = known
        .new_contact_keys
        .iter()
        .map(|(workspace, key, contact)| ((workspace.0, columns::text(key)), contact.0))
        .collect();
    let mut keys = Keys::default();
    for ((workspace, key), contact) in new {
        keys.push(workspace, key, contact);
    }
    keys
}

fn shared_keys(known: &Known) -> Keys<'_> {
    let mut keys = Keys::default();
    for (workspace, key, contact) in &known.shared_keys {
        keys.push(workspace.0, columns::text(key), contact.0);
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
    peers: Vec<Option<String>>,
    states: States<'a>,
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
        rows.peers.push(delivery.peer.map(|peer| peer.to_string()));
        rows.states.push(delivery)?;
    }
    Ok(rows)
}

pub const SQL: &[&str] = &[NEW, SHARED_KEYS];
