//! The feed clock, and the rows that it stamps: stamps become visible in their
//! own order.
//!
//! The clock's row of each feed is locked last, after every other lock of the
//! transaction, and let go only when its effects are visible. So whoever has seen
//! a stamp has seen every smaller one that will ever be, whichever host gave it.
//! What is written after it are rows that the transaction owns already: new ones,
//! and those that `load` has locked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::columns;
use crate::domain::deal::{FIRST_STAGE, Status};
use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::decide::{Change, Contact, Deal, Known};

/// The next stamp of each feed that changed.
type Stamps = BTreeMap<(WorkspaceId, Entity), i64>;

// One row after the other, in the order of the arrays, which every host sorts
// alike; what is set is worked out when the row is locked. `last + n` before the
// wall clock: a clock that took the time first and added n would run ahead of
// real time by the size of each batch.
const ALLOCATE: &str = "
insert into feed_clock as clock (workspace_id, entity, last_us)
select n.workspace_id, n.entity, greatest(n.changes, feed_now())
from unnest($1::uuid[], $2::smallint[], $3::bigint[]) as n (workspace_id, entity, changes)
on conflict (workspace_id, entity) do update
set last_us = greatest(
  clock.last_us + (
    select n.changes
    from unnest($1::uuid[], $2::smallint[], $3::bigint[]) as n (workspace_id, entity, changes)
    where n.workspace_id = clock.workspace_id
    and n.entity = clock.entity
  ),
  feed_now()
)
returning workspace_id, entity, last_us";

/// Stamps and saves the contacts and deals that changed, in the order in which they did.
pub async fn changed(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let contacts = known
        .changed_contacts
        .iter()
        .filter_map(|id| Some((id.0, known.contacts.get(id)?)));
    let deals = known
        .changed_deals
        .iter()
        .filter_map(|id| Some((id.0, known.deals.get(id)?)));
    let mut changes: BTreeMap<(WorkspaceId, Entity), i64> = BTreeMap::new();
    for (_, contact) in contacts.clone() {
        let feed = (contact.workspace, Entity::Contacts);
        *changes.entry(feed).or_default() += 1;
    }
    for (_, deal) in deals.clone() {
        *changes.entry((deal.workspace, Entity::Deals)).or_default() += 1;
    }
    if changes.is_empty() {
        return Ok(());
    }
    let mut stamps = allocate(connection, &changes).await?;
    let (mut new_contacts, mut changed_contacts) = (Contacts::default(), Contacts::default());
    for (id, contact) in contacts {
        let rows = match contact.change {
            Change::New => &mut new_contacts,
            _ => &mut changed_contacts,
        };
        let stamp = take(&mut stamps, (contact.workspace, Entity::Contacts))?;
        rows.push(id, stamp, contact)?;
    }
    let (mut new_deals, mut changed_deals) = (Deals::default(), Deals::default());
    for (id, deal) in deals {
        let rows = match deal.change {
            Change::New => &mut new_deals,
            _ => &mut changed_deals,
        };
        let stamp = take(&mut stamps, (deal.workspace, Entity::Deals))?;
        rows.push(id, stamp, deal)?;
    }
    if !new_contacts.ids.is_empty() || !new_deals.ids.is_empty() {
        insert(connection, known, new_contacts, new_deals).await?;
    }
    if !changed_contacts.ids.is_empty() || !changed_deals.ids.is_empty() {
        update(connection, known, changed_contacts, changed_deals).await?;
    }
    Ok(())
}

/// The first stamp of each feed; the others follow one by one.
async fn allocate(
    connection: &mut PgConnection,
    changes: &BTreeMap<(WorkspaceId, Entity), i64>,
) -> Result<Stamps, StoreError> {
    let workspaces: Vec<Uuid> = changes.keys().map(|(workspace, _)| workspace.0).collect();
    let entities: Vec<i16> = changes
        .keys()
        .map(|(_, entity)| i16::from(entity.code()))
        .collect();
    let counts: Vec<i64> = changes.values().copied().collect();
    let allocated = sqlx::query(ALLOCATE)
        .bind(workspaces)
        .bind(entities)
        .bind(counts)
        .fetch_all(connection)
        .await?;
    let mut last: BTreeMap<(Uuid, i16), i64> = BTreeMap::new();
    for row in &allocated {
        last.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    changes
        .iter()
        .map(|((workspace, entity), changes)| {
            let key = (workspace.0, i16::from(entity.code()));
            let last = last.get(&key).ok_or_else(|| StoreError::Inconsistent {
                what: format!("no feed clock for {} of {workspace}", entity.as_str()),
            })?;
            Ok(((*workspace, *entity), last - changes + 1))
        })
        .collect()
}

fn take(stamps: &mut Stamps, feed: (WorkspaceId, Entity)) -> Result<i64, StoreError> {
    let stamp = stamps
        .get_mut(&feed)
        .ok_or_else(|| StoreError::Inconsistent {
            what: "a changed row without a stamp".to_owned(),
        })?;
    *stamp += 1;
    Ok(*stamp - 1)
}

#[derive(Default)]
struct Contacts<'a> {
    workspaces: Vec<Uuid>,
    stamps: Vec<i64>,
    ids: Vec<Uuid>,
    names: Vec<Option<Cow<'a, str>>>,
    emails: Vec<Option<Cow<'a, str>>>,
    phones: Vec<Option<Cow<'a, str>>>,
    props: Vec<String>,
}

