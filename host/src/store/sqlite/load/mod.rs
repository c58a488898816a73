//! Loads what a batch touches: one statement a table, whatever the number of writes.
//! `cross join` keeps SQLite from turning the loops around: the short list of
//! what is wanted leads, the big table is looked up.

pub mod dialogue;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::json;
use crate::domain::id::{
    AgentId, ConnectionId, ContactId, DealId, DeliveryId, ProductId, WorkspaceId,
};
use crate::limits;
use crate::store::StoreError;
use crate::store::decide::{Arriving, ClaimKey, Known, Needs, Places};
use crate::store::row::deliveries::item_status;
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

// The peer lies past the body: it is read only of those that may have one.
const DELIVERIES: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_at, d.body_bytes, d.status,
  d.error, d.notes, d.ran, d.attempts, d.next_attempt_at, d.presented, d.lease,
  d.lease_until_at, iif(d.presented is null, null, d.peer) as peer
from json_each(?1) as wanted
cross join deliveries as d on d.id = wanted.value";

// First and last place of a stretch.
const ITEMS: &str = "
select i.delivery_id, i.item, i.status, i.external_id, i.deal_id, i.contact_id, i.message
from json_each(?1) as wanted
cross join items as i
  on i.delivery_id = wanted.value ->> 0
  and i.item >= wanted.value ->> 1
  and i.item <= wanted.value ->> 2";

const LAST_ITEMS: &str = "
select wanted.value as delivery_id, (
    select max(item) from items where delivery_id = wanted.value) as last
from json_each(?1) as wanted";

const ALL_ITEMS: &str = "
select i.delivery_id, i.status, count(*) as count, max(i.item) as last
from json_each(?1) as wanted
cross join items as i on i.delivery_id = wanted.value
group by i.delivery_id, i.status";

const FETCHES: &str = "
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.dedupe_key, f.external_id, f.hop,
  f.due_at, f.until_at, f.attempts, f.ran, f.lease,
  f.lease_until_at, f.request, f.state, f.response_head, f.response_body
from json_each(?1) as wanted
cross join fetches as f
  on f.delivery_id = wanted.value ->> 0
  and f.item >= wanted.value ->> 1
  and f.item <= wanted.value ->> 2";

pub async fn deliveries(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeMap<DeliveryId, Places>,
) -> Result<(), StoreError> {
    let ids = wanted.keys().copied().collect();
    for row in rows(connection, DELIVERIES, &ids).await? {
        known
            .deliveries
            .insert(row.id("id")?, known::delivery(&row, lease(&row)?)?);
    }
    let stretches: BTreeSet<(DeliveryId, u32, u32)> = wanted
        .iter()
        .flat_map(|(id, places)| {
            let stretches = places.stretches.iter();
            stretches.map(|(first, last)| (*id, *first, *last))
        })
        .collect();
    items(connection, known, &stretches).await?;
    for row in rows(connection, FETCHES, &stretches).await? {
        let key = (row.id("delivery_id")?, row.small("item")?);
        known.fetches.insert(key, known::fetch(&row, lease(&row)?)?);
    }
    Ok(())
}

async fn items(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(DeliveryId, u32, u32)>,
) -> Result<(), StoreError> {
    for row in rows(connection, ITEMS, wanted).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?) {
            delivery
                .items
                .insert(row.small("item")?, known::item(&row)?);
        }
    }
    Ok(())
}

/// Of deliveries that are looked at in part: the owners of keys, and what has to be
/// known of the others. Comes after the claims.
pub async fn others(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    let owners = needs.owners(known).into_iter();
    let owners = owners.map(|(id, place)| (id, place, place)).collect();
    items(connection, known, &owners).await?;
    for row in rows(connection, LAST_ITEMS, &needs.in_part(false)).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?)
            && let Some(last) = row.number_if("last")?
        {
            delivery.reserve(last);
        }
    }
    for row in rows(connection, ALL_ITEMS, &needs.in_part(true)).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?) {
            delivery.count_others(item_status(&row)?, row.number("count")?);
            delivery.reserve(row.small("last")?);
        }
    }
    Ok(())
}

/// The lease of a row, and whether somebody holds it.
fn lease(row: &SqliteRow) -> Result<(i64, bool), StoreError> {
    let held = row.time_if("lease_until_at")?.is_some();
    Ok((row.number("lease")?, held))
}

const CLAIMS: &str = "
select d.connection_id, d.key, d.workspace_id, d.delivery_id, d.item, d.until_at,
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
select k.workspace_id, k.key, c.id, c.name, c.email, c.phone_number, c.banned_at,
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
  c.name, c.email, c.phone_number, c.banned_at, c.props as contact_props, c.edited as contact_edited
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

// Only a quarantine that the batch may fill is read row by row, so that the usual
// batch pays for a sum. Its bound is a thousand rows, all of them in the index.
const QUARANTINE: &str = "
select d.connection_id, d.id, d.body_bytes, d.peer, d.lease_until_at
from json_each(?1) as wanted
cross join deliveries as d indexed by deliveries_quarantined
  on d.status = 'quarantined'
  and d.connection_id = wanted.value ->> 0
where (
  select count(*) + (wanted.value ->> 1) > ?2 or sum(body_bytes) + (wanted.value ->> 2) > ?3
  from deliveries indexed by deliveries_quarantined
  where status = 'quarantined'
  and connection_id = wanted.value ->> 0)
order by d.connection_id, d.received_at, d.id";

pub async fn quarantine(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeMap<ConnectionId, Arriving>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(connection, arriving)| (connection.as_str(), arriving.count, arriving.bytes))
        .collect();
    let rows = sqlx::query(QUARANTINE)
        .bind(json(&wanted)?)
        .bind(limits::QUARANTINED_PER_CONNECTION.cast_signed())
        .bind(limits::QUARANTINED_BYTES_PER_CONNECTION.cast_signed())
        .fetch_all(connection)
        .await?;
    for row in rows {
        let quarantine = known.quarantine.entry(row.text_id("connection_id")?);
        quarantine.or_default().add(known::quarantined(&row)?);
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
    LAST_ITEMS,
    ALL_ITEMS,
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
