//! Loads what a batch touches, and locks what it may change: one statement a
//! table, whatever the number of writes.
//!
//! Every batch locks in the same order, so that two hosts never wait for each
//! other in a circle: work in the queue, dedupe keys, deals, contacts, each
//! sorted. What is new is inserted after all of these locks are held (`save`),
//! and the clocks of the feeds come last (`stamp`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::columns::{self, Columns as _};
use crate::domain::id::{
    AgentId, ConnectionId, ContactId, DealId, DeliveryId, ProductId, WorkspaceId,
};
use crate::store::StoreError;
use crate::store::decide::{
    Change, Claim, ClaimKey, Contact, Deal, Delivery, Fetch, Item, Known, QuarantineUse,
};

/// The place of a delivery itself in the queue, beside those of its items' fetches.
pub const WHOLE: i32 = -1;

/// What the transaction holds locked beside what is known.
#[derive(Default)]
pub struct Locked {
    pub work: HashMap<(DeliveryId, i32), Work>,
    /// Keys that somebody has, expired ones included.
    pub claims: HashSet<ClaimKey>,
}

/// A row of the queue.
pub struct Work {
    pub workspace: WorkspaceId,
    pub lease: i64,
    pub until: Option<DateTime<Utc>>,
}

impl Locked {
    /// The workspaces of the deliveries that are locked.
    pub fn workspaces(&self) -> BTreeSet<WorkspaceId> {
        self.work.values().map(|work| work.workspace).collect()
    }

    fn of(&self, delivery: DeliveryId, place: i32) -> (i64, bool) {
        self.work
            .get(&(delivery, place))
            .map_or((0, false), |work| (work.lease, work.until.is_some()))
    }
}

const WORK: &str = "
select workspace_id, delivery_id, item, lease, lease_until
from queue
where delivery_id = any ($1)
order by delivery_id, item
for update";

/// Locks the work that the batch names. A delivery that is not there is finished
/// and held by nobody: what a batch says of it is stale.
pub async fn work(
    connection: &mut PgConnection,
    wanted: &BTreeSet<DeliveryId>,
) -> Result<Locked, StoreError> {
    let mut locked = Locked::default();
    if wanted.is_empty() {
        return Ok(locked);
    }
    let ids: Vec<Uuid> = wanted.iter().map(|id| id.0).collect();
    for row in sqlx::query(WORK).bind(ids).fetch_all(connection).await? {
        let work = Work {
            workspace: WorkspaceId(row.try_get("workspace_id")?),
            lease: row.try_get("lease")?,
            until: row.try_get("lease_until")?,
        };
        let key = (
            DeliveryId(row.try_get("delivery_id")?),
            row.try_get("item")?,
        );
        locked.work.insert(key, work);
    }
    Ok(locked)
}

const DELIVERIES: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_at, d.status, d.error, d.notes, d.ran,
  d.attempts, d.next_attempt_at, d.presented
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id";

const ITEMS: &str = "
select i.delivery_id, i.item, i.status, i.external_id, i.deal_id, i.contact_id, i.message
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join items as i
  on i.workspace_id = wanted.workspace_id
  and i.delivery_id = wanted.id";

// A table that is usually empty is read from end to end unless it is told not to be.
const FETCHES: &str = "
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.dedupe_key, f.external_id, f.hop,
  f.due_at, f.until_at, f.attempts, f.ran, f.request::text as request, f.state, f.response_head,
  f.response_body
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
cross join lateral (
  select *
  from fetches
  where workspace_id = wanted.workspace_id
  and delivery_id = wanted.id
  offset 0
) as f";

/// The deliveries whose work is locked, with their items and fetches.
pub async fn deliveries(
    connection: &mut PgConnection,
    known: &mut Known,
    locked: &Locked,
) -> Result<(), StoreError> {
    let wanted: BTreeSet<(WorkspaceId, DeliveryId)> = locked
        .work
        .iter()
        .map(|((delivery, _), work)| (work.workspace, *delivery))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = wanted
        .iter()
        .map(|(workspace, id)| (workspace.0, id.0))
        .unzip();
    let rows = async |sql: &'static str, connection: &mut PgConnection| {
        sqlx::query(sql)
            .bind(&workspaces)
            .bind(&ids)
            .fetch_all(connection)
            .await
    };
    for row in rows(DELIVERIES, connection).await? {
        let id = DeliveryId(row.try_get("id")?);
        known
            .deliveries
            .insert(id, delivery(&row, locked.of(id, WHOLE))?);
    }
    for row in rows(ITEMS, connection).await? {
        let id = DeliveryId(row.try_get("delivery_id")?);
        if let Some(delivery) = known.deliveries.get_mut(&id) {
            delivery.items.insert(row.small("item")?, item(&row)?);
        }
    }
    for row in rows(FETCHES, connection).await? {
        let id = DeliveryId(row.try_get("delivery_id")?);
        let place: i32 = row.try_get("item")?;
        if !locked.work.contains_key(&(id, place)) {
            // Made by another host between the lock and this: not ours yet.
            return Err(StoreError::Contended);
        }
        let fetch = fetch(&row, locked.of(id, place))?;
        known.fetches.insert((id, row.small("item")?), fetch);
    }
    Ok(())
}

