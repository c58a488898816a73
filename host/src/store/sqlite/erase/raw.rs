//! What came in about a person, as it came. A delivery that brought others too is
//! emptied rather than removed: what became of the others stays to be seen.

use std::collections::BTreeSet;

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::{Work, record};
use crate::domain::id::{ContactId, DeliveryId, ErasureId, WorkspaceId};
use crate::limits;
use crate::store::erase::EMPTIED;
use crate::store::row::Columns as _;
use crate::store::row::erase::{erased_raw, standing as standing_of, unlinked as unlinked_of};
use crate::store::sqlite::db::Db;
use crate::store::sqlite::json;
use crate::store::{Erased, Person, StandingDelivery, StoreError, UnlinkedPage};

// A lead of it is to be converted again, from what came in, or parts of it are not
// converted yet: nobody knows whose these are.
macro_rules! is_pending {
    ($delivery:literal) => {
        concat!(
            "(exists (
  select 1 from items as unknown
  where unknown.delivery_id = ",
            $delivery,
            "
  and unknown.contact_id is null
  and unknown.status in ('unrouted', 'failed'))
or exists (
  select 1 from deliveries as part
  where part.id = ",
            $delivery,
            "
  and (part.next_attempt_at is not null
    or (part.status = 'parked' and part.attempts > 0))))"
        )
    };
}

const LINKED: &str = concat!(
    "
select distinct i.delivery_id
from items as i
where i.contact_id = ?1
and not ",
    is_pending!("i.delivery_id"),
    "
limit ?2"
);

// Somebody else's, or somebody's who is not known yet.
macro_rules! is_shared {
    ($delivery:literal) => {
        concat!(
            "exists (
  select 1 from items as other
  where other.delivery_id = ",
            $delivery,
            "
  and (other.contact_id <> ?2
    or (other.contact_id is null and other.status = 'waiting')))"
        )
    };
}

const SHARED: &str = concat!(
    "
select value
from json_each(?1) as wanted
where ",
    is_shared!("wanted.value")
);

