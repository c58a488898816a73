//! Erasing a person: step by step, each a transaction that names its workspace and
//! holds the record of the erasure from its first statement on, so that two who
//! erase the same person take turns. After that it locks in the order of `load`, and
//! the clocks come last.
//!
//! What a step removes is found without a lock, locked, and looked at again: what a
//! batch of leads changed in between is not removed unseen, but the step is run
//! again. Whoever meets the contact holds its lock; so when the contact is locked and
//! nothing hangs on it, nothing will.

mod count;
mod person;
mod raw;
mod record;
mod talk;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

pub use self::count::count;
pub use self::person::person;
pub use self::raw::{deliveries, unlinked};
pub use self::record::{begin, left, list};
use super::db::{Db, Rows};
use super::{remove, tombstones};
use crate::clock::Clock;
use crate::domain::id::ErasureId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::gone::Gone;
use crate::store::{EraseStep, Erased, Extent, Person, StoreError};

/// A transaction that erases, and whom.
struct Work<'a> {
    connection: &'a mut PgConnection,
    person: &'a Person,
    now: Micros,
}

type Statement<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

impl Work<'_> {
    /// How many rows it touches.
    async fn run(&mut self, query: Statement<'_>) -> Result<u64, StoreError> {
        let done = query.execute(&mut *self.connection).await?;
        Ok(done.rows_affected())
    }

    /// The rows that a statement finds by workspace and contact, and how many at most.
    async fn of_contact(
        &mut self,
        sql: &'static str,
        limit: u32,
    ) -> Result<Vec<PgRow>, StoreError> {
        let found = sqlx::query(sql)
            .bind(self.person.workspace.0)
            .bind(self.person.id.0)
            .bind(i64::from(limit))
            .fetch_all(&mut *self.connection)
            .await?;
        Ok(found)
    }

    /// The rows that a statement finds by workspace and ids.
    async fn of_ids(&mut self, sql: &'static str, ids: &[Uuid]) -> Result<Vec<PgRow>, StoreError> {
        let found = sqlx::query(sql)
            .bind(self.person.workspace.0)
            .bind(ids)
            .fetch_all(&mut *self.connection)
            .await?;
        Ok(found)
    }

    /// How many rows a statement removes by workspace and ids.
    async fn remove(&mut self, sql: &'static str, ids: &[Uuid]) -> Result<u64, StoreError> {
        let workspace = self.person.workspace.0;
        self.run(sqlx::query(sql).bind(workspace).bind(ids)).await
    }

    /// The tombstones of what went.
    async fn bury(&mut self, gone: &Gone) -> Result<(), StoreError> {
        tombstones::bury(self.connection, self.person.workspace, gone).await?;
        Ok(())
    }
}

/// The first column of rows.
fn ids(rows: &[PgRow]) -> Result<Vec<Uuid>, StoreError> {
    Ok(rows
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?)
}

/// The next step.
pub async fn step(
    db: &Db,
    clock: &dyn Clock,
    person: &Person,
    erasure: ErasureId,
    extent: Extent<'_>,
) -> Result<EraseStep, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[person.workspace])).await?;
    let noted = record::lock(&mut transaction, erasure).await?;
    let at = clock.now();
    let mut work = Work {
        connection: &mut transaction,
        person,
        now: at,
    };
    let (erased, done) = match (next(&mut work).await?, extent) {
        (Some(erased), _) => (erased, false),
        (None, Extent::ButContact) => (Erased::default(), true),
        (None, Extent::Whole(remaining)) => match contact(&mut work).await? {
            Some(erased) => {
                record::end(work.connection, erasure, work.now, remaining).await?;
                (erased, true)
            }
            None => (Erased::default(), false),
        },
    };
    record::note(work.connection, erasure, noted, &erased).await?;
    transaction.commit().await?;
    Ok(EraseStep { erased, done, at })
}

/// What goes next, save the contact; `None`: nothing is left.
async fn next(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = talk::messages(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = talk::errors(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = talk::conversations(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = deals(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = talk::tickets(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    raw::linked(work).await
}

const DEALS: &str = "
select id
from deals
where workspace_id = $1
and person_id = $2
order by id
limit $3";

async fn deals(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = work.of_contact(DEALS, limits::ERASED_WHOLE_AT_ONCE).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let workspace = work.person.workspace;
    let removed = remove::deals(work.connection, workspace, &ids(&found)?, work.now).await?;
    Ok(Some(removed))
}

const LOCK_CONTACT: &str = "
select id
from contacts
where workspace_id = $1
and id = $2
for update";

// One of each would do.
const LEFT: &str = concat!(
    "
select
  exists (select 1 from deals where workspace_id = $1 and person_id = $2)
  or exists (select 1 from conversations where contact_id = $2)
  or exists (select 1 from tickets where contact_id = $2)
  or exists (
    select 1 from items as i
    where i.contact_id = $2
    and not ",
    raw::is_pending!("i.delivery_id"),
    ")"
);

const HOLDS: &str = "
delete from holds
where contact_id = $2
and connection_id in (select id from connections where workspace_id = $1)";

const KEYS: &str = "
delete from contact_keys
where contact_id = $2
and (workspace_id = $1) is true";

const SHARED_KEYS: &str = "
delete from shared_keys
where contact_id = $2
and (workspace_id = $1) is true";

const CONTACT: &str = "
delete from contacts
where workspace_id = $1
and id = $2";

/// The contact itself; `None`: something hangs on it again.
async fn contact(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let (workspace, id) = (work.person.workspace.0, work.person.id.0);
    let locked = sqlx::query(LOCK_CONTACT).bind(workspace).bind(id);
    locked.execute(&mut *work.connection).await?;
    let left: bool = sqlx::query(LEFT)
        .bind(workspace)
        .bind(id)
        .fetch_one(&mut *work.connection)
        .await?
        .try_get(0)?;
    if left {
        return Ok(None);
    }
    let mut gone = [0; 4];
    for (sql, count) in [HOLDS, KEYS, SHARED_KEYS, CONTACT]
        .into_iter()
        .zip(&mut gone)
    {
        *count = work.run(sqlx::query(sql).bind(workspace).bind(id)).await?;
    }
    let [holds, own_keys, shared_keys, contacts] = gone;
    if contacts > 0 {
        let mut rows = Gone::default();
        rows.remove(Entity::Contacts, &[id]);
        work.bury(&rows).await?;
    }
    Ok(Some(Erased {
        contacts,
        contact_keys: own_keys + shared_keys,
        holds,
        ..Erased::default()
    }))
}

const OWN: &[&str] = &[DEALS, LOCK_CONTACT, LEFT, HOLDS, KEYS, SHARED_KEYS, CONTACT];

/// By file.
pub(super) const SQL: [&[&str]; 6] = [
    OWN,
    count::SQL,
    person::SQL,
    raw::SQL,
    record::SQL,
    talk::SQL,
];
