//! Loads what a batch touches: one statement a table, whatever the number of writes.
//! `cross join` keeps SQLite from turning the loops around: the short list of
//! what is wanted leads, the big table is looked up.

pub mod dialogue;

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::json;
use crate::domain::id::{
    AgentId, ConnectionId, ContactId, DealId, DeliveryId, ProductId, WorkspaceId,
};
use crate::store::StoreError;
use crate::store::decide::{ClaimKey, Known};
use crate::store::row::{Columns as _, known};

/// The rows of what is wanted; nothing wanted is no statement at all.
async fn rows<T: Serialize>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    wanted: &BTreeSet<T>,
) -> Result<Vec<SqliteRow>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let found = sqlx::query(sql)
        .bind(json(wanted)?)
        .fetch_all(connection)
        .await?;
    Ok(found)
}

const DELIVERIES: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_us as received_at, d.status, d.error,
  d.notes, d.ran, d.attempts, d.next_attempt_us as next_attempt_at, d.presented, d.lease,
  d.lease_until_us as lease_until_at
from json_each(?1) as wanted
cross join deliveries as d on d.id = wanted.value";

const ITEMS: &str = "
select i.delivery_id, i.item, i.status, i.external_id, i.deal_id, i.contact_id, i.message
from json_each(?1) as wanted
cross join items as i on i.delivery_id = wanted.value";

const FETCHES: &str = "
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.dedupe_key, f.external_id, f.hop,
  f.due_us as due_at, f.until_us as until_at, f.attempts, f.ran, f.lease,
  f.lease_until_us as lease_until_at, f.request, f.state, f.response_head, f.response_body
from json_each(?1) as wanted
cross join fetches as f on f.delivery_id = wanted.value";

pub async fn deliveries(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<DeliveryId>,
) -> Result<(), StoreError> {
    for row in rows(connection, DELIVERIES, wanted).await? {
        known
            .deliveries
            .insert(row.id("id")?, known::delivery(&row, lease(&row)?)?);
    }
    for row in rows(connection, ITEMS, wanted).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?) {
            delivery
                .items
                .insert(row.small("item")?, known::item(&row)?);
        }
    }
    for row in rows(connection, FETCHES, wanted).await? {
        let key = (row.id("delivery_id")?, row.small("item")?);
        known.fetches.insert(key, known::fetch(&row, lease(&row)?)?);
    }
    Ok(())
}

/// The lease of a row, and whether somebody holds it.
fn lease(row: &SqliteRow) -> Result<(i64, bool), StoreError> {
    let held = row.time_if("lease_until_at")?.is_some();
    Ok((row.number("lease")?, held))
}

const CLAIMS: &str = "
select d.connection_id, d.key, d.workspace_id, d.delivery_id, d.item, d.until_us as until_at,
  d.deal_id, d.contact_id
from json_each(?1) as wanted
cross join dedupe as d
  on d.connection_id = wanted.value ->> 0
  and d.key = wanted.value ->> 1";

pub async fn claims(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<ClaimKey>,
) -> Result<(), StoreError> {
    for row in rows(connection, CLAIMS, wanted).await? {
        let key: ClaimKey = (row.text_id("connection_id")?, row.text("key")?);
        known.claims.insert(key, known::claim(&row)?);
    }
    Ok(())
}

const CONTACTS_BY_KEY: &str = "
select k.workspace_id, k.key, c.id, c.name, c.email, c.phone_number, c.banned_us as banned_at,
  c.props, c.edited
from json_each(?1) as wanted
cross join contact_keys as k
  on k.workspace_id = wanted.value ->> 0
  and k.key = wanted.value ->> 1
cross join contacts as c on c.id = k.contact_id";