fn delivery(row: &PgRow, (lease, held): (i64, bool)) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        workspace: WorkspaceId(row.try_get("workspace_id")?),
        connection: row.text_id("connection_id")?,
        received_at: row.time("received_at")?,
        status: columns::delivery_status(row)?,
        error: row.try_get("error")?,
        notes: row.json("notes")?,
        ran: row.json_if("ran")?,
        attempts: row.number("attempts")?,
        next_attempt_at: row.time_if("next_attempt_at")?,
        presented: row.try_get("presented")?,
        lease,
        held,
        items: BTreeMap::new(),
        brought_by: None,
        change: Change::None,
    })
}

fn item(row: &PgRow) -> Result<Item, StoreError> {
    Ok(Item {
        status: columns::item_status(row)?,
        external_id: row.try_get("external_id")?,
        deal: row.try_get::<Option<Uuid>, _>("deal_id")?.map(DealId),
        contact: row.try_get::<Option<Uuid>, _>("contact_id")?.map(ContactId),
        message: row.try_get("message")?,
        diff: Vec::new(),
        change: Change::None,
    })
}

fn fetch(row: &PgRow, (lease, held): (i64, bool)) -> Result<Fetch, StoreError> {
    Ok(Fetch {
        workspace: WorkspaceId(row.try_get("workspace_id")?),
        connection: row.text_id("connection_id")?,
        dedupe_key: row.try_get("dedupe_key")?,
        external_id: row.try_get("external_id")?,
        request: row.try_get("request")?,
        state: row.try_get("state")?,
        hop: row.small("hop")?,
        due_at: row.time("due_at")?,
        until: row.time("until_at")?,
        attempts: row.number("attempts")?,
        ran: Some(row.json("ran")?),
        response: columns::response(row)?,
        lease,
        held,
        change: Change::None,
    })
}

const CLAIMS: &str = "
select wanted.at, d.workspace_id, d.delivery_id, d.item, d.until_at, d.deal_id, d.contact_id
from unnest($1::text[], $2::text[]) with ordinality as wanted (connection_id, key, at)
join dedupe as d
  on d.connection_id = wanted.connection_id
  and d.key = wanted.key
order by d.connection_id, d.key
for update of d";

pub async fn claims(
    connection: &mut PgConnection,
    known: &mut Known,
    locked: &mut Locked,
    wanted: &BTreeSet<ClaimKey>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: Vec<&ClaimKey> = wanted.iter().collect();
    let owners: Vec<&str> = wanted.iter().map(|(owner, _)| owner.as_str()).collect();
    let keys: Vec<_> = wanted.iter().map(|(_, key)| columns::text(key)).collect();
    let rows = sqlx::query(CLAIMS)
        .bind(owners)
        .bind(keys)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let key = asked(&wanted, &row)?;
        let claim = Claim {
            workspace: WorkspaceId(row.try_get("workspace_id")?),
            delivery: DeliveryId(row.try_get("delivery_id")?),
            item: row.small("item")?,
            until: row.time_if("until_at")?,
            deal: row.try_get::<Option<Uuid>, _>("deal_id")?.map(DealId),
            contact: row.try_get::<Option<Uuid>, _>("contact_id")?.map(ContactId),
            change: Change::None,
        };
        locked.claims.insert((*key).clone());
        known.claims.insert((*key).clone(), claim);
    }
    Ok(())
}

/// What was asked at the place that the row answers, from 1 as SQL counts. The
/// text itself may have been stored without characters that cannot be.
fn asked<'a, T>(wanted: &'a [T], row: &PgRow) -> Result<&'a T, StoreError> {
    let at: i64 = row.try_get("at")?;
    usize::try_from(at - 1)
        .ok()
        .and_then(|at| wanted.get(at))
        .ok_or_else(|| StoreError::Inconsistent {
            what: format!("an answer to question {at}, which was not asked"),
        })
}

const CONTACT_KEYS: &str = "
select wanted.at, k.contact_id
from unnest($1::uuid[], $2::text[]) with ordinality as wanted (workspace_id, key, at)
join contact_keys as k
  on k.workspace_id = wanted.workspace_id
  and k.key = wanted.key";

/// Whom the keys name. A key once made stays as it is, so it needs no lock.
pub async fn contact_keys(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let mut found = BTreeSet::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let wanted: Vec<_> = wanted.iter().collect();
    let workspaces: Vec<Uuid> = wanted.iter().map(|(workspace, _)| workspace.0).collect();
    let keys: Vec<_> = wanted.iter().map(|(_, key)| columns::text(key)).collect();
    let rows = sqlx::query(CONTACT_KEYS)
        .bind(workspaces)
        .bind(keys)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let key = asked(&wanted, &row)?;
        let contact = ContactId(row.try_get("contact_id")?);
        known.contact_keys.insert((*key).clone(), contact);
        found.insert((key.0, contact));
    }
    Ok(found)
}

