//! What came in about a person, as it came. A delivery that brought others too is
//! emptied rather than removed: what became of the others stays to be seen.

use std::collections::BTreeSet;

use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::{Work, ids, record};
use crate::domain::id::{ContactId, DeliveryId, ErasureId, WorkspaceId};
use crate::limits;
use crate::store::erase::EMPTIED;
use crate::store::postgres::columns::json;
use crate::store::postgres::db::{Db, Rows};
use crate::store::row::Columns as _;
use crate::store::row::erase::{erased_raw, standing as standing_of, unlinked as unlinked_of};
use crate::store::{Erased, Person, StandingDelivery, StoreError, UnlinkedPage};

// A lead of it is to be converted again, from what came in, or parts of it are not
// converted yet: nobody knows whose these are.
macro_rules! is_pending {
    ($delivery:literal) => {
        concat!(
            "(exists (
  select 1 from items as unknown
  where unknown.workspace_id = $1
  and unknown.delivery_id = ",
            $delivery,
            "
  and unknown.contact_id is null
  and unknown.status in ('unrouted', 'failed')
  offset 0)
or exists (
  select 1 from deliveries as part
  where part.workspace_id = $1
  and part.id = ",
            $delivery,
            "
  and (part.next_attempt_at is not null
    or (part.status = 'parked' and part.attempts > 0))
  offset 0))"
        )
    };
}

pub(super) use is_pending;

const LINKED: &str = concat!(
    "
select distinct i.delivery_id
from items as i
where i.contact_id = $2
and (i.workspace_id = $1) is true
and not ",
    is_pending!("i.delivery_id"),
    "
order by i.delivery_id
limit $3"
);

// A lead of them may have become so since they were found.
const PENDING: &str = concat!(
    "
select wanted.id
from unnest($2::uuid[]) as wanted (id)
where ",
    is_pending!("wanted.id")
);

const LOCK_WORK: &str = "
select delivery_id
from queue
where delivery_id = any ($2)
and (workspace_id = any ($1)) is true
order by delivery_id, item
for update";

const LOCK: &str = "
select d.id
from unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
join deliveries as d
  on d.workspace_id = old.workspace_id
  and d.id = old.id
order by d.id
for update of d";

// Somebody else's, or somebody's who is not known yet.
macro_rules! of_shared {
    ($contact:literal) => {
        concat!(
            "
  from items
  where workspace_id = $1
  and delivery_id = wanted.id
  and (contact_id <> ",
            $contact,
            "
    or (contact_id is null and status = 'waiting'))"
        )
    };
}

macro_rules! shared {
    ($contact:literal) => {
        concat!(
            "
cross join lateral (
  select 1",
            of_shared!($contact),
            "
  limit 1
) as others"
        )
    };
}

const SHARED: &str = concat!(
    "
select wanted.id
from unnest($2::uuid[]) as wanted (id)",
    shared!("$3")
);