pub async fn contacts_by_key(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<(), StoreError> {
    for row in rows(connection, CONTACTS_BY_KEY, wanted).await? {
        let id: ContactId = row.id("id")?;
        let key = (row.id("workspace_id")?, row.text("key")?);
        known.contact_keys.insert(key, id);
        known
            .contacts
            .insert(id, known::contact(&row, "props", "edited")?);
    }
    Ok(())
}

const DEALS: &str = "
select d.workspace_id, d.id, d.person_id, d.agent_id, d.owner_id, d.status, d.stage_code, d.title,
  d.props, d.edited, d.product_id, d.external_id, d.connection_id, d.delivery_id,
  coalesce(d.partner_id, (
    select s.partner_id from connections as s where s.id = d.connection_id)) as partner_id,
  c.name, c.email, c.phone_number, c.banned_us as banned_at, c.props as contact_props, c.edited as contact_edited
from json_each(?1) as wanted
cross join deals as d on d.id = wanted.value
cross join contacts as c on c.id = d.person_id";

/// Deals with their contacts. Comes after the contacts that keys found: the same rows.
pub async fn deals(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<DealId>,
) -> Result<(), StoreError> {
    for row in rows(connection, DEALS, wanted).await? {
        let deal = known::deal(&row)?;
        let person = deal.person;
        known.deals.insert(row.id("id")?, deal);
        let contact = known::contact(&row, "contact_props", "contact_edited")?;
        known.contacts.entry(person).or_insert(contact);
    }
    Ok(())
}

const PRODUCTS: &str = "
select p.workspace_id, p.external_id, p.id
from json_each(?1) as wanted
cross join products as p
  on p.workspace_id = wanted.value ->> 0
  and p.external_id = wanted.value ->> 1";

pub async fn products(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<(), StoreError> {
    for row in rows(connection, PRODUCTS, wanted).await? {
        let key = (row.id("workspace_id")?, row.text("external_id")?);
        known.products.insert(key, row.id("id")?);
    }
    Ok(())
}

const PRODUCTS_BY_ID: &str = "
select p.workspace_id, p.external_id, p.id
from json_each(?1) as wanted
cross join products as p
  on p.id = wanted.value ->> 1
  and p.workspace_id = wanted.value ->> 0";

pub async fn products_by_id(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, ProductId)>,
) -> Result<(), StoreError> {
    for row in rows(connection, PRODUCTS_BY_ID, wanted).await? {
        let key = (row.id("workspace_id")?, row.id("id")?);
        known.product_ids.insert(key, row.text("external_id")?);
    }
    Ok(())
}

const OWNERS: &str = "
select o.workspace_id, o.email, o.id
from json_each(?1) as wanted
cross join owners as o
  on o.workspace_id = wanted.value ->> 0
  and o.email = wanted.value ->> 1";

pub async fn owners(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<(), StoreError> {
    for row in rows(connection, OWNERS, wanted).await? {
        let key = (row.id("workspace_id")?, row.text("email")?);
        known.owners.insert(key, row.id("id")?);
    }
    Ok(())
}

const FIRST_AGENTS: &str = "
select a.workspace_id, min(a.id) as id
from json_each(?1) as wanted
cross join agents as a on a.workspace_id = wanted.value
group by a.workspace_id";

pub async fn first_agents(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<WorkspaceId>,
) -> Result<(), StoreError> {
    for row in rows(connection, FIRST_AGENTS, wanted).await? {
        let agent = AgentId(row.number("id")?);
        known.first_agents.insert(row.id("workspace_id")?, agent);
    }
    Ok(())
}

const QUARANTINE: &str = "
select d.connection_id, count(*) as count, sum(d.body_bytes) as bytes
from json_each(?1) as wanted
cross join deliveries as d
  on d.status = 'quarantined'
  and d.connection_id = wanted.value
group by d.connection_id";

pub async fn quarantine(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<ConnectionId>,
) -> Result<(), StoreError> {
    for row in rows(connection, QUARANTINE, wanted).await? {
        let connection = row.text_id("connection_id")?;
        known
            .quarantine
            .insert(connection, known::quarantine(&row)?);
    }
    Ok(())
}

#[cfg(test)]
pub(super) fn sql() -> Vec<&'static str> {
    [OWN, dialogue::SQL].concat()
}

#[cfg(test)]
const OWN: &[&str] = &[
    DELIVERIES,
    ITEMS,
    FETCHES,
    CLAIMS,
    CONTACTS_BY_KEY,
    DEALS,
    PRODUCTS,
    PRODUCTS_BY_ID,
    OWNERS,
    FIRST_AGENTS,
    QUARANTINE,
];
