//! Deliveries as operators see them, and the backlog.
//!
//! A list over all workspaces takes the newest deliveries of each, and then the newest of these: in
//! PostgreSQL the key of deliveries begins with the workspace, and the policies show only rows of
//! the named workspaces. Unfinished deliveries are found through the queue, which is short.

use crate::operations::prelude::*;
use crate::{ItemOutcome, NewDelivery};
use leadhost_domain::connection::Connection;
use std::cmp::Reverse;

use crate::operations::agents;
use crate::{
    Backlog, ConvertedFilter, DeliveryCount, DeliveryDetail, DeliveryFilter, DeliverySummary,
    LeftDeliveries,
};
use leadhost_domain::connection::EndedChange;
use leadhost_domain::id::first_uuid_at;

// All filters apply to the inner query; the remaining columns are looked up only for its rows.
macro_rules! deliveries_of {
    ($found:expr) => {
        sql(concat!(
            "
select page.id, page.connection_id, page.received_at, page.body_bytes, page.status, page.error,
  page.ran, page.attempts, coalesce(c.name, '') as connection,
  (select count(*) from items as i
   where i.workspace_id = page.workspace_id and i.delivery_id = page.id) as items
from (",
            $found,
            "
  order by id desc
  limit :limit
) as page
left join connections as c on c.id = page.connection_id
order by page.id desc"
        ))
    };
}

// Without bodies, so that they are not carried along.
macro_rules! columns {
    () => {
        "
    select d.workspace_id, d.id, d.connection_id, d.received_at, d.body_bytes, d.status, d.error,
      d.ran, d.attempts"
    };
}

macro_rules! filters {
    () => {
        "
    and (:connection::text is null or d.connection_id = :connection)
    and (:status::text is null or d.status = :status)
    and (not :converted::boolean
      or d.status in ('converted', 'rejected', 'unrouted', 'duplicate', 'ignored'))
    and (:since::timestamptz is null or d.received_at >= :since)
    and (:until::timestamptz is null or d.received_at < :until)
    and (:version::text is null or d.ran ->> 'version' = :version
      or (length(:version) >= 8 and substr(d.ran ->> 'digest', 1, length(:version)) = :version))
    and d.id >= :from
    and d.id < :before"
    };
}

// A delivery of any workspace, and the workspaces in turn, because its key begins with the workspace in
// PostgreSQL.
macro_rules! one_delivery {
    () => {
        "
workspaces as w                                                 -- postgres
cross join lateral (                                            -- postgres
  select *                                                      -- postgres
  from deliveries                                               -- postgres
  where workspace_id = w.id                                     -- postgres
  and id = :id                                                  -- postgres
  offset 0                                                      -- postgres
) as d                                                          -- postgres
deliveries as d                                                 -- sqlite"
    };
}
pub(super) use one_delivery;

// The newest of each workspace, because its key begins with the workspace in PostgreSQL.
macro_rules! of_each_workspace {
    ($condition:literal) => {
        deliveries_of!(concat!(
            "
  select of_one.*                                               -- postgres
  from workspaces as w                                          -- postgres
  cross join lateral (                                          -- postgres",
            columns!(),
            "
    from deliveries as d
    where d.workspace_id = w.id                                 -- postgres
    where (d.workspace_id between :first and :last) is true     -- sqlite",
            $condition,
            filters!(),
            "
    order by d.id desc                                          -- postgres
    limit :limit                                                -- postgres
  ) as of_one                                                   -- postgres
  where w.id between :first and :last                           -- postgres"
        ))
    };
}

macro_rules! among {
    ($ids:literal) => {
        deliveries_of!(concat!(
            columns!(),
            "
  from deliveries as d
  where d.workspace_id = :workspace                             -- postgres
  where (d.workspace_id = :workspace) is true                   -- sqlite
    and d.id in (",
            $ids,
            "
    )",
            filters!()
        ))
    };
}