const COUNT: &str = concat!(
    "
select count(*) as linked, coalesce(sum(",
    is_shared!("own.delivery_id"),
    "), 0) as shared,
  coalesce(sum((
    select count(*) from answers as a
    where a.delivery_id = own.delivery_id
    and (a.item in (
        select i.item from items as i
        where i.delivery_id = own.delivery_id
        and i.contact_id = ?2)
      or not ",
    is_shared!("own.delivery_id"),
    "))), 0) as answers
from (select distinct delivery_id from items where contact_id = ?2) as own
where ?1 is not null
and not ",
    is_pending!("own.delivery_id")
);

/// Deliveries that led to the person.
pub async fn count(
    connection: &mut SqliteConnection,
    person: &Person,
) -> Result<Erased, StoreError> {
    let row = sqlx::query(COUNT)
        .bind(person.workspace.to_string())
        .bind(person.id.to_string())
        .fetch_one(connection)
        .await?;
    erased_raw(&row)
}

const ANSWERS_OF_ITEMS: &str = "
delete from answers
where delivery_id in (select value from json_each(?1))
and exists (
  select 1 from items as i
  where i.delivery_id = answers.delivery_id
  and i.item = answers.item
  and i.contact_id is ?2)";

const ITEMS_OF: &str = "
delete from items
where delivery_id in (select value from json_each(?1))
and contact_id is ?2";

const EMPTY: &str = "
update deliveries
set query = '[]', headers = '[]', body = x'', body_bytes = 0, presented = null, peer = null,
  error = null, notes = ?2
where id in (select value from json_each(?1))
and (body_bytes > 0 or query <> '[]' or headers <> '[]')";

/// Deliveries that led to the person.
pub async fn linked(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = sqlx::query(LINKED)
        .bind(work.contact())
        .bind(i64::from(limits::ERASED_WHOLE_AT_ONCE))
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let all = found
        .iter()
        .map(|row| row.text("delivery_id"))
        .collect::<Result<Vec<_>, _>>()?;
    let shared = sqlx::query(SHARED)
        .bind(json(&all)?)
        .bind(work.contact())
        .fetch_all(&mut *work.connection)
        .await?
        .iter()
        .map(|row| Ok(row.try_get(0)?))
        .collect::<Result<Vec<String>, StoreError>>()?;
    let own: Vec<_> = all.iter().filter(|id| !shared.contains(id)).collect();
    let mut erased = remove(work.connection, &json(&own)?).await?;
    let contact = Some(work.contact());
    erased.add(&empty(work.connection, &shared, contact).await?);
    Ok(Some(erased))
}

/// What others were brought with goes, and what became of this contact, or of nobody.
async fn empty(
    connection: &mut SqliteConnection,
    shared: &[String],
    contact: Option<String>,
) -> Result<Erased, StoreError> {
    if shared.is_empty() {
        return Ok(Erased::default());
    }
    let list = json(shared)?;
    let mut gone = [0; 2];
    for (sql, count) in [ANSWERS_OF_ITEMS, ITEMS_OF].into_iter().zip(&mut gone) {
        *count = sqlx::query(sql)
            .bind(&list)
            .bind(&contact)
            .execute(&mut *connection)
            .await?
            .rows_affected();
    }
    let emptied = sqlx::query(EMPTY)
        .bind(&list)
        .bind(json(&[EMPTIED])?)
        .execute(connection)
        .await?;
    Ok(Erased {
        shared_deliveries: emptied.rows_affected(),
        fetch_answers: gone[0],
        ..Erased::default()
    })
}

const ITEMS: &str = "
delete from items
where delivery_id in (select value from json_each(?1))";

const FETCHES: &str = "
delete from fetches
where delivery_id in (select value from json_each(?1))";

const ANSWERS: &str = "
delete from answers
where delivery_id in (select value from json_each(?1))";

const DELIVERIES: &str = "
delete from deliveries
where id in (select value from json_each(?1))";

/// Whole deliveries, with all that is kept of them.
async fn remove(connection: &mut SqliteConnection, list: &str) -> Result<Erased, StoreError> {
    let mut gone = [0; 4];
    for (sql, count) in [ITEMS, FETCHES, ANSWERS, DELIVERIES]
        .into_iter()
        .zip(&mut gone)
    {
        *count = sqlx::query(sql)
            .bind(list)
            .execute(&mut *connection)
            .await?
            .rows_affected();
    }
    let [_, _, fetch_answers, deliveries] = gone;
    Ok(Erased {
        deliveries,
        fetch_answers,
        ..Erased::default()
    })
}

// Of what is not finished nobody knows yet whose it is.
const OF_WORKSPACE: &str = "
select d.id,
  d.status in ('converted', 'duplicate', 'rejected', 'ignored') and exists (
    select 1 from items as i
    where i.delivery_id = d.id
    and i.contact_id is not null) as led
from json_each(?2) as wanted
cross join deliveries as d on d.id = wanted.value
where +d.workspace_id = ?1";

/// Removes these of the workspace, or empties them where something led to somebody.
pub async fn deliveries(
    db: &Db,
    workspace: WorkspaceId,
    erasure: ErasureId,
    ids: &[DeliveryId],
) -> Result<Erased, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let found = sqlx::query(OF_WORKSPACE)
        .bind(workspace.to_string())
        .bind(json(ids)?)
        .fetch_all(&mut *connection)
        .await?;
    let (mut whole, mut led) = (Vec::new(), Vec::new());
    for row in &found {
        let of = if row.flag("led")? {
            &mut led
        } else {
            &mut whole
        };
        of.push(row.text("id")?);
    }
    let mut erased = remove(connection, &json(&whole)?).await?;
    erased.add(&empty(connection, &led, None).await?);
    record::note(connection, erasure, &erased).await?;
    transaction.commit().await?;
    Ok(erased)
}

// Of all workspaces, so that the primary key's order leads; others' are passed over.
const PAGE: &str = concat!(
    "
select d.id, d.body_bytes,
  d.workspace_id = ?1 and (",
    is_pending!("d.id"),
    " or not coalesce((
    select min(i.contact_id is not null) or max(i.contact_id is ?4) from items as i
    where i.delivery_id = d.id), false)) as wanted
from deliveries as d
where d.id > ?2
order by d.id
limit ?3"
);

const RAW: &str = concat!(
    "
select d.id, d.status, d.query, d.headers, d.body,
  exists (
    select 1 from items as i
    where i.delivery_id = d.id
    and i.contact_id is not null) as shared,
  exists (
    select 1 from items as i
    where i.delivery_id = d.id
    and i.contact_id = ?2) as own, ",
    is_pending!("d.id"),
    " as pending
from json_each(?1) as wanted
cross join deliveries as d on d.id = wanted.value
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
    let mut snapshot = db.readers().begin().await?;
    let page = sqlx::query(PAGE)
        .bind(workspace.to_string())
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(i64::from(limits::SEARCHED_AT_ONCE))
        .bind(contact.to_string())
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
            wanted.push(row.text("id")?);
        }
    }
    let is_last = !full && next == page.last().map(|row| row.id("id")).transpose()?;
    let found = sqlx::query(RAW)
        .bind(json(&wanted)?)
        .bind(contact.to_string())
        .fetch_all(&mut *snapshot)
        .await?;
    Ok(UnlinkedPage {
        deliveries: found.iter().map(unlinked_of).collect::<Result<_, _>>()?,
        next: next.filter(|_| !is_last),
    })
}

// What was emptied, and what became other contacts', is not the person's any more.
const STANDING: &str = concat!(
    "
select d.id, d.status,
  exists (
    select 1 from items as i
    where i.delivery_id = d.id
    and i.contact_id is not null) as shared, ",
    is_pending!("d.id"),
    " as pending
from json_each(?1) as wanted
cross join deliveries as d on d.id = wanted.value
where (d.body_bytes > 0 or d.query <> '[]' or d.headers <> '[]')
and (d.next_attempt_at is not null or not coalesce((
  select min(i.contact_id is not null) from items as i
  where i.delivery_id = d.id), false))
order by d.id"
);

/// Which of the deliveries that erasures left are still there.
pub async fn standing(
    connection: &mut SqliteConnection,
    left: &[(WorkspaceId, DeliveryId)],
) -> Result<Vec<StandingDelivery>, StoreError> {
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let ids: BTreeSet<_> = left.iter().map(|(_, id)| id).collect();
    let found = sqlx::query(STANDING)
        .bind(json(&ids)?)
        .fetch_all(connection)
        .await?;
    found.iter().map(standing_of).collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    LINKED,
    SHARED,
    COUNT,
    ANSWERS_OF_ITEMS,
    ITEMS_OF,
    EMPTY,
    ITEMS,
    FETCHES,
    ANSWERS,
    DELIVERIES,
    OF_WORKSPACE,
    PAGE,
    RAW,
    STANDING,
];
