//! What leads touch, and partners who work on deals: deliveries with their items
//! and fetches, dedupe keys, contacts' keys, deals and contacts.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::{Locked, WHOLE, rows, two_columns};
use crate::domain::deal::Status;
use crate::domain::id::{AgentId, ConnectionId, ContactId, DealId, DeliveryId, WorkspaceId};
use crate::store::StoreError;
use crate::store::decide::{ClaimKey, Known, Needs};
use crate::store::postgres::columns;
use crate::store::row::{Columns as _, known};

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
        .map(|((delivery, _), work)| (work.workspace, DeliveryId(*delivery)))
        .collect();
    for row in rows(connection, DELIVERIES, &wanted).await? {
        let id = row.id("id")?;
        known
            .deliveries
            .insert(id, known::delivery(&row, locked.of(id, WHOLE))?);
    }
    for row in rows(connection, ITEMS, &wanted).await? {
        let id = row.id("delivery_id")?;
        if let Some(delivery) = known.deliveries.get_mut(&id) {
            delivery
                .items
                .insert(row.small("item")?, known::item(&row)?);
        }
    }
    for row in rows(connection, FETCHES, &wanted).await? {
        let id: DeliveryId = row.id("delivery_id")?;
        let place: i32 = row.try_get("item")?;
        if !locked.work.contains_key(&(id.0, place)) {
            // Made by another host between the lock and this: not ours yet.
            return Err(StoreError::Contended);
        }
        let fetch = known::fetch(&row, locked.of(id, place))?;
        known.fetches.insert((id, row.small("item")?), fetch);
    }
    Ok(())
}

// Nearly every batch asks all three, and a question alone costs more than its
// answer. Keys are locked in their order before anything else is looked at.
const KEYS: &str = "
with claims as materialized (
  select wanted.at, d.workspace_id, d.delivery_id, d.item, d.until_at, d.deal_id, d.contact_id
  from unnest($1::text[], $2::text[]) with ordinality as wanted (connection_id, key, at)
  join dedupe as d
    on d.connection_id = wanted.connection_id
    and d.key = wanted.key
  order by d.connection_id, d.key
  for update of d
)
select 'claim' as of, at, contact_id, workspace_id, delivery_id, item, until_at, deal_id,
  null::uuid as product_id
from claims
union all
select 'contact', wanted.at, k.contact_id, null, null, null, null, null, null
from unnest($3::uuid[], $4::text[]) with ordinality as wanted (workspace_id, key, at)
join contact_keys as k
  on k.workspace_id = wanted.workspace_id
  and k.key = wanted.key
union all
select 'product', wanted.at, null, null, null, null, null, null, p.id
from unnest($5::uuid[], $6::text[]) with ordinality as wanted (workspace_id, external_id, at)
cross join lateral (
  select id
  from products
  where workspace_id = wanted.workspace_id
  and external_id = wanted.external_id
  offset 0
) as p";

/// Who has the keys that deliveries claim, which are locked; whom the contacts'
/// keys name, and which products the leads do. A contact's key stays its own for as
/// long as the contact is there, so it needs no lock: [`contacts`] notices who was
/// erased; one that is made meanwhile meets the batch when that saves its own. Gives the people.
pub async fn keys(
    connection: &mut PgConnection,
    known: &mut Known,
    locked: &mut Locked,
    needs: &Needs,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let mut people = BTreeSet::new();
    if needs.claims.is_empty() && needs.contact_keys.is_empty() && needs.products.is_empty() {
        return Ok(people);
    }
    let claims: Vec<&ClaimKey> = needs.claims.iter().collect();
    let contacts: Vec<_> = needs.contact_keys.iter().collect();
    let products: Vec<_> = needs.products.iter().collect();
    let (owners, keys) = columns_of(&claims, |owner| owner.as_str());
    let (contacts_of, contact_keys) = columns_of(&contacts, |workspace| workspace.0);
    let (products_of, external_ids) = columns_of(&products, |workspace| workspace.0);
    let rows = sqlx::query(KEYS)
        .bind(owners)
        .bind(keys)
        .bind(contacts_of)
        .bind(contact_keys)
        .bind(products_of)
        .bind(external_ids)
        .fetch_all(connection)
        .await?;
    for row in rows {
        match row.try_get("of")? {
            "claim" => {
                let key = asked(&claims, &row)?;
                locked.claims.insert((*key).clone());
                known.claims.insert((*key).clone(), known::claim(&row)?);
            }
            "contact" => {
                let key = asked(&contacts, &row)?;
                let contact = row.id("contact_id")?;
                known.contact_keys.insert((*key).clone(), contact);
                people.insert((key.0, contact));
            }
            _ => {
                let key = asked(&products, &row)?;
                let product = row.id("product_id")?;
                known.products.insert((*key).clone(), product);
            }
        }
    }
    Ok(people)
}