const COUNT: &str = concat!(
    "
with own as (
  select distinct i.delivery_id as id from items as i
  where i.contact_id = $2
  and (i.workspace_id = $1) is true
  and not ",
    is_pending!("i.delivery_id"),
    "
)
select (select count(*) from own) as linked,
  (select count(*) from own as wanted",
    shared!("$2"),
    ") as shared,
  (select count(*) from own as wanted
    cross join lateral (
      select item from answers
      where workspace_id = $1
      and delivery_id = wanted.id
      offset 0
    ) as a
    where a.item in (
      select i.item from items as i
      where i.workspace_id = $1
      and i.delivery_id = wanted.id
      and i.contact_id = $2
      offset 0)
    or not exists (
      select 1",
    of_shared!("$2"),
    "
      offset 0)) as answers"
);

/// Deliveries that led to the person.
pub async fn count(connection: &mut PgConnection, person: &Person) -> Result<Erased, StoreError> {
    let row = sqlx::query(COUNT)
        .bind(person.workspace.0)
        .bind(person.id.0)
        .fetch_one(connection)
        .await?;
    erased_raw(&row)
}

const ANSWERS_OF_ITEMS: &str = "
delete from answers as a
using items as i
where i.workspace_id = $1
and i.delivery_id = any ($2)
and i.contact_id is not distinct from $3
and a.workspace_id = i.workspace_id
and a.delivery_id = i.delivery_id
and a.item = i.item";

const ITEMS_OF: &str = "
delete from items
where workspace_id = $1
and delivery_id = any ($2)
and contact_id is not distinct from $3";

const EMPTY: &str = "
update deliveries as d
set query = '[]', headers = '[]', body = '', body_bytes = 0, presented = null, peer = null,
  error = null, notes = $3::json
from unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where d.workspace_id = old.workspace_id
and d.id = old.id
and (d.body_bytes > 0 or d.query::text <> '[]' or d.headers::text <> '[]')";

/// Deliveries that led to the person.
pub async fn linked(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let most = limits::ERASED_WHOLE_AT_ONCE;
    let found = work.of_contact(LINKED, most).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut all = ids(&found)?;
    let (workspace, contact) = (work.person.workspace, work.person.id.0);
    lock(work.connection, workspace, &all).await?;
    let pending = sqlx::query(PENDING)
        .bind(workspace.0)
        .bind(&all)
        .fetch_all(&mut *work.connection)
        .await?;
    let pending = ids(&pending)?;
    all.retain(|id| !pending.contains(id));
    let shared = sqlx::query(SHARED)
        .bind(workspace.0)
        .bind(&all)
        .bind(contact)
        .fetch_all(&mut *work.connection)
        .await?;
    let shared = ids(&shared)?;
    let own: Vec<Uuid> = all.into_iter().filter(|id| !shared.contains(id)).collect();
    let mut erased = remove(work.connection, workspace, &own).await?;
    erased.add(&empty(work.connection, workspace, &shared, Some(contact)).await?);
    Ok(Some(erased))
}

/// What others were brought with goes, and what became of this contact, or of nobody.
async fn empty(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    shared: &[Uuid],
    contact: Option<Uuid>,
) -> Result<Erased, StoreError> {
    if shared.is_empty() {
        return Ok(Erased::default());
    }
    let mut gone = [0; 2];
    for (sql, count) in [ANSWERS_OF_ITEMS, ITEMS_OF].into_iter().zip(&mut gone) {
        *count = sqlx::query(sql)
            .bind(workspace.0)
            .bind(shared)
            .bind(contact)
            .execute(&mut *connection)
            .await?
            .rows_affected();
    }
    let emptied = sqlx::query(EMPTY)
        .bind(vec![workspace.0; shared.len()])
        .bind(shared)
        .bind(json(&[EMPTIED])?)
        .execute(connection)
        .await?;
    Ok(Erased {
        shared_deliveries: emptied.rows_affected(),
        fetch_answers: gone[0],
        ..Erased::default()
    })
}

/// Whoever works on one of them has it until the end, or has let go of it.
async fn lock(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    deliveries: &[Uuid],
) -> Result<(), StoreError> {
    for sql in [LOCK_WORK, LOCK] {
        sqlx::query(sql)
            .bind(vec![workspace.0; deliveries.len()])
            .bind(deliveries)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

const ITEMS: &str = "
delete from items as i
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where i.workspace_id = old.workspace_id
and i.delivery_id = old.id";

const FETCHES: &str = "
delete from fetches as f
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where f.workspace_id = old.workspace_id
and f.delivery_id = old.id";

const ANSWERS: &str = "
delete from answers as a
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where a.workspace_id = old.workspace_id
and a.delivery_id = old.id";

const QUEUE: &str = "
delete from queue
where delivery_id = any ($2)
and (workspace_id = any ($1)) is true";

const DELIVERIES: &str = "
delete from deliveries as d
using unnest($1::uuid[], $2::uuid[]) as old (workspace_id, id)
where d.workspace_id = old.workspace_id
and d.id = old.id";

/// Whole deliveries, with all that is kept of them.
async fn remove(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    deliveries: &[Uuid],
) -> Result<Erased, StoreError> {
    let mut gone = [0; 5];
    let all = [ITEMS, FETCHES, QUEUE, ANSWERS, DELIVERIES];
    for (sql, count) in all.into_iter().zip(&mut gone) {
        *count = sqlx::query(sql)
            .bind(vec![workspace.0; deliveries.len()])
            .bind(deliveries)
            .execute(&mut *connection)
            .await?
            .rows_affected();
    }
    let [_, _, _, fetch_answers, deliveries] = gone;
    Ok(Erased {
        deliveries,
        fetch_answers,
        ..Erased::default()
    })
}

// Of what is not finished nobody knows yet whose it is.
const LED: &str = "
select d.id
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id
where d.status in ('converted', 'duplicate', 'rejected', 'ignored')
and (
  select bool_or(i.contact_id is not null) from items as i
  where i.workspace_id = d.workspace_id
  and i.delivery_id = d.id)";

/// Removes these of the workspace, or empties them where something led to somebody.
pub async fn deliveries(
    db: &Db,
    workspace: WorkspaceId,
    erasure: ErasureId,
    ids: &[DeliveryId],
) -> Result<Erased, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    let noted = record::lock(&mut transaction, erasure).await?;
    let mut ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    lock(&mut transaction, workspace, &ids).await?;
    let led = sqlx::query(LED)
        .bind(vec![workspace.0; ids.len()])
        .bind(&ids)
        .fetch_all(&mut *transaction)
        .await?;
    let led = self::ids(&led)?;
    ids.retain(|id| !led.contains(id));
    let mut erased = remove(&mut transaction, workspace, &ids).await?;
    erased.add(&empty(&mut transaction, workspace, &led, None).await?);
    record::note(&mut transaction, erasure, noted, &erased).await?;
    transaction.commit().await?;
    Ok(erased)
}

const PAGE: &str = concat!(
    "
select d.id, d.body_bytes,
  ",
    is_pending!("d.id"),
    " or (
    select bool_and(i.contact_id is not null) or bool_or(i.contact_id = $4) from items as i
    where i.workspace_id = $1
    and i.delivery_id = d.id) is not true as wanted
from deliveries as d
where d.workspace_id = $1
and d.id > $2
order by d.id
limit $3"
);

// What the items of a delivery say together; of none it says no.
macro_rules! items_of {
    () => {
        "
cross join lateral (
  select coalesce(bool_or(i.contact_id is not null), false) as shared,
    coalesce(bool_and(i.contact_id is not null), false) and d.next_attempt_at is null as led,
    coalesce(bool_or(i.contact_id is null and i.status in ('unrouted', 'failed')), false)
      or d.next_attempt_at is not null
      or (d.status = 'parked' and d.attempts > 0) as pending,
    array_agg(i.contact_id) as contacts
  from items as i
  where i.workspace_id = d.workspace_id
  and i.delivery_id = d.id
) as of_items"
    };
}

const RAW: &str = concat!(
    "
select d.id, d.status, d.query::text as query, d.headers::text as headers, d.body,
  of_items.shared, of_items.pending, coalesce($3 = any (of_items.contacts), false) as own
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id",
    items_of!(),
    "
order by d.id"
);

/// The next deliveries that led to no contact, or in part to others than this one, or
/// a lead of which is to be converted again, bounded in number and bytes.
pub async fn unlinked(
    db: &Db,
    workspace: WorkspaceId,
    contact: ContactId,
    after: Option<DeliveryId>,
) -> Result<UnlinkedPage, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let page = sqlx::query(PAGE)
        .bind(workspace.0)
        .bind(after.map_or(Uuid::nil(), |id| id.0))
        .bind(i64::from(limits::SEARCHED_AT_ONCE))
        .bind(contact.0)
        .fetch_all(&mut *snapshot)
        .await?;
    let full = page.len() == limits::SEARCHED_AT_ONCE as usize;
    let (mut wanted, mut bytes, mut next) = (Vec::new(), 0, None);
    for row in &page {
        if bytes > limits::SEARCHED_BYTES {
            break;
        }
        next = Some(row.id("id")?);
        if row.flag("wanted")? {
            bytes += row.number::<u64>("body_bytes")?;
            wanted.push(row.id::<Uuid>("id")?);
        }
    }
    let is_last = !full && next == page.last().map(|row| row.id("id")).transpose()?;
    let found = sqlx::query(RAW)
        .bind(vec![workspace.0; wanted.len()])
        .bind(wanted)
        .bind(contact.0)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    Ok(UnlinkedPage {
        deliveries: found.iter().map(unlinked_of).collect::<Result<_, _>>()?,
        next: next.filter(|_| !is_last),
    })
}

