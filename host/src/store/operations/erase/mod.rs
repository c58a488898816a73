//! Erasing a person: step by step, each a transaction that names its workspace and
//! holds the record of the erasure from its first statement on, so that two who
//! erase the same person take turns. After that it locks in the order in which a batch
//! of leads does, and the clocks come last.
//!
//! What a step removes is found without a lock, locked, and looked at again: what a
//! batch of leads changed in between is not removed unseen, but the step is run
//! again. Whoever meets the contact holds its lock; so when the contact is locked and
//! nothing hangs on it, nothing will. On SQLite nobody else writes in between.
//!
//! What a step finds first goes first; a step that finds nothing else takes the contact.
//! So steps may be repeated, and what came in between goes with the rest.

/// Whether an item of a delivery is so: `one` is the item. The fence keeps PostgreSQL from
/// looking at all items instead of the delivery's.
macro_rules! has_item {
    ($workspace:literal, $delivery:literal, $($is_so:literal),+) => {
        concat!(
            "exists (
    select 1
    from items as one
    where one.workspace_id = ",
            $workspace,
            "
    and one.delivery_id = ",
            $delivery,
            "
    and ",
            $($is_so,)+
            "
    offset 0                                             -- postgres
  )"
        )
    };
}

/// Whether a lead of a delivery is to be converted again, from what came in, or parts of it
/// are not converted yet: nobody knows whose these are. Of the row `d`, or of any delivery.
macro_rules! is_pending {
    (d) => {
        concat!(
            "(",
            has_item!(
                "d.workspace_id",
                "d.id",
                "one.contact_id is null and one.status in ('unrouted', 'failed')"
            ),
            "
  or d.next_attempt_at is not null
  or (d.status = 'parked' and d.attempts > 0))"
        )
    };
    ($workspace:literal, $delivery:literal) => {
        concat!(
            "(",
            has_item!(
                $workspace,
                $delivery,
                "one.contact_id is null and one.status in ('unrouted', 'failed')"
            ),
            "
  or exists (
    select 1
    from deliveries as part
    where part.workspace_id = ",
            $workspace,
            "
    and part.id = ",
            $delivery,
            "
    and (part.next_attempt_at is not null
      or (part.status = 'parked' and part.attempts > 0))
    offset 0                                             -- postgres
  ))"
        )
    };
}

mod count;
mod person;
mod raw;
mod record;
mod talk;

use uuid::Uuid;

pub use self::count::count;
pub use self::person::person;
pub use self::raw::{deliveries, unlinked};
pub use self::record::{begin, left, list};
use super::remove::{self, rows_of};
use super::tombstones;
use crate::domain::id::ErasureId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::database::Database;
use crate::store::gone::Gone;
use crate::store::postgres::Rows;
use crate::store::row::Columns as _;
use crate::store::schema;
use crate::store::sql::{Sql, Tx, args, made, sql, steps};
use crate::store::{EraseStep, Erased, Extent, Person, StoreError};

/// A transaction that erases, and whom.
struct Work<'a> {
    tx: &'a mut Tx,
    person: &'a Person,
    now: Micros,
}

impl Work<'_> {
    /// What a statement finds by workspace and contact, at most so many.
    async fn ids_of_contact(
        &mut self,
        sql: &'static Sql,
        limit: u32,
    ) -> Result<Vec<Uuid>, StoreError> {
        let args = args! {
            workspace: self.person.workspace,
            contact: self.person.id,
            limit,
        };
        self.tx.rows(sql, &args, |row| row.id("id")).await
    }

    /// What a statement finds of these.
    async fn ids_of(&mut self, sql: &'static Sql, ids: &[Uuid]) -> Result<Vec<Uuid>, StoreError> {
        let rows = rows_of(self.person.workspace, ids);
        self.tx.rows_each(sql, &rows, |row| row.id("id")).await
    }

    /// How many rows a statement touches that goes by these.
    async fn run(&mut self, sql: &'static Sql, ids: &[Uuid]) -> Result<u64, StoreError> {
        let rows = rows_of(self.person.workspace, ids);
        self.tx.run_each(sql, &rows).await
    }

    /// The tombstones of what went.
    async fn bury(&mut self, gone: &Gone) -> Result<(), StoreError> {
        tombstones::bury(self.tx, self.person.workspace, gone).await?;
        Ok(())
    }
}

