//! What leads touch, and partners who work on deals: deliveries with their items
//! and fetches, dedupe keys, contacts' keys, deals and contacts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::{Locked, WHOLE, rows, two_columns};
use crate::domain::deal::Status;
use crate::domain::id::{AgentId, ConnectionId, ContactId, DealId, DeliveryId, WorkspaceId};
use crate::limits;
use crate::store::StoreError;
use crate::store::decide::{Arriving, ClaimKey, Known, Needs, Places};
use crate::store::postgres::columns;
use crate::store::postgres::save::place;
use crate::store::row::deliveries::item_status;
use crate::store::row::{Columns as _, known};

const DELIVERIES: &str = "
select d.workspace_id, d.id, d.connection_id, d.received_at, d.body_bytes, d.status, d.error,
  d.notes, d.ran, d.attempts, d.next_attempt_at, d.presented, d.peer
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id";

const ITEMS: &str = "
select i.delivery_id, i.item, i.status, i.external_id, i.deal_id, i.contact_id, i.message
from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[])
  as wanted (workspace_id, id, first, last)
cross join lateral (
  select *
  from items
  where workspace_id = wanted.workspace_id
  and delivery_id = wanted.id
  and item between wanted.first and wanted.last
  offset 0
) as i";

const LAST_ITEMS: &str = "
select wanted.id as delivery_id, (
    select max(item)::bigint from items
    where workspace_id = wanted.workspace_id
    and delivery_id = wanted.id) as last
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)";

const ALL_ITEMS: &str = "
select i.delivery_id, i.status, count(*) as count, max(i.item) as last
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
cross join lateral (
  select delivery_id, item, status
  from items
  where workspace_id = wanted.workspace_id
  and delivery_id = wanted.id
  offset 0
) as i
group by i.delivery_id, i.status";

// A table that is usually empty is read from end to end unless it is told not to be.
const FETCHES: &str = "
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.dedupe_key, f.external_id, f.hop,
  f.due_at, f.until_at, f.attempts, f.ran, f.request::text as request, f.state, f.response_head,
  f.response_body
from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[])
  as wanted (workspace_id, id, first, last)
cross join lateral (
  select *
  from fetches
  where workspace_id = wanted.workspace_id
  and delivery_id = wanted.id
  and item between wanted.first and wanted.last
  offset 0
) as f";

/// A stretch of a delivery's items.
type Stretch = (WorkspaceId, DeliveryId, (u32, u32));

/// The deliveries whose work is locked, with the items that are wanted and their fetches.
pub async fn deliveries(
    connection: &mut PgConnection,
    known: &mut Known,
    locked: &Locked,
    places: &BTreeMap<DeliveryId, Places>,
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
    let stretches: BTreeSet<Stretch> = wanted
        .iter()
        .flat_map(|(workspace, id)| {
            let stretches = places.get(id).into_iter().flat_map(|of| &of.stretches);
            stretches.map(|stretch| (*workspace, *id, *stretch))
        })
        .collect();
    items(connection, known, &stretches).await?;
    for row in in_stretches(connection, FETCHES, &stretches).await? {
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

async fn items(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeSet<Stretch>,
) -> Result<(), StoreError> {
    for row in in_stretches(connection, ITEMS, wanted).await? {
        let id = row.id("delivery_id")?;
        if let Some(delivery) = known.deliveries.get_mut(&id) {
            delivery
                .items
                .insert(row.small("item")?, known::item(&row)?);
        }
    }
    Ok(())
}

async fn in_stretches(
    connection: &mut PgConnection,
    sql: &'static str,
    wanted: &BTreeSet<Stretch>,
) -> Result<Vec<PgRow>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
        wanted.iter().map(|(of, id, _)| (of.0, id.0)).unzip();
    let (first, last): (Vec<i32>, Vec<i32>) = wanted
        .iter()
        .map(|(.., (first, last))| (place(*first), place(*last)))
        .unzip();
    let rows = sqlx::query(sql)
        .bind(workspaces)
        .bind(ids)
        .bind(first)
        .bind(last)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// Of deliveries that are looked at in part: the owners of keys, and what has to be
/// known of the others. Comes after the keys.
pub async fn others(
    connection: &mut PgConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    let workspace = |known: &Known, id| Some((known.deliveries.get(&id)?.workspace, id));
    let owners = needs.owners(known).into_iter().filter_map(|(id, place)| {
        let (workspace, id) = workspace(known, id)?;
        Some((workspace, id, (place, place)))
    });
    let owners = owners.collect();
    items(connection, known, &owners).await?;
    let some = |known: &Known, others| {
        let ids = needs.in_part(others).into_iter();
        ids.filter_map(|id| workspace(known, id))
            .collect::<BTreeSet<_>>()
    };
    for row in rows(connection, LAST_ITEMS, &some(known, false)).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?)
            && let Some(last) = row.number_if("last")?
        {
            delivery.reserve(last);
        }
    }
    for row in rows(connection, ALL_ITEMS, &some(known, true)).await? {
        if let Some(delivery) = known.deliveries.get_mut(&row.id("delivery_id")?) {
            delivery.count_others(item_status(&row)?, row.number("count")?);
            delivery.reserve(row.small("last")?);
        }
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

// Only a quarantine that the batch may fill is read row by row, so that the usual
// batch pays for a sum. Its bound is a thousand rows. None is locked: what leaves
// is looked at once more when it is removed.
const QUARANTINE: &str = "
select q.connection_id, q.delivery_id as id, q.body_bytes, q.lease_until as lease_until_at, d.peer
from unnest($1::text[], $2::bigint[], $3::bigint[]) as wanted (id, count, bytes)
cross join lateral (
  select count(*) as count, sum(body_bytes) as bytes
  from queue
  where connection_id = wanted.id
  and status = 'quarantined'
) as kept
cross join lateral (
  select workspace_id, connection_id, delivery_id, body_bytes, lease_until
  from queue
  where connection_id = wanted.id
  and status = 'quarantined'
  offset 0
) as q
cross join lateral (
  select received_at, peer
  from deliveries
  where workspace_id = q.workspace_id
  and id = q.delivery_id
  offset 0
) as d
where kept.count + wanted.count > $4
or kept.bytes + wanted.bytes > $5
order by q.connection_id, d.received_at, q.delivery_id";

pub async fn quarantine(
    connection: &mut PgConnection,
    known: &mut Known,
    wanted: &BTreeMap<ConnectionId, Arriving>,
) -> Result<(), StoreError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let connections: Vec<&str> = wanted.keys().map(ConnectionId::as_str).collect();
    let counts: Vec<i64> = wanted.values().map(|new| new.count.cast_signed()).collect();
    let bytes: Vec<i64> = wanted.values().map(|new| new.bytes.cast_signed()).collect();
    let rows = sqlx::query(QUARANTINE)
        .bind(connections)
        .bind(counts)
        .bind(bytes)
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

pub const SQL: &[&str] = &[
    DELIVERIES,
    ITEMS,
    LAST_ITEMS,
    ALL_ITEMS,
    FETCHES,
    KEYS,
    DEALS,
    CONTACTS,
    FIRST_AGENTS,
    NAMED,
    QUARANTINE,
];