// What was emptied, and what became other contacts', is not the person's any more.
const STANDING: &str = concat!(
    "
select d.id, d.status, of_items.shared, of_items.pending
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deliveries as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id",
    items_of!(),
    "
where (d.body_bytes > 0 or d.query::text <> '[]' or d.headers::text <> '[]')
and not of_items.led
order by d.id"
);

/// Which of the deliveries that erasures left are still there.
pub async fn standing(
    connection: &mut PgConnection,
    left: &[(WorkspaceId, DeliveryId)],
) -> Result<Vec<StandingDelivery>, StoreError> {
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let left: BTreeSet<_> = left.iter().map(|(of, id)| (of.0, id.0)).collect();
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = left.into_iter().unzip();
    let found = sqlx::query(STANDING)
        .bind(workspaces)
        .bind(ids)
        .fetch_all(connection)
        .await?;
    found.iter().map(standing_of).collect()
}

pub(super) const SQL: &[&str] = &[
    LINKED,
    LOCK_WORK,
    LOCK,
    PENDING,
    SHARED,
    COUNT,
    ANSWERS_OF_ITEMS,
    ITEMS_OF,
    EMPTY,
    ITEMS,
    FETCHES,
    ANSWERS,
    QUEUE,
    DELIVERIES,
    LED,
    PAGE,
    RAW,
    STANDING,
];