/// Keys by who has them, as two columns.
fn columns_of<'a, O, C>(
    keys: &[&'a (O, String)],
    owner: impl Fn(&'a O) -> C,
) -> (Vec<C>, Vec<Cow<'a, str>>) {
    keys.iter()
        .map(|(of, key)| (owner(of), columns::text(key)))
        .unzip()
}

/// What was asked at the place that the row answers, from 1 as SQL counts. The
/// text itself may have been stored without characters that cannot be.
pub(super) fn asked<'a, T>(wanted: &'a [T], row: &PgRow) -> Result<&'a T, StoreError> {
    let at: i64 = row.try_get("at")?;
    usize::try_from(at - 1)
        .ok()
        .and_then(|at| wanted.get(at))
        .ok_or_else(|| StoreError::Inconsistent {
            what: format!("an answer to question {at}, which was not asked"),
        })
}

// A conversation may become one about the newest open deal of its contact.
const DEALS: &str = "
select d.workspace_id, d.id, d.person_id, d.agent_id, d.owner_id, d.status, d.stage_code, d.title,
  d.props, d.edited, d.product_id, d.external_id, coalesce(d.partner_id, s.partner_id) as partner_id,
  d.connection_id, d.delivery_id, wanted.newest
from (
  select workspace_id, id, bool_or(newest) as newest
  from (
    select named.workspace_id, named.id, false as newest
    from unnest($1::uuid[], $2::uuid[]) as named (workspace_id, id)
    union all
    select talk.workspace_id, of_one.id, true
    from unnest($3::uuid[], $4::uuid[]) as talk (workspace_id, contact_id)
    cross join lateral (
      select id
      from deals
      where workspace_id = talk.workspace_id
      and person_id = talk.contact_id
      and status = 'open'
      order by id desc
      limit 1
    ) as of_one
  ) as each
  group by workspace_id, id
) as wanted
join deals as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id
left join connections as s
  on s.id = d.connection_id
order by d.id
for update of d";

/// The deals that may change, and the newest open ones of whom is talked to; the
/// people of all of them.
pub async fn deals(
    connection: &mut PgConnection,
    known: &mut Known,
    needs: &Needs,
    wanted: &BTreeSet<(WorkspaceId, DealId)>,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let mut people = BTreeSet::new();
    let talks = needs.talks_of(known);
    if wanted.is_empty() && talks.is_empty() {
        return Ok(people);
    }
    let (workspaces, ids) = two_columns(wanted);
    let talks: BTreeSet<_> = talks.iter().map(|(of, id, _)| (*of, *id)).collect();
    let (talks_of, contacts) = two_columns(&talks);
    let rows = sqlx::query(DEALS)
        .bind(workspaces)
        .bind(ids)
        .bind(talks_of)
        .bind(contacts)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let id = row.id("id")?;
        let deal = known::deal(&row)?;
        if row.flag("newest")? {
            if deal.status != Status::Open {
                // It ended while this waited for it: another one is the newest.
                return Err(StoreError::Contended);
            }
            known.dialogue.newest_deals.insert(deal.person, id);
        }
        people.insert((deal.workspace, deal.person));
        known.deals.insert(id, deal);
    }
    Ok(people)
}

const CONTACTS: &str = "
select c.workspace_id, c.id, c.name, c.email, c.phone_number, c.banned_at, c.props, c.edited
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
    let found = rows(connection, CONTACTS, wanted).await?;
    if found.len() < wanted.len() {
        // Somebody was erased since a key, a deal or a message led here.
        return Err(StoreError::Contended);
    }
    for row in found {
        let contact = known::contact(&row, "props", "edited")?;
        known.contacts.insert(row.id("id")?, contact);
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
        let workspace = row.id("workspace_id")?;
        known
            .first_agents
            .insert(workspace, AgentId(row.try_get("id")?));
    }
    Ok(())
}

const NAMED: &str = "
select p.workspace_id, p.id as product_id, p.external_id, null::uuid as owner_id,
  null::text as email
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join products as p
  on p.id = wanted.id
  and (p.workspace_id = wanted.workspace_id) is true
union all
select o.workspace_id, null, null, o.id, o.email
from unnest($3::uuid[], $4::text[]) as wanted (workspace_id, email)
join owners as o
  on o.workspace_id = wanted.workspace_id
  and o.email = wanted.email";

/// What partners name beside deals: products by their ids, owners by their addresses.
pub async fn named(
    connection: &mut PgConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    if needs.product_ids.is_empty() && needs.owners.is_empty() {
        return Ok(());
    }
    let (products_of, products) = two_columns(&needs.product_ids);
    let owners: Vec<_> = needs.owners.iter().collect();
    let (owners_of, addresses) = columns_of(&owners, |workspace| workspace.0);
    let rows = sqlx::query(NAMED)
        .bind(products_of)
        .bind(products)
        .bind(owners_of)
        .bind(addresses)
        .fetch_all(connection)
        .await?;
    for row in rows {
        let workspace = row.id("workspace_id")?;
        if let Some(product) = row.id_if("product_id")? {
            let external_id = row.text("external_id")?;
            known.product_ids.insert((workspace, product), external_id);
        } else {
            let key = (workspace, row.text("email")?);
            known.owners.insert(key, row.id("owner_id")?);
        }
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
        let connection = row.text_id("connection_id")?;
        known
            .quarantine
            .insert(connection, known::quarantine(&row)?);
    }
    Ok(())
}

pub const SQL: &[&str] = &[
    DELIVERIES,
    ITEMS,
    FETCHES,
    KEYS,
    DEALS,
    CONTACTS,
    FIRST_AGENTS,
    NAMED,
    QUARANTINE,
];