/// The next step. A database that keeps what it writes in a log beside its file empties
/// that after the last one: what went is in it until then.
pub async fn step(
    database: &Database,
    person: Person,
    erasure: ErasureId,
    extent: Extent<'_>,
    now: Micros,
) -> Result<EraseStep, StoreError> {
    // None: the contact stays, and the record goes on.
    let remaining = match extent {
        Extent::ButContact => None,
        Extent::Whole(remaining) => Some(remaining.clone()),
    };
    database
        .write(
            Rows::Of(&[person.workspace]),
            steps!(|tx| {
                let noted = record::lock(tx, erasure).await?;
                let mut work = Work {
                    tx,
                    person: &person,
                    now,
                };
                let (erased, done) = match (next(&mut work).await?, &remaining) {
                    (Some(erased), _) => (erased, false),
                    (None, None) => (Erased::default(), true),
                    (None, Some(remaining)) => match contact(&mut work).await? {
                        Some(erased) => {
                            record::end(work.tx, erasure, now, remaining).await?;
                            (erased, true)
                        }
                        None => (Erased::default(), false),
                    },
                };
                record::note(work.tx, erasure, noted, &erased).await?;
                Ok(EraseStep {
                    erased,
                    done,
                    at: now,
                })
            }),
        )
        .await
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

// What waits or is held of deliveries, or of messages: a message stands there by its own id.
static LOCK_WORK: Sql = sql("
each (workspace_id uuid, id uuid)                                          -- postgres
select delivery_id                                                         -- postgres
from queue                                                                 -- postgres
where delivery_id in (select id from each)                                 -- postgres
and (workspace_id in (select workspace_id from each)) is true              -- postgres
order by delivery_id, item                                                 -- postgres
for update                                                                 -- postgres
");

static WORK: Sql = made(|| schema::QUEUE.remove_with("delivery_id"));

static DEALS: Sql = sql("
select id
from deals
where person_id = :contact
and workspace_id = :workspace                            -- postgres
and (workspace_id = :workspace) is true                  -- sqlite
order by id
limit :limit");

async fn deals(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = work
        .ids_of_contact(&DEALS, limits::ERASED_WHOLE_AT_ONCE)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let workspace = work.person.workspace;
    let removed = remove::deals(work.tx, workspace, &found, work.now).await?;
    Ok(Some(removed))
}

static LOCK_CONTACT: Sql = sql("
select id                              -- postgres
from contacts                          -- postgres
where workspace_id = :workspace        -- postgres
and id = :contact                      -- postgres
for update                             -- postgres
");

// One of each would do.
static LEFT: Sql = sql(concat!(
    "
select
  exists (
    select 1
    from deals
    where person_id = :contact
    and workspace_id = :workspace      -- postgres
  )
  or exists (select 1 from conversations where contact_id = :contact)
  or exists (select 1 from tickets where contact_id = :contact)
  or exists (
    select 1
    from items as i
    where i.contact_id = :contact
    and not ",
    is_pending!(":workspace", "i.delivery_id"),
    ") as is_left"
));

static HOLDS: Sql = sql("
delete from holds
where contact_id = :contact
and connection_id in (select id from connections where workspace_id = :workspace)");

static KEYS: Sql = sql("
delete from contact_keys
where contact_id = :contact
and (workspace_id = :workspace) is true");

static SHARED_KEYS: Sql = sql("
delete from shared_keys
where contact_id = :contact
and (workspace_id = :workspace) is true");

static CONTACT: Sql = sql("
delete from contacts
where id = :contact
and workspace_id = :workspace");

/// The contact itself; `None`: something hangs on it again.
async fn contact(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let args = args! { workspace: work.person.workspace, contact: work.person.id };
    work.tx.run(&LOCK_CONTACT, &args).await?;
    let is_left = work
        .tx
        .only(&LEFT, &args, |row| row.flag("is_left"))
        .await?;
    if is_left {
        return Ok(None);
    }
    let mut gone = [0; 4];
    let all = [&HOLDS, &KEYS, &SHARED_KEYS, &CONTACT];
    for (sql, count) in all.into_iter().zip(&mut gone) {
        *count = work.tx.run(sql, &args).await?;
    }
    let [holds, own_keys, shared_keys, contacts] = gone;
    if contacts > 0 {
        let mut rows = Gone::default();
        rows.remove(Entity::Contacts, &[work.person.id.0]);
        work.bury(&rows).await?;
    }
    Ok(Some(Erased {
        contacts,
        contact_keys: own_keys + shared_keys,
        holds,
        ..Erased::default()
    }))
}

const OWN: &[&Sql] = &[
    &LOCK_WORK,
    &WORK,
    &DEALS,
    &LOCK_CONTACT,
    &LEFT,
    &HOLDS,
    &KEYS,
    &SHARED_KEYS,
    &CONTACT,
];

/// By file.
pub const SQL: [&[&Sql]; 6] = [
    OWN,
    count::SQL,
    person::SQL,
    raw::SQL,
    record::SQL,
    talk::SQL,
];
