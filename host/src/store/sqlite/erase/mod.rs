//! Erasing a person: step by step, under the write lock, each step with its record.
//! What a step finds first goes first; a step that finds nothing else takes the
//! contact. So steps may be repeated, and what came in between goes with the rest.

mod count;
mod person;
mod raw;
mod record;
mod talk;

use sqlx::sqlite::SqliteConnection;

pub use self::count::count;
pub use self::person::person;
pub use self::raw::{deliveries, unlinked};
pub use self::record::{begin, left, list};
use super::db::Db;
use super::{open, remove, tombstones};
use crate::clock::Clock;
use crate::domain::id::ErasureId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::gone::Gone;
use crate::store::{EraseStep, Erased, Extent, Person, StoreError};

/// A transaction that erases, and whom.
struct Work<'a> {
    connection: &'a mut SqliteConnection,
    person: &'a Person,
    now: Micros,
}

impl Work<'_> {
    fn workspace(&self) -> String {
        self.person.workspace.to_string()
    }

    fn contact(&self) -> String {
        self.person.id.to_string()
    }

    /// How many rows it touches.
    async fn run(&mut self, query: Statement<'_>) -> Result<u64, StoreError> {
        let done = query.execute(&mut *self.connection).await?;
        Ok(done.rows_affected())
    }

    /// The tombstones of what went.
    async fn bury(&mut self, gone: &Gone) -> Result<(), StoreError> {
        tombstones::bury(self.connection, self.person.workspace, gone, self.now).await?;
        Ok(())
    }
}

type Statement<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

/// The next step.
pub async fn step(
    db: &Db,
    clock: &dyn Clock,
    person: &Person,
    erasure: ErasureId,
    extent: Extent<'_>,
) -> Result<EraseStep, StoreError> {
    let mut transaction = db.begin().await?;
    let at = clock.now();
    let mut work = Work {
        connection: &mut transaction.connection,
        person,
        now: at,
    };
    let (erased, done) = match (next(&mut work).await?, extent) {
        (Some(erased), _) => (erased, false),
        (None, Extent::ButContact) => (Erased::default(), true),
        (None, Extent::Whole(remaining)) => {
            let erased = contact(&mut work).await?;
            let now = work.now;
            record::end(work.connection, erasure, now, remaining).await?;
            (erased, true)
        }
    };
    record::note(work.connection, erasure, &erased).await?;
    transaction.commit().await?;
    if done && matches!(extent, Extent::Whole(_)) {
        // What went is still in the log until it is empty. It is gone all the same, and
        // the log is emptied again before long.
        if let Err(error) = open::empty_log(db).await {
            tracing::warn!(%error, "the log of the database keeps what was erased for a while");
        }
    }
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
where person_id = ?1
order by id
limit ?2";

async fn deals(work: &mut Work<'_>) -> Result<Option<Erased>, StoreError> {
    let found = sqlx::query(DEALS)
        .bind(work.contact())
        .bind(i64::from(limits::ERASED_WHOLE_AT_ONCE))
        .fetch_all(&mut *work.connection)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let ids = remove::ids(&found)?;
    let removed = remove::deals(work.connection, work.person.workspace, &ids, work.now).await?;
    Ok(Some(removed))
}

const HOLDS: &str = "
delete from holds
where contact_id = ?2
and connection_id in (select id from connections where workspace_id = ?1)";

const KEYS: &str = "
delete from contact_keys
where contact_id = ?2
and +workspace_id = ?1";

const SHARED_KEYS: &str = "
delete from shared_keys
where contact_id = ?2
and +workspace_id = ?1";

const CONTACT: &str = "
delete from contacts
where id = ?2
and +workspace_id = ?1";

async fn contact(work: &mut Work<'_>) -> Result<Erased, StoreError> {
    let mut gone = [0; 4];
    for (sql, count) in [HOLDS, KEYS, SHARED_KEYS, CONTACT]
        .into_iter()
        .zip(&mut gone)
    {
        *count = sqlx::query(sql)
            .bind(work.workspace())
            .bind(work.contact())
            .execute(&mut *work.connection)
            .await?
            .rows_affected();
    }
    let [holds, own_keys, shared_keys, contacts] = gone;
    if contacts > 0 {
        let mut rows = Gone::default();
        rows.remove(Entity::Contacts, &[work.person.id.0]);
        work.bury(&rows).await?;
    }
    Ok(Erased {
        contacts,
        contact_keys: own_keys + shared_keys,
        holds,
        ..Erased::default()
    })
}

#[cfg(test)]
pub(super) fn sql() -> Vec<&'static str> {
    [
        &[DEALS, HOLDS, KEYS, SHARED_KEYS, CONTACT][..],
        count::SQL,
        person::SQL,
        raw::SQL,
        record::SQL,
        talk::SQL,
    ]
    .concat()
}