statements! {
    static ONE: Sql = sql(concat!("
select d.workspace_id, d.id, d.connection_id, d.received_at, d.method, d.path, d.query, d.headers,
  d.body_bytes, d.status, d.error, d.notes, d.ran, d.attempts, d.next_attempt_at, d.body,
  coalesce(c.name, '') as connection,
  (select count(*) from items as i
   where i.workspace_id = d.workspace_id and i.delivery_id = d.id) as items
from ", one_delivery!(), "
left join connections as c on c.id = d.connection_id
where d.id = :id"));

    static ITEMS: Sql = sql("
select item, status, external_id, deal_id, contact_id, message
from items
where workspace_id = :workspace
and delivery_id = :id
order by item");

    static LIST: Sql = of_each_workspace!("");

    // The words must be the same as in the index.
    static LIST_WITHOUT_LEAD: Sql = of_each_workspace!(
        "
    and d.status in ('rejected', 'duplicate', 'ignored')
    and d.status = :status"
    );

    static LIST_OF_CONNECTION: Sql = deliveries_of!(concat!(
        columns!(),
        "
    from deliveries as d
    where d.connection_id = :connection
    and (d.workspace_id between :first and :last) is true",
        filters!()
    ));

    static LIST_WAITING: Sql = deliveries_of!(concat!(
        "
  select waiting.*                                              -- postgres
  from queue as q                                               -- postgres
  cross join lateral (                                          -- postgres",
        columns!(),
        "
    from deliveries as d                                        -- postgres
    from queue as q                                             -- sqlite
    cross join deliveries as d                                  -- sqlite
    where d.workspace_id = q.workspace_id
    and d.id = q.delivery_id",
        filters!(),
        "
  ) as waiting                                                  -- postgres
  where q.item = -1                                             -- postgres
    and q.item = -1                                             -- sqlite
  and q.status = :status
  and q.delivery_id < :before
  and q.workspace_id between :first and :last
  and (:connection::text is null or q.connection_id = :connection)"
    ));

    // Through the items of the contacts, which are few.
    static LIST_OF_CONTACT: Sql = among!("
      select i.delivery_id from items as i
      where i.contact_id = :contact
      and (i.workspace_id = :workspace) is true
      order by i.delivery_id desc
      limit :items");

    // The lead of an external id names its delivery. `offset 0` is a fence: reading the deals in their
    // order would look cheap while there are few.
    static LIST_OF_EXTERNAL_ID: Sql = among!("
      select l.delivery_id from (
        select id, delivery_id from deals
        where workspace_id = :workspace
        and external_id = :external_id
        and delivery_id is not null
        offset 0                                                  -- postgres
      ) as l
      order by l.id desc
      limit :items");

    static LIST_OF_KEY: Sql = among!("
      select k.delivery_id from delivery_keys as k
      where k.key = :key
      and k.workspace_id = :workspace                             -- postgres
      and (k.workspace_id = :workspace) is true                   -- sqlite
      order by k.delivery_id desc
      limit :items");

    static KEYED_FROM: Sql = sql("
select keyed_from
from workspaces
where id = :workspace");

    static WORKSPACE_OF: Sql = sql("
select workspace_id
from connections
where id = :connection");

    static WORKSPACES_THAT_WAIT: Sql = sql("
select distinct workspace_id
from queue
where (item = -1) is true
and status = :status
order by workspace_id");

    // The row that follows the newest ones. Only ids are read, and on SQLite the workspaces.
    static FLOOR: Sql = sql("
select of_one.id                                                -- postgres
from workspaces as w                                            -- postgres
cross join lateral (                                            -- postgres
  select d.id
  from deliveries as d
  where d.workspace_id = w.id                                   -- postgres
  where (d.workspace_id between :first and :last) is true       -- sqlite
  and d.id >= :from
  and d.id < :before
  order by d.id desc
  limit 1 offset :rows
) as of_one                                                     -- postgres
where w.id between :first and :last                             -- postgres");

    static FLOOR_OF_CONNECTION: Sql = sql("
select d.id
from deliveries as d
where d.connection_id = :connection
and (d.workspace_id between :first and :last) is true
and d.id >= :from
and d.id < :before
order by d.id desc
limit 1 offset :rows");

    // Deliveries of a conversion that has ended or failed, among the newest of the connection: the index
    // finds those, and the rest is read of each.
    static COUNT: Sql = sql("
select count(*) as looked,
  count(*) filter (
    where (own.status in ('failed', 'parked')
      or (not :failed::boolean
        and own.status in ('converted', 'rejected', 'unrouted', 'duplicate', 'ignored')))
    and (:since::timestamptz is null or own.received_at >= :since)
    and (:digest::text is null or own.ran ->> 'digest' = :digest)
  ) as found
from (
  select d.status, d.received_at, d.ran
  from deliveries as d
  where d.connection_id = :connection
  and (d.workspace_id = :workspace) is true
  and d.id >= :from
  order by d.id desc
  limit :rows
) as own");

    // Each condition on a lead is for one that has lost this field. A contact may have the phone of another lead.
    static LEFT: Sql = sql("
select count(*) as found,
  count(*) filter (where own.status = 'converted') as lacking,
  min(own.received_at) as first_at,
  max(own.received_at) as last_at
from (
  select d.workspace_id, d.id, d.status, d.received_at, d.ran
  from deliveries as d
  where d.connection_id = :connection
  and (d.workspace_id = :workspace) is true
  and d.id >= :from
  and d.id < :before
  order by d.id desc
  limit :rows
) as own
where (own.ran ->> 'replayed') is null
and (:digest::text is null or own.ran ->> 'digest' = :digest)
and (own.status = 'rejected'
  or (:lead::boolean and own.status = 'ignored')
  or (own.status = 'converted' and exists (
    select 1
    from items as i
    fenced left join contacts as c
      on c.workspace_id = i.workspace_id
      and c.id = i.contact_id
    fenced left join deals as l
      on l.workspace_id = i.workspace_id
      and l.id = i.deal_id
    where i.workspace_id = own.workspace_id
    and i.delivery_id = own.id
    and i.status = 'converted'
    and ((:name::boolean and c.name is null)
      or (:phone::boolean and c.phone_number is null)
      or (:email::boolean and c.email is null)
      or (:external_id::boolean and i.external_id is null)
      or (:listing::boolean and l.product_id is null
        and (l.props -> 'listings') is null)
      or (:reachable::boolean and c.phone_number is null and c.email is null)))))");

    // As for a count, the index finds the newest of the connection, and the rest is read of each. The newest of
    // each outcome come first, so that the limit cuts off none of a rare one.
    static NEWEST_OF_OUTCOMES: Sql = sql("
select found.id, found.status
from (
  select own.id, own.status,
    row_number() over (partition by own.status order by own.id desc) as place
  from (
    select d.id, d.status, d.received_at, d.ran
    from deliveries as d
    where d.connection_id = :connection
    and (d.workspace_id = :workspace) is true
    and d.id >= :from
    order by d.id desc
    limit :rows
  ) as own
  where own.status in ('converted', 'rejected', 'unrouted', 'duplicate', 'ignored')
  and (:since::timestamptz is null or own.received_at >= :since)
  and (:digest::text is null or own.ran ->> 'digest' = :digest)
) as found
order by found.place, found.id desc
limit :limit");

    // One seek for each connection. The condition on the workspace is for the rows that may be seen, and
    // leads no index.
    static LAST: Sql = sql("
select c.id,
  (select d.received_at from deliveries as d
   where d.connection_id = c.id
   and (d.workspace_id = c.workspace_id) is true
   order by d.id desc
   limit 1) as received_at
from connections as c
where c.workspace_id between :first and :last");

    // A queued delivery without a time for its next attempt waits only for its fetches. Ids sort by
    // time, so the first is the oldest.
    static BACKLOG: Sql = sql("
select
  count(*) filter (where item = -1 and status = 'queued' and due_at is not null) as queued,
  count(*) filter (where item >= 0) as fetches,
  count(*) filter (where item = -1 and status = 'failed') as failed,
  count(*) filter (where item = -1 and status = 'parked') as parked,
  count(*) filter (where item = -1 and status = 'quarantined') as quarantined,
  count(*) filter (where item = -2 and status <> 'unknown') as sends,
  count(*) filter (where item = -2 and status = 'unknown') as unknown,
  (select workspace_id from queue
   where item = -1 and status in ('queued', 'failed')
   order by delivery_id limit 1) as workspace_id,
  (select delivery_id from queue
   where item = -1 and status in ('queued', 'failed')
   order by delivery_id limit 1) as delivery_id
from queue");

    static RECEIVED: Sql = sql("
select received_at
from deliveries
where workspace_id = :workspace
and id = :delivery");

    // Only deliveries to convert have a due time.
    static WAITING: Sql = sql("
select connection_id, count(*) as count
from queue
where item = -1
and due_at is not null
group by connection_id");
}

from_row! {
    DeliveryDetail |row| {
        summary = DeliverySummary::from_row(row)?, workspace: "workspace_id",
        request = NewDelivery::from_row(row)?, notes, next_attempt_at, items = Vec::new(),
    }

    DeliveryCount |row| { looked, found }

    Backlog |row| {
        queued, fetches, failed, parked, quarantined, sends, unknown, oldest_waiting = None,
    }
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
        steps!(self.database.read_many(All), |tx| {
            let found = tx
                .row(&ONE, &args! { id }, DeliveryDetail::from_row)
                .await?;
            let Some(mut detail) = found else {
                return Ok(None);
            };
            let args = args! { workspace: detail.workspace, id };
            detail.items = tx.rows(&ITEMS, &args, ItemOutcome::from_row).await?;
            Ok(Some(detail))
        })
        .await
    }

    /// Returns the deliveries of a workspace whose leads belong to these contacts or have this external
    /// id, or that have one of these search keys, as far as the filter selects them, in no order; and the
    /// time before which deliveries may have no search keys. `None`: all have them.
    pub async fn search_deliveries(
        &self,
        filter: &DeliveryFilter,
        workspace: WorkspaceId,
        contacts: Vec<ContactId>,
        external_id: String,
        keys: Vec<i64>,
    ) -> Result<(Vec<DeliverySummary>, Option<Micros>), StoreError> {
        let filter = filter.clone();
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let status = filter.status.map(|status| status.as_str());
            let (from, before) = id_range(&filter);
            let connection = filter.connection.as_ref();
            let version = filter.version.as_deref();
            let items = limits::SEARCHED_ITEMS;
            let external_id = external_id.as_str();
            let by_contact = contacts.into_iter();
            let by_contact = by_contact.map(|contact| (&LIST_OF_CONTACT, Some(contact), None));
            let by_key = keys.into_iter().map(|key| (&LIST_OF_KEY, None, Some(key)));
            let mut found = Vec::new();
            for (sql, contact, key) in [(&LIST_OF_EXTERNAL_ID, None, None)]
                .into_iter()
                .chain(by_contact)
                .chain(by_key)
            {
                // Each statement uses one of the last three.
                let args = args! {
                    from filter: converted, since, until, limit;
                    workspace, items, connection, status, version, from, before, external_id,
                    contact, key,
                };
                found.extend(tx.rows(sql, &args, DeliverySummary::from_row).await?);
            }
            let args = args! { workspace };
            let from = tx.row(&KEYED_FROM, &args, |row| row.get("keyed_from"));
            Ok((found, from.await?.flatten()))
        })
        .await
    }

    pub async fn deliveries(
        &self,
        filter: &DeliveryFilter,
    ) -> Result<Vec<DeliverySummary>, StoreError> {
        let filter = filter.clone();
        steps!(self.database.read_many(Of(&[])), |tx| {
            let (sql, workspaces): (&'static Sql, Vec<WorkspaceId>) =
                match (filter.status, &filter.connection) {
                    (
                        Some(
                            status @ (DeliveryStatus::Queued
                            | DeliveryStatus::Failed
                            | DeliveryStatus::Parked
                            | DeliveryStatus::Quarantined
                            | DeliveryStatus::Unrouted),
                        ),
                        _,
                    ) => {
                        let args = args! { status: status.as_str() };
                        let waiting =
                            tx.rows(&WORKSPACES_THAT_WAIT, &args, |row| row.get("workspace_id"));
                        (&LIST_WAITING, waiting.await?)
                    }
                    (
                        Some(
                            DeliveryStatus::Rejected
                            | DeliveryStatus::Duplicate
                            | DeliveryStatus::Ignored,
                        ),
                        _,
                    ) => (&LIST_WITHOUT_LEAD, agents::workspace_ids(tx).await?),
                    (_, Some(connection)) => {
                        let args = args! { connection };
                        let of = tx.rows(&WORKSPACE_OF, &args, |row| row.get("workspace_id"));
                        (&LIST_OF_CONNECTION, of.await?)
                    }
                    (_, None) => (&LIST, agents::workspace_ids(tx).await?),
                };
            let wanted: Vec<WorkspaceId> = workspaces
                .into_iter()
                .filter(|id| filter.workspace.is_none_or(|wanted| wanted == *id))
                .collect();
            let (from, before) = id_range(&filter);
            let mut found: Vec<DeliverySummary> = Vec::new();
            for (some, first, last) in agents::parts(&wanted) {
                tx.name(some).await?;
                let args = args! {
                    from filter: connection, status, converted, since, until, version,
                    limit;
                    first, last, from, before,
                };
                found.extend(tx.rows(sql, &args, DeliverySummary::from_row).await?);
            }
            found.sort_by_key(|summary| Reverse(summary.id));
            found.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
            Ok(found)
        })
        .await
    }

    /// Returns the first delivery, in the order of time, of the newest `rows` that a list could look at:
    /// of the connection of the filter, and between its bounds. On PostgreSQL these are so many in all
    /// workspaces together, an equal part of each. `None` if there are no more before them.
    pub async fn delivery_floor(
        &self,
        filter: &DeliveryFilter,
        rows: u32,
    ) -> Result<Option<DeliveryId>, StoreError> {
        let filter = filter.clone();
        let each_alone = matches!(&self.database, Database::Postgres(_));
        steps!(self.database.read_many(Of(&[])), |tx| {
            let (sql, workspaces): (&'static Sql, Vec<WorkspaceId>) = match &filter.connection {
                Some(connection) => {
                    let args = args! { connection };
                    let of = tx.rows(&WORKSPACE_OF, &args, |row| row.get("workspace_id"));
                    (&FLOOR_OF_CONNECTION, of.await?)
                }
                None => (&FLOOR, agents::workspace_ids(tx).await?),
            };
            let parts = match (each_alone, u32::try_from(workspaces.len())) {
                (true, Ok(parts)) => parts.max(1),
                _ => 1,
            };
            let rows = i64::from((rows / parts).max(1));
            let (from, before) = id_range(&filter);
            let mut floor: Option<DeliveryId> = None;
            for (some, first, last) in agents::parts(&workspaces) {
                tx.name(some).await?;
                let args = args! {
                    first,
                    last,
                    connection: filter.connection.as_ref(),
                    from,
                    before,
                    rows,
                };
                let found: Vec<DeliveryId> = tx.rows(sql, &args, |row| row.get("id")).await?;
                floor = found.into_iter().chain(floor).max();
            }
            Ok(floor)
        })
        .await
    }

    /// Counts the deliveries of a connection whose conversion has ended or failed, among its newest
    /// `rows`.
    pub async fn count_deliveries(
        &self,
        filter: &ConvertedFilter,
        rows: u32,
    ) -> Result<DeliveryCount, StoreError> {
        let filter = filter.clone();
        let workspace = filter.workspace;
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let from = filter.since.map_or(Uuid::nil(), first_uuid_at);
            let args = args! {
                from filter: connection, failed, since, digest;
                workspace, from, rows,
            };
            tx.only(&COUNT, &args, DeliveryCount::from_row).await
        })
        .await
    }

    /// Counts the deliveries that this ended change of a connection has left, among its newest `rows`.
    pub async fn deliveries_left_by(
        &self,
        connection: &Connection,
        change: &EndedChange,
        rows: u32,
    ) -> Result<LeftDeliveries, StoreError> {
        let (workspace, connection) = (connection.workspace, connection.id.clone());
        let change = change.clone();
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let [lead, name, phone, email, external_id, listing, reachable] = change.fields;
            let before = first_uuid_at(change.until.plus(Duration::from_millis(1)));
            let args = args! {
                workspace, connection: &connection, from: first_uuid_at(change.since), before, rows,
                digest: change.digest.as_ref(), lead, name, phone, email, external_id, listing, reachable
            };
            tx.only(&LEFT, &args, |row| {
                let (found, lacking): (u64, u64) = (row.get("found")?, row.get("lacking")?);
                Ok(LeftDeliveries {
                    refused: found - lacking,
                    lacking,
                    received: row.get::<Option<_>>("first_at")?.zip(row.get("last_at")?),
                })
            })
            .await
        })
        .await
    }

    /// Returns the newest deliveries of each outcome of a conversion that has ended, among the newest
    /// `rows` of a connection: one of each outcome in turn, at most `limit` in total. Those that failed
    /// or are parked are not among them.
    pub async fn newest_of_outcomes(
        &self,
        filter: &ConvertedFilter,
        rows: u32,
        limit: u32,
    ) -> Result<Vec<(DeliveryId, DeliveryStatus)>, StoreError> {
        let workspace = filter.workspace;
        let from = filter.since.map_or(Uuid::nil(), first_uuid_at);
        let args = args! { from filter: connection, since, digest; workspace, from, rows, limit };
        self.database
            .many_rows(
                VisibleRows::Of(&[workspace]),
                &NEWEST_OF_OUTCOMES,
                args,
                cells!("id", "status"),
            )
            .await
    }

    pub async fn last_deliveries(&self) -> Result<HashMap<ConnectionId, Micros>, StoreError> {
        steps!(self.database.read_many(Of(&[])), |tx| {
            let mut found = HashMap::new();
            let workspaces = agents::workspace_ids(tx).await?;
            for (some, first, last) in agents::parts(&workspaces) {
                tx.name(some).await?;
                let args = args! { first, last };
                let rows = tx
                    .rows(&LAST, &args, |row| {
                        let at: Option<Micros> = row.get("received_at")?;
                        Ok((row.get::<ConnectionId>("id")?, at))
                    })
                    .await?;
                found.extend(rows.into_iter().filter_map(|(id, at)| Some((id, at?))));
            }
            Ok(found)
        })
        .await
    }

    /// Returns the numbers of waiting and failed deliveries, for metrics and for the budget of the
    /// intake.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        let (mut backlog, oldest) = steps!(self.database.read_many(Exempt), |tx| {
            tx.only(&BACKLOG, &[], |row| {
                let workspace: Option<WorkspaceId> = row.get("workspace_id")?;
                let delivery: Option<DeliveryId> = row.get("delivery_id")?;
                Ok((Backlog::from_row(row)?, workspace.zip(delivery)))
            })
            .await
        })
        .await?;
        if let Some((workspace, delivery)) = oldest {
            backlog.oldest_waiting = steps!(self.database.read(Of(&[workspace])), |tx| {
                let args = args! { workspace, delivery };
                tx.row(&RECEIVED, &args, |row| row.get("received_at")).await
            })
            .await?;
        }
        Ok(backlog)
    }

    /// Returns the number of deliveries that wait for conversion, including failed ones, by
    /// connection.
    pub async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError> {
        let counts = self
            .database
            .many_rows(
                VisibleRows::Exempt,
                &WAITING,
                [],
                cells!("connection_id", "count"),
            )
            .await?;
        Ok(counts.into_iter().collect())
    }
}

/// Returns the first id that may be listed, and the one before which the list ends. Ids begin with the
/// time of the delivery, and only ids have an index. Without a bound they are the least and the greatest
/// id, so that the index is walked as a range: because of the policies, an index cannot be used for
/// expressions that they do not see through, such as a `coalesce`.
fn id_range(filter: &DeliveryFilter) -> (Uuid, Uuid) {
    let end = filter.until.map_or(Uuid::max(), |until| {
        first_uuid_at(until.plus(Duration::from_millis(1)))
    });
    let since = filter.since.map_or(Uuid::nil(), first_uuid_at);
    (
        filter.from.map_or(since, |id| id.0.max(since)),
        filter.before.map_or(end, |id| id.0.min(end)),
    )
}

/// They count everything that waits, which is the whole queue.
#[cfg(test)]
pub const WHOLE: &[&Sql] = &[&BACKLOG, &WAITING];
