//! The rows that leads touch, and partners who work on deals: deliveries with their items and
//! fetches, dedupe keys, contacts' keys, deals and contacts.

use super::locked::{LockedRows, WHOLE, asked, ids, place};
use crate::decide::{
    Arriving, Claim, ClaimKey, ContactRecord, DealRecord, DeliveryRecord, ExternalId, FetchRecord,
    ItemPlaces, ItemRecord, Quarantined,
};
use crate::erased_key;
use crate::operations::prelude::*;
use leadhost_domain::deal::DealStatus;

statements! {
    static DELIVERIES: Sql = reading!(DELIVERIES as "d", "
each (workspace_id uuid, id uuid)
select {columns}
from each
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.id");

    static ITEMS: Sql = reading!(ITEMS as "i", "
each (workspace_id uuid, id uuid, first number, last number)
select {columns}
from each
fenced join items as i
  on i.workspace_id = each.workspace_id
  and i.delivery_id = each.id
  and i.item between each.first and each.last
");

    static LAST_ITEMS: Sql = sql("
each (workspace_id uuid, id uuid)
select each.id as delivery_id, (
    select max(i.item)
    from items as i
    where i.workspace_id = each.workspace_id
    and i.delivery_id = each.id
  ) as last
from each");

    static ALL_ITEMS: Sql = sql("
each (workspace_id uuid, id uuid)
select i.delivery_id, i.status, count(*) as count, max(i.item) as last
from each
fenced join items as i
  on i.workspace_id = each.workspace_id
  and i.delivery_id = each.id
group by i.delivery_id, i.status");

    // `offset 0` keeps PostgreSQL from scanning this table, which is usually empty, from end to end.
    static FETCHES: Sql = sql("
each (workspace_id uuid, id uuid, first number, last number)
select f.workspace_id, f.delivery_id, f.item, f.connection_id, f.dedupe_key, f.external_id, f.hop,
  f.due_at, f.until_at, f.attempts, f.ran, f.request::text as request, f.state, f.response_head,
  f.response_body
from each
fenced join fetches as f
  on f.workspace_id = each.workspace_id
  and f.delivery_id = each.id
  and f.item between each.first and each.last
");

    // Looks up all keys of leads at once: a dedupe key, as it is or erased, by its connection, a contact's key by its
    // workspace, a product by its external id. Each lead needs three or four lookups, and SQLite would
    // build a table `each` for every one, so its text uses the parameters directly. Products are looked
    // up one by one, because PostgreSQL would read a young table by its workspace instead.
    static KEYS: Sql = sql("
each (place number, connection_id text, workspace_id uuid, key text, erased_key text, external_id text)
with claimed as (                                      -- postgres
  select each.place, d.*                               -- postgres
  from each                                            -- postgres
  join dedupe as d                                     -- postgres
    on d.connection_id = each.connection_id            -- postgres
    and d.key = any (array[each.key, each.erased_key]) -- postgres
  order by d.connection_id, d.key                      -- postgres
  for update of d                                      -- postgres
)                                                      -- postgres
select place, workspace_id, delivery_id, item, until_at, deal_id, contact_id, -- postgres
  null::uuid as product_id                             -- postgres
from claimed                                           -- postgres
union all                                              -- postgres
select each.place, k.workspace_id, null, null, null, null, k.contact_id, null -- postgres
from each                                              -- postgres
join contact_keys as k                                 -- postgres
  on k.workspace_id = each.workspace_id                -- postgres
  and k.key = each.key                                 -- postgres
union all                                              -- postgres
select each.place, p.workspace_id, null, null, null, null, null, p.id -- postgres
from each                                              -- postgres
cross join lateral (                                   -- postgres
  select workspace_id, id                              -- postgres
  from products                                        -- postgres
  where workspace_id = each.workspace_id               -- postgres
  and external_id = each.external_id                   -- postgres
  offset 0                                             -- postgres
) as p                                                 -- postgres
select :place as place, workspace_id, delivery_id, item, until_at, deal_id, contact_id, -- sqlite
  null as product_id                                   -- sqlite
from dedupe                                            -- sqlite
where connection_id = :connection_id                   -- sqlite
and key = :key                                         -- sqlite
union all                                              -- sqlite
select :place, workspace_id, delivery_id, item, until_at, deal_id, contact_id, null -- sqlite
from dedupe                                            -- sqlite
where connection_id = :connection_id                   -- sqlite
and key = :erased_key                                  -- sqlite
union all                                              -- sqlite
select :place, workspace_id, null, null, null, null, contact_id, null -- sqlite
from contact_keys                                      -- sqlite
where workspace_id = :workspace_id                     -- sqlite
and key = :key                                         -- sqlite
union all                                              -- sqlite
select :place, workspace_id, null, null, null, null, null, id -- sqlite
from products                                          -- sqlite
where workspace_id = :workspace_id                     -- sqlite
and external_id = :external_id                         -- sqlite
");

    // A conversation may be linked to the newest open deal of its contact.
    static DEALS: Sql = made(|| {
        // The partner of a deal is the one that created it, or whose connection it came through.
        let columns = schema::DEALS.read("d", &["partner_id"]);
        format!(
            "
each (workspace_id uuid, id uuid, contact_id uuid)
select {columns},
  coalesce(d.partner_id, s.partner_id) as partner_id, wanted.newest
from (
  select workspace_id, id, false as newest
  from each
  where id is not null
  union
  select each.workspace_id, (
      select own.id
      from deals as own
      where own.person_id = each.contact_id
      and own.workspace_id = each.workspace_id -- postgres
      and own.status = 'open'
      order by own.id desc
      limit 1
    ), true
  from each
  where each.contact_id is not null
) as wanted
ordered join deals as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id
left join connections as s
  on s.id = d.connection_id
order by d.id -- postgres
for update of d -- postgres
"
        )
    });

    static CONTACTS: Sql = reading!(CONTACTS as "c", "
each (workspace_id uuid, id uuid)
select {columns}
from each
ordered join contacts as c
  on c.workspace_id = each.workspace_id
  and c.id = each.id
order by c.id -- postgres
for update of c -- postgres
");

    static FIRST_AGENTS: Sql = sql("
each (workspace_id uuid)
select a.workspace_id, min(a.id) as id
from each
ordered join agents as a
  on a.workspace_id = each.workspace_id
group by a.workspace_id");

    static PRODUCT_IDS: Sql = sql("
each (workspace_id uuid, id uuid)
select p.workspace_id, p.id, p.external_id
from each
ordered join products as p
  on p.id = each.id
  and (p.workspace_id = each.workspace_id) is true");

    // Two hosts that create deals with one external id take turns, because no row exists that they could
    // lock.
    static LOCK_EXTERNAL_IDS: Sql = sql("
each (partner_id uuid, external_id text)                                               -- postgres
select pg_advisory_xact_lock(hashtextextended(partner_id || external_id, 0))           -- postgres
from (select partner_id, external_id from each order by partner_id, external_id) as id -- postgres
");

    static EXTERNAL_IDS: Sql = sql("
each (workspace_id uuid, partner_id uuid, external_id text)
select each.workspace_id, each.partner_id, each.external_id, d.id
from each
fenced join deals as d
  on d.workspace_id = each.workspace_id
  and d.external_id = each.external_id
left join connections as s
  on s.id = d.connection_id
where coalesce(d.partner_id, s.partner_id) = each.partner_id
order by d.id desc");

    // A source that gives all leads one id has many: only the newest are needed.
    static LEADS_OF_ID: Sql = sql("
each (place number, workspace_id uuid, connection_id text, external_id text, rows number)
select each.place, own.id                                                              -- postgres
from each                                                                              -- postgres
cross join lateral (                                                                   -- postgres
  select d.id                                                                          -- postgres
  from deals as d                                                                      -- postgres
  where d.workspace_id = each.workspace_id                                             -- postgres
  and d.external_id = each.external_id                                                 -- postgres
  and d.connection_id = each.connection_id                                             -- postgres
  order by d.id desc                                                                   -- postgres
  limit each.rows                                                                      -- postgres
) as own                                                                               -- postgres
order by each.place, own.id                                                            -- postgres
select :place as place, id                                                             -- sqlite
from (                                                                                 -- sqlite
  select id                                                                            -- sqlite
  from deals                                                                           -- sqlite
  where workspace_id = :workspace_id                                                   -- sqlite
  and external_id = :external_id                                                       -- sqlite
  and connection_id = :connection_id                                                   -- sqlite
  order by id desc                                                                     -- sqlite
  limit :rows                                                                          -- sqlite
)                                                                                      -- sqlite
order by id                                                                            -- sqlite
");

    static OWNERS: Sql = sql("
each (workspace_id uuid, email text)
select o.workspace_id, o.email, o.id
from each
ordered join owners as o
  on o.workspace_id = each.workspace_id
  and o.email = each.email");

    // Only a quarantine that the batch may fill is read row by row; the usual batch only pays for a
    // sum. A quarantine holds at most a thousand rows. None is locked: a delivery to evict is checked
    // again when it is removed.
    static QUARANTINE: Sql = sql("
each (connection_id text, arriving number, arriving_bytes number, most number, most_bytes number)
select q.connection_id, q.delivery_id as id, q.body_bytes, q.lease_until_at, d.peer
from each
cross join lateral (                                                             -- postgres
  select count(*) as count, sum(body_bytes) as bytes                             -- postgres
  from queue                                                                     -- postgres
  where connection_id = each.connection_id                                       -- postgres
  and status = 'quarantined'                                                     -- postgres
) as kept                                                                        -- postgres
fenced join queue as q
  on q.connection_id = each.connection_id
  and q.status = 'quarantined'
fenced join deliveries as d
  on d.workspace_id = q.workspace_id
  and d.id = q.delivery_id
where kept.count + each.arriving > each.most                                     -- postgres
or kept.bytes + each.arriving_bytes > each.most_bytes                            -- postgres
where (                                                                          -- sqlite
  select count(*) + each.arriving > each.most                                    -- sqlite
    or sum(kept.body_bytes) + each.arriving_bytes > each.most_bytes              -- sqlite
  from queue as kept                                                             -- sqlite
  where kept.connection_id = each.connection_id                                  -- sqlite
  and kept.status = 'quarantined')                                               -- sqlite
order by q.connection_id, d.received_at, q.delivery_id");
}

/// A range of a delivery's items.
type Stretch = (WorkspaceId, DeliveryId, (u32, u32));

/// Loads the deliveries whose work is locked, with their wanted items and fetches.
/// Fails with [`StoreError::Contended`] if another host created a fetch after the work was locked.
pub async fn deliveries(
    tx: &mut Tx,
    set: &mut WorkingSet,
    locked: &LockedRows,
    places: &BTreeMap<DeliveryId, ItemPlaces>,
) -> Result<(), StoreError> {
    let wanted: BTreeSet<(WorkspaceId, DeliveryId)> = locked
        .work
        .iter()
        .map(|((delivery, _), work)| (work.workspace, DeliveryId(*delivery)))
        .collect();
    let found: Vec<(DeliveryId, DeliveryRecord)> = tx
        .rows_each(&DELIVERIES, &ids(&wanted), |row| {
            let id = row.get("id")?;
            let mut delivery = DeliveryRecord::from_row(row)?;
            (delivery.lease, delivery.held) = locked.lease(id, WHOLE);
            Ok((id, delivery))
        })
        .await?;
    set.deliveries.extend(found);
    let stretches: BTreeSet<Stretch> = wanted
        .iter()
        .flat_map(|(workspace, id)| {
            let stretches = places.get(id).into_iter().flat_map(|of| &of.stretches);
            stretches.map(|stretch| (*workspace, *id, *stretch))
        })
        .collect();
    items(tx, set, &stretches).await?;
    let found: Vec<(DeliveryId, u32, FetchRecord)> = tx
        .rows_each(&FETCHES, &in_stretches(&stretches), |row| {
            let id: DeliveryId = row.get("delivery_id")?;
            let index: u32 = row.get("item")?;
            if !locked.work.contains_key(&(id.0, place(index))) {
                // Another host created it between the lock and this read, so it is not locked.
                return Err(StoreError::Contended);
            }
            let mut fetch = FetchRecord::from_row(row)?;
            (fetch.lease, fetch.held) = locked.lease(id, place(index));
            Ok((id, index, fetch))
        })
        .await?;
    for (id, index, fetch) in found {
        set.fetches.insert((id, index), fetch);
    }
    Ok(())
}

async fn items(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<Stretch>,
) -> Result<(), StoreError> {
    let found: Vec<(DeliveryId, u32, ItemRecord)> = tx
        .rows_each(&ITEMS, &in_stretches(wanted), |row| {
            let id = row.get("delivery_id")?;
            Ok((id, row.get("item")?, ItemRecord::from_row(row)?))
        })
        .await?;
    for (id, index, item) in found {
        if let Some(delivery) = set.deliveries.get_mut(&id) {
            delivery.items.insert(index, item);
        }
    }
    Ok(())
}

fn in_stretches(wanted: &BTreeSet<Stretch>) -> Vec<[Arg<'static>; 4]> {
    wanted
        .iter()
        .map(|(workspace_id, id, (first, last))| {
            args! { workspace_id, id, first: place(*first), last: place(*last) }
        })
        .collect()
}

/// Completes deliveries that are loaded in part: loads the items that own keys, and what must be
/// known of the remaining items. Runs after the keys are loaded.
pub async fn others(
    tx: &mut Tx,
    set: &mut WorkingSet,
    read_set: &ReadSet,
) -> Result<(), StoreError> {
    let owners = read_set.owners(set).into_iter();
    let owners: BTreeSet<Stretch> = owners
        .filter_map(|(id, place)| {
            let workspace = set.deliveries.get(&id)?.workspace;
            Some((workspace, id, (place, place)))
        })
        .collect();
    items(tx, set, &owners).await?;
    let some = in_part(set, read_set, false);
    let found: Vec<(DeliveryId, Option<u32>)> = tx
        .rows_each(&LAST_ITEMS, &ids(&some), cells!("delivery_id", "last"))
        .await?;
    for (id, last) in found {
        if let Some(delivery) = set.deliveries.get_mut(&id)
            && let Some(last) = last
        {
            delivery.reserve(last);
        }
    }
    let some = in_part(set, read_set, true);
    let found: Vec<(DeliveryId, ItemStatus, u64, u32)> = tx
        .rows_each(
            &ALL_ITEMS,
            &ids(&some),
            cells!("delivery_id", "status", "count", "last"),
        )
        .await?;
    for (id, status, count, last) in found {
        if let Some(delivery) = set.deliveries.get_mut(&id) {
            delivery.count_others(status, count);
            delivery.reserve(last);
        }
    }
    Ok(())
}

fn in_part(
    set: &WorkingSet,
    read_set: &ReadSet,
    others: bool,
) -> BTreeSet<(WorkspaceId, DeliveryId)> {
    let ids = read_set.in_part(others).into_iter();
    ids.filter_map(|id| Some((set.deliveries.get(&id)?.workspace, id)))
        .collect()
}

enum LookupKey<'a> {
    Claimed(&'a ClaimKey),
    OfContact(&'a (WorkspaceId, String)),
    OfProduct(&'a (WorkspaceId, String)),
}

impl<'a> LookupKey<'a> {
    fn args(&self, place: u32) -> [Arg<'a>; 6] {
        let (connection_id, workspace_id, key, external_id) = match self {
            Self::Claimed((connection, key)) => (Some(connection), None, Some(key), None),
            Self::OfContact((workspace, key)) => (None, Some(*workspace), Some(key), None),
            Self::OfProduct((workspace, id)) => (None, Some(*workspace), None, Some(id)),
        };
        let erased_key = connection_id.and(key).and_then(|key| erased_key(key));
        args! { place, connection_id, workspace_id, key, erased_key, external_id }
    }
}

/// Loads the owners of dedupe keys, which are locked, the contacts of contacts' keys, and the
/// products that leads name. Returns the contacts. A contact's key never changes its contact while
/// it exists, so it needs no lock: [`contacts`] notices an erased contact, and the batch meets a
/// key that was created in the meantime when it saves its own.
pub async fn keys(
    tx: &mut Tx,
    set: &mut WorkingSet,
    locked: &mut LockedRows,
    read_set: &ReadSet,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let claimed = read_set.claims.iter().map(LookupKey::Claimed);
    let of_contacts = read_set.contact_keys.iter().map(LookupKey::OfContact);
    let of_products = read_set.products.iter().map(LookupKey::OfProduct);
    let keys: Vec<LookupKey<'_>> = claimed.chain(of_contacts).chain(of_products).collect();
    let keys: Vec<&LookupKey<'_>> = keys.iter().collect();
    let rows: Vec<_> = keys
        .iter()
        .zip(0_u32..)
        .map(|(key, place)| key.args(place))
        .collect();
    let mut people = BTreeSet::new();
    tx.rows_each(&KEYS, &rows, |row| {
        match asked(&keys, row)? {
            LookupKey::Claimed(key) => {
                let key = (*key).clone();
                locked.claims.insert(key.clone());
                set.claims.insert(key, Claim::from_row(row)?);
            }
            LookupKey::OfContact(key) => {
                let contact = row.get("contact_id")?;
                people.insert((key.0, contact));
                set.contact_keys.insert((*key).clone(), contact);
            }
            LookupKey::OfProduct(key) => {
                set.products.insert((*key).clone(), row.get("product_id")?);
            }
        }
        Ok(())
    })
    .await?;
    Ok(people)
}

/// Finds the leads of ids that people share. A new one needs the lock of the id, which this transaction
/// holds. Returns their deals.
pub async fn of_shared_ids(
    tx: &mut Tx,
    set: &mut WorkingSet,
    read_set: &ReadSet,
) -> Result<BTreeSet<(WorkspaceId, DealId)>, StoreError> {
    let ids = read_set.shared_ids(set);
    let rows: Vec<_> = ids
        .iter()
        .zip(0_u32..)
        .map(|(((connection_id, _), workspace_id, external_id), place)| {
            let rows = limits::LEADS_OF_ONE_ID + 1;
            args! { place, workspace_id: *workspace_id, connection_id, external_id: *external_id, rows: i64::try_from(rows).unwrap_or(i64::MAX) }
        })
        .collect();
    let asked_for: Vec<_> = ids.iter().collect();
    let mut deals = BTreeSet::new();
    tx.rows_each(&LEADS_OF_ID, &rows, |row| {
        let (key, workspace, _) = asked(&asked_for, row)?;
        let id = row.get("id")?;
        set.leads_of_id.entry((*key).clone()).or_default().push(id);
        deals.insert((*workspace, id));
        Ok(())
    })
    .await?;
    Ok(deals)
}

/// Loads the deals that may change, and the newest open deals of the contacts that are talked to.
/// Returns the contacts of all of them.
/// Fails with [`StoreError::Contended`] if the newest deal of a contact was closed while the
/// transaction waited for it.
pub async fn deals(
    tx: &mut Tx,
    set: &mut WorkingSet,
    read_set: &ReadSet,
    wanted: &BTreeSet<(WorkspaceId, DealId)>,
) -> Result<BTreeSet<(WorkspaceId, ContactId)>, StoreError> {
    let conversations = read_set.contact_conversations_of(set);
    let conversations: BTreeSet<_> = conversations.iter().map(|(of, id, _)| (*of, *id)).collect();
    let mut rows = Vec::new();
    for (workspace, deal) in wanted {
        rows.push(one_deal(*workspace, Some(*deal), None));
    }
    for (workspace, contact) in &conversations {
        rows.push(one_deal(*workspace, None, Some(*contact)));
    }
    // A deal that is both named and the newest occurs twice.
    let found: Vec<(DealId, DealRecord, bool)> = tx
        .rows_each(&DEALS, &rows, |row| {
            Ok((
                row.get("id")?,
                DealRecord::from_row(row)?,
                row.get("newest")?,
            ))
        })
        .await?;
    let mut people = BTreeSet::new();
    for (id, deal, is_newest) in found {
        if is_newest {
            if deal.status != DealStatus::Open {
                // It was closed while this transaction waited for it, so another deal is the
                // newest.
                return Err(StoreError::Contended);
            }
            set.dialogue.newest_deals.insert(deal.person, id);
        }
        people.insert((deal.workspace, deal.person));
        set.deals.insert(id, deal);
    }
    Ok(people)
}

fn one_deal(
    workspace_id: WorkspaceId,
    id: Option<DealId>,
    contact_id: Option<ContactId>,
) -> [Arg<'static>; 3] {
    args! { workspace_id, id, contact_id }
}

/// Locks and loads the contacts that something led to, and those of the named ones that exist.
/// Fails with [`StoreError::Contended`] if one of the former was erased in the meantime.
pub async fn contacts(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, ContactId)>,
    named: &BTreeSet<(WorkspaceId, ContactId)>,
) -> Result<(), StoreError> {
    let all = wanted.union(named).copied().collect();
    let found: Vec<(ContactId, ContactRecord)> =
        tx.rows_each(&CONTACTS, &ids(&all), with_id).await?;
    set.contacts.extend(found);
    if wanted.iter().any(|(_, id)| !set.contacts.contains_key(id)) {
        // A contact was erased after a key, a deal or a message led to it.
        return Err(StoreError::Contended);
    }
    Ok(())
}

/// Loads the agent with the lowest id of each of these workspaces. A workspace without agents
/// is left out.
pub async fn first_agents(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<WorkspaceId>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = wanted
        .iter()
        .map(|workspace| args! { workspace_id: *workspace })
        .collect();
    let found: Vec<(WorkspaceId, AgentId)> = tx
        .rows_each(&FIRST_AGENTS, &rows, cells!("workspace_id", "id"))
        .await?;
    set.first_agents.extend(found);
    Ok(())
}

pub async fn product_ids(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, ProductId)>,
) -> Result<(), StoreError> {
    let found: Vec<((WorkspaceId, ProductId), String)> = tx
        .rows_each(&PRODUCT_IDS, &ids(wanted), |row| {
            let key = (row.get("workspace_id")?, row.get("id")?);
            Ok((key, row.get("external_id")?))
        })
        .await?;
    set.product_ids.extend(found);
    Ok(())
}

/// Waits for other hosts that create deals with these external ids.
pub async fn lock_external_ids(
    tx: &mut Tx,
    wanted: &BTreeSet<ExternalId>,
) -> Result<(), StoreError> {
    let ids = wanted.iter();
    let rows: Vec<_> = ids
        .map(|(_, partner_id, external_id)| args! { partner_id: *partner_id, external_id })
        .collect();
    tx.run_each(&LOCK_EXTERNAL_IDS, &rows).await?;
    Ok(())
}

/// Loads the partners' deals with these external ids: the first of each.
pub async fn external_ids(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<ExternalId>,
) -> Result<(), StoreError> {
    let ids = wanted.iter();
    let rows: Vec<_> = ids
        .map(|(workspace_id, partner_id, external_id)| {
            args! { workspace_id: *workspace_id, partner_id: *partner_id, external_id }
        })
        .collect();
    let found: Vec<(ExternalId, DealId)> = tx
        .rows_each(&EXTERNAL_IDS, &rows, |row| {
            let partner = row.get("partner_id")?;
            let key = (row.get("workspace_id")?, partner, row.get("external_id")?);
            Ok((key, row.get("id")?))
        })
        .await?;
    set.external_ids.extend(found);
    Ok(())
}

/// Loads owners that partners name by their e-mail addresses. They are keyed by the stored address,
/// so an address that cannot be stored belongs to no owner.
pub async fn owners(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeSet<(WorkspaceId, String)>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = wanted
        .iter()
        .map(|(workspace, email)| args! { workspace_id: *workspace, email })
        .collect();
    let found: Vec<((WorkspaceId, String), OwnerId)> = tx
        .rows_each(&OWNERS, &rows, |row| {
            let key = (row.get("workspace_id")?, row.get("email")?);
            Ok((key, row.get("id")?))
        })
        .await?;
    set.owners.extend(found);
    Ok(())
}

/// Loads the quarantined deliveries of those connections whose quarantine the arriving
/// deliveries would fill beyond its bounds. Locks none of them.
pub async fn quarantine(
    tx: &mut Tx,
    set: &mut WorkingSet,
    wanted: &BTreeMap<ConnectionId, Arriving>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = wanted
        .iter()
        .map(|(connection_id, new)| {
            args! {
                connection_id,
                arriving: new.count.cast_signed(),
                arriving_bytes: new.bytes.cast_signed(),
                most: limits::QUARANTINED_PER_CONNECTION.cast_signed(),
                most_bytes: limits::QUARANTINED_BYTES_PER_CONNECTION.cast_signed(),
            }
        })
        .collect();
    let found: Vec<(ConnectionId, Quarantined)> = tx
        .rows_each(&QUARANTINE, &rows, |row| {
            let delivery = read!(row => Quarantined {
                id, bytes: "body_bytes", peer,
                leased = row.get::<Option<Micros>>("lease_until_at")?.is_some(),
            });
            Ok((row.get("connection_id")?, delivery))
        })
        .await?;
    for (connection, delivery) in found {
        let quarantine = set.quarantine.entry(connection);
        quarantine.or_default().add(delivery);
    }
    Ok(())
}