const DEALS: &str = "
select d.workspace_id, d.id, d.person_id, d.agent_id, d.title, d.props, d.edited, d.product_id,
  d.external_id, d.connection_id, d.delivery_id
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deals as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id
order by d.id
for update of d";

/// The deals that may change; their people.
pub async fn deals(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, DealId)>,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let mut people = BTreeSet::new();
    if wanted.is_empty() {
        return Ok(people);
    }
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = wanted
        .iter()
        .map(|(workspace, id)| (workspace.0, id.0))
        .unzip();
    let rows = sqlx::query(DEALS)
        .bind(workspaces)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let workspace = WorkspaceId(row.try_get("workspace_id")?);
        let person = ContactId(row.try_get("person_id")?);
        let connection: Option<&str> = row.try_get("connection_id")?;
        let deal = Deal {
            workspace,
            person,
            agent: row.try_get::<Option<i64>, _>("agent_id")?.map(AgentId),
            title: row.try_get("title")?,
            props: row.json("props")?,
            edited: row.json("edited")?,
            product: row.try_get::<Option<Uuid>, _>("product_id")?.map(ProductId),
            external_id: row.try_get("external_id")?,
            connection: connection
                .map(|_| row.text_id::<ConnectionId>("connection_id"))
                .transpose()?,
            delivery: row
                .try_get::<Option<Uuid>, _>("delivery_id")?
                .map(DeliveryId),
            change: Change::None,
        };
        known.deals.insert(DealId(row.try_get("id")?), deal);
        people.insert((workspace, person));
    }
    Ok(people)
}

const CONTACTS: &str = "
select c.workspace_id, c.id, c.name, c.email, c.phone_number, c.props, c.edited
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join contacts as c
  on c.workspace_id = wanted.workspace_id
  and c.id = wanted.id
order by c.id
for update of c";

pub async fn contacts(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, ContactId)>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = wanted
        .iter()
        .map(|(workspace, id)| (workspace.0, id.0))
        .unzip();
    let rows = sqlx::query(CONTACTS)
        .bind(workspaces)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let contact = Contact {
            workspace: WorkspaceId(row.try_get("workspace_id")?),
            name: row.try_get("name")?,
            email: row.try_get("email")?,
            phone_number: row.try_get("phone_number")?,
            props: row.json::<Map<String, Value>>("props")?,
            edited: row.json("edited")?,
            change: Change::None,
        };
        known
            .contacts
            .insert(ContactId(row.try_get("id")?), contact);
    }
    Ok(())
}

const PRODUCTS: &str = "
select wanted.at, p.id
from unnest($1::uuid[], $2::text[]) with ordinality as wanted (workspace_id, external_id, at)
cross join lateral (
  select id
  from products
  where workspace_id = wanted.workspace_id
  and external_id = wanted.external_id
  offset 0
) as p";

pub async fn products(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: Vec<_> = wanted.iter().collect();
    let workspaces: Vec<Uuid> = wanted.iter().map(|(workspace, _)| workspace.0).collect();
    let ids: Vec<_> = wanted.iter().map(|(_, id)| columns::text(id)).collect();
    let rows = sqlx::query(PRODUCTS)
        .bind(workspaces)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let key = asked(&wanted, &row)?;
        let product = ProductId(row.try_get("id")?);
        known.products.insert((*key).clone(), product);
    }
    Ok(())
}

const FIRST_AGENTS: &str = "
select a.workspace_id, min(a.id) as id
from agents as a
where a.workspace_id = any ($1)
group by a.workspace_id";

pub async fn first_agents(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<WorkspaceId>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let workspaces: Vec<Uuid> = wanted.iter().map(|workspace| workspace.0).collect();
    let rows = sqlx::query(FIRST_AGENTS)
        .bind(workspaces)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let workspace = WorkspaceId(row.try_get("workspace_id")?);
        known
            .first_agents
            .insert(workspace, AgentId(row.try_get("id")?));
    }
    Ok(())
}

const QUARANTINE: &str = "
select connection_id, count(*) as count, sum(body_bytes)::bigint as bytes
from queue
where connection_id = any ($1)
and status = 'quarantined'
group by connection_id";

pub async fn quarantine(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<ConnectionId>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let connections: Vec<&str> = wanted.iter().map(ConnectionId::as_str).collect();
    let rows = sqlx::query(QUARANTINE)
        .bind(connections)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let used = QuarantineUse {
            count: row.number("count")?,
            bytes: row.number("bytes")?,
        };
        known.quarantine.insert(row.text_id("connection_id")?, used);
    }
    Ok(())
}

pub(super) const SQL: &[&str] = &[
    WORK,
    DELIVERIES,
    ITEMS,
    FETCHES,
    CLAIMS,
    CONTACT_KEYS,
    DEALS,
    CONTACTS,
    PRODUCTS,
    FIRST_AGENTS,
    QUARANTINE,
];
