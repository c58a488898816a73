//! Loads what a batch touches: one statement a table, whatever the number of writes.
//! `cross join` keeps SQLite from turning the loops around: the short list of
//! what is wanted leads, the big table is looked up.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::columns::{self, Columns as _};
use super::json;
use crate::domain::id::{ConnectionId, ContactId, DealId, DeliveryId, WorkspaceId};
use crate::store::StoreError;
use crate::store::decide::{
    Change, Claim, ClaimKey, Contact, Deal, Delivery, Fetch, Item, Known, QuarantineUse,
};

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
select d.workspace_id, d.id, d.connection_id, d.received_us, d.status, d.error, d.notes,
  d.ran, d.attempts, d.next_attempt_us, d.presented, d.lease, d.lease_until_us
from json_each(?1) as wanted
cross join deliveries as d on d.id = wanted.value";

const ITEMS: &str = "
select i.delivery_id, i.item, i.status, i.external_id, i.deal_id, i.contact_id, i.message
from json_each(?1) as wanted
cross join items as i on i.delivery_id = wanted.value";

const FETCHES: &str = "
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.dedupe_key, f.external_id, f.hop,
  f.due_us, f.until_us, f.attempts, f.ran, f.lease, f.lease_until_us, f.request, f.state,
  f.response_head, f.response_body
from json_each(?1) as wanted
cross join fetches as f on f.delivery_id = wanted.value";

pub async fn deliveries(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<DeliveryId>,
) -> Result<(), StoreError> {
    for row in rows(connection, DELIVERIES, wanted).await? {
        known.deliveries.insert(row.id("id")?, delivery(&row)?);
    }
    for row in rows(connection, ITEMS, wanted).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?) {
            delivery.items.insert(row.number("item")?, item(&row)?);
        }
    }
    for row in rows(connection, FETCHES, wanted).await? {
        let key = (row.id("delivery_id")?, row.number("item")?);
        known.fetches.insert(key, fetch(&row)?);
    }
    Ok(())
}

fn delivery(row: &SqliteRow) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        workspace: row.id("workspace_id")?,
        connection: row.id("connection_id")?,
        received_at: row.time("received_us")?,
        status: columns::delivery_status(row)?,
        error: row.try_get("error")?,
        notes: row.json("notes")?,
        ran: row.json_if("ran")?,
        attempts: row.number("attempts")?,
        next_attempt_at: row.time_if("next_attempt_us")?,
        presented: row.try_get("presented")?,
        lease: row.try_get("lease")?,
        held: row.time_if("lease_until_us")?.is_some(),
        items: BTreeMap::new(),
        brought_by: None,
        change: Change::None,
    })
}

fn item(row: &SqliteRow) -> Result<Item, StoreError> {
    Ok(Item {
        status: columns::item_status(row)?,
        external_id: row.try_get("external_id")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        message: row.try_get("message")?,
        diff: Vec::new(),
        change: Change::None,
    })
}

fn fetch(row: &SqliteRow) -> Result<Fetch, StoreError> {
    Ok(Fetch {
        workspace: row.id("workspace_id")?,
        connection: row.id("connection_id")?,
        dedupe_key: row.try_get("dedupe_key")?,
        external_id: row.try_get("external_id")?,
        request: row.try_get("request")?,
        state: row.try_get("state")?,
        hop: row.number("hop")?,
        due_at: row.time("due_us")?,
        until: row.time("until_us")?,
        attempts: row.number("attempts")?,
        ran: Some(row.json("ran")?),
        response: columns::response(row)?,
        lease: row.try_get("lease")?,
        held: row.time_if("lease_until_us")?.is_some(),
        change: Change::None,
    })
}

const CLAIMS: &str = "
select d.connection_id, d.key, d.workspace_id, d.delivery_id, d.item, d.until_us, d.deal_id,
  d.contact_id
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
        let key: ClaimKey = (
            row.id::<ConnectionId>("connection_id")?,
            row.try_get("key")?,
        );
        let claim = Claim {
            workspace: row.id("workspace_id")?,
            delivery: row.id("delivery_id")?,
            item: row.number("item")?,
            until: row.time_if("until_us")?,
            deal: row.id_if("deal_id")?,
            contact: row.id_if("contact_id")?,
            change: Change::None,
        };
        known.claims.insert(key, claim);
    }
    Ok(())
}

const CONTACTS_BY_KEY: &str = "
select k.workspace_id, k.key, c.id, c.name, c.email, c.phone_number, c.props, c.edited
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
        let key = (row.id("workspace_id")?, row.try_get("key")?);
        known.contact_keys.insert(key, id);
        known.contacts.insert(id, contact(&row, "props", "edited")?);
    }
    Ok(())
}

fn contact(row: &SqliteRow, props: &str, edited: &str) -> Result<Contact, StoreError> {
    Ok(Contact {
        workspace: row.id("workspace_id")?,
        name: row.try_get("name")?,
        email: row.try_get("email")?,
        phone_number: row.try_get("phone_number")?,
        props: row.json::<Map<String, Value>>(props)?,
        edited: row.json(edited)?,
        change: Change::None,
    })
}

const DEALS: &str = "
select d.workspace_id, d.id, d.person_id, d.agent_id, d.title, d.props, d.edited, d.product_id,
  d.external_id, d.connection_id, d.delivery_id,
  c.name, c.email, c.phone_number, c.props as contact_props, c.edited as contact_edited
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
        let person: ContactId = row.id("person_id")?;
        let deal = Deal {
            workspace: row.id("workspace_id")?,
            person,
            agent: row
                .try_get::<Option<i64>, _>("agent_id")?
                .map(crate::domain::id::AgentId),
            title: row.try_get("title")?,
            props: row.json("props")?,
            edited: row.json("edited")?,
            product: row.id_if("product_id")?,
            external_id: row.try_get("external_id")?,
            connection: row.id_if("connection_id")?,
            delivery: row.id_if("delivery_id")?,
            change: Change::None,
        };
        known.deals.insert(row.id("id")?, deal);
        let contact = contact(&row, "contact_props", "contact_edited")?;
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
        let key = (row.id("workspace_id")?, row.try_get("external_id")?);
        known.products.insert(key, row.id("id")?);
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
        let agent = crate::domain::id::AgentId(row.try_get("id")?);
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
        let used = QuarantineUse {
            count: row.number("count")?,
            bytes: row.number("bytes")?,
        };
        known.quarantine.insert(row.id("connection_id")?, used);
    }
    Ok(())
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    DELIVERIES,
    ITEMS,
    FETCHES,
    CLAIMS,
    CONTACTS_BY_KEY,
    DEALS,
    PRODUCTS,
    FIRST_AGENTS,
    QUARANTINE,
];