impl<'a> Contacts<'a> {
    fn push(&mut self, id: Uuid, stamp: i64, contact: &'a Contact) -> Result<(), StoreError> {
        self.workspaces.push(contact.workspace.0);
        self.stamps.push(stamp);
        self.ids.push(id);
        self.names.push(contact.name.as_deref().map(columns::text));
        self.emails
            .push(contact.email.as_deref().map(columns::text));
        self.phones
            .push(contact.phone_number.as_deref().map(columns::text));
        self.props.push(columns::json(&contact.props)?);
        Ok(())
    }
}

#[derive(Default)]
struct Deals<'a> {
    workspaces: Vec<Uuid>,
    stamps: Vec<i64>,
    ids: Vec<Uuid>,
    people: Vec<Uuid>,
    agents: Vec<Option<i64>>,
    titles: Vec<Option<Cow<'a, str>>>,
    props: Vec<String>,
    products: Vec<Option<Uuid>>,
    externals: Vec<Option<Cow<'a, str>>>,
    connections: Vec<Option<&'a str>>,
    deliveries: Vec<Option<Uuid>>,
}

impl<'a> Deals<'a> {
    fn push(&mut self, id: Uuid, stamp: i64, deal: &'a Deal) -> Result<(), StoreError> {
        self.workspaces.push(deal.workspace.0);
        self.stamps.push(stamp);
        self.ids.push(id);
        self.people.push(deal.person.0);
        self.agents.push(deal.agent.map(|agent| agent.0));
        self.titles.push(deal.title.as_deref().map(columns::text));
        self.props.push(columns::json(&deal.props)?);
        self.products.push(deal.product.map(|id| id.0));
        self.externals
            .push(deal.external_id.as_deref().map(columns::text));
        self.connections
            .push(deal.connection.as_ref().map(|id| id.as_str()));
        self.deliveries.push(deal.delivery.map(|id| id.0));
        Ok(())
    }
}

const INSERT: &str = "
with people as (
  insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, props, created_at,
    updated_at)
  select n.workspace_id, n.cursor_us, n.id, n.name, n.email, n.phone_number, n.props::json, $1, $1
  from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[])
    as n (workspace_id, cursor_us, id, name, email, phone_number, props)
)
insert into deals (workspace_id, cursor_us, id, person_id, agent_id, status, title, props,
  created_at, updated_at, stage_code, product_id, external_id, connection_id, delivery_id)
select n.workspace_id, n.cursor_us, n.id, n.person_id, n.agent_id, $9, n.title, n.props::json,
  $1, $1, $10, n.product_id, n.external_id, n.connection_id, n.delivery_id
from unnest($11::uuid[], $12::bigint[], $13::uuid[], $14::uuid[], $15::bigint[], $16::text[],
  $17::text[], $18::uuid[], $19::text[], $20::text[], $21::uuid[])
  as n (workspace_id, cursor_us, id, person_id, agent_id, title, props, product_id, external_id,
    connection_id, delivery_id)";

async fn insert(
    connection: &mut PgConnection,
    known: &Known,
    contacts: Contacts<'_>,
    deals: Deals<'_>,
) -> Result<(), StoreError> {
    sqlx::query(INSERT)
        .bind(columns::at(known.now))
        .bind(contacts.workspaces)
        .bind(contacts.stamps)
        .bind(contacts.ids)
        .bind(contacts.names)
        .bind(contacts.emails)
        .bind(contacts.phones)
        .bind(contacts.props)
        .bind(Status::Open.as_str())
        .bind(FIRST_STAGE)
        .bind(deals.workspaces)
        .bind(deals.stamps)
        .bind(deals.ids)
        .bind(deals.people)
        .bind(deals.agents)
        .bind(deals.titles)
        .bind(deals.props)
        .bind(deals.products)
        .bind(deals.externals)
        .bind(deals.connections)
        .bind(deals.deliveries)
        .execute(connection)
        .await?;
    Ok(())
}

// Status, stage and agent belong to people and to the conversation: a source that
// changes its lead leaves them as they are.
const UPDATE: &str = "
with people as (
  update contacts as c
  set cursor_us = n.cursor_us, name = n.name, email = n.email, phone_number = n.phone_number,
    props = n.props::json, updated_at = $1
  from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[])
    as n (workspace_id, cursor_us, id, name, email, phone_number, props)
  where c.workspace_id = n.workspace_id
  and c.id = n.id
)
update deals as d
set cursor_us = n.cursor_us, title = n.title, props = n.props::json, product_id = n.product_id,
  updated_at = $1
from unnest($9::uuid[], $10::bigint[], $11::uuid[], $12::text[], $13::text[], $14::uuid[])
  as n (workspace_id, cursor_us, id, title, props, product_id)
where d.workspace_id = n.workspace_id
and d.id = n.id";

async fn update(
    connection: &mut PgConnection,
    known: &Known,
    contacts: Contacts<'_>,
    deals: Deals<'_>,
) -> Result<(), StoreError> {
    sqlx::query(UPDATE)
        .bind(columns::at(known.now))
        .bind(contacts.workspaces)
        .bind(contacts.stamps)
        .bind(contacts.ids)
        .bind(contacts.names)
        .bind(contacts.emails)
        .bind(contacts.phones)
        .bind(contacts.props)
        .bind(deals.workspaces)
        .bind(deals.stamps)
        .bind(deals.ids)
        .bind(deals.titles)
        .bind(deals.props)
        .bind(deals.products)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) const SQL: &[&str] = &[ALLOCATE, INSERT, UPDATE];
