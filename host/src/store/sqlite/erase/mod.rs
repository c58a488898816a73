//! Erasing a person: step by step, under the write lock, each step with its record.
//! What a step finds first goes first; a step that finds nothing else takes the
//! contact. So steps may be repeated, and what came in between goes with the rest.

mod person;
mod raw;
mod record;
mod talk;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Row as _};

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
    let mut work = Work {
        connection: &mut transaction.connection,
        person,
        now: clock.now(),
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
    Ok(EraseStep { erased, done })
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

const CONTACT: &str = "
delete from contacts
where id = ?2
and +workspace_id = ?1";

async fn contact(work: &mut Work<'_>) -> Result<Erased, StoreError> {
    let mut gone = [0; 3];
    for (sql, count) in [HOLDS, KEYS, CONTACT].into_iter().zip(&mut gone) {
        *count = sqlx::query(sql)
            .bind(work.workspace())
            .bind(work.contact())
            .execute(&mut *work.connection)
            .await?
            .rows_affected();
    }
    let [holds, contact_keys, contacts] = gone;
    if contacts > 0 {
        let mut rows = Gone::default();
        rows.remove(Entity::Contacts, &[work.person.id.0]);
        work.bury(&rows).await?;
    }
    Ok(Erased {
        contacts,
        contact_keys,
        holds,
        ..Erased::default()
    })
}

const COUNTS: &str = "
select
  (select count(*) from contacts where id = ?1) as contacts,
  (select count(*) from contact_keys where contact_id = ?1) as contact_keys,
  (select count(*) from deals where person_id = ?1) as deals,
  (select count(*) from deals as d cross join deal_history as h on h.deal_id = d.id
    where d.person_id = ?1) as deal_changes,
  (select count(*) from deals as d cross join deal_logs as l on l.deal_id = d.id
    where d.person_id = ?1) as deal_logs,
  (select count(*) from conversations where contact_id = ?1) as conversations,
  (select count(*) from conversations as c cross join messages as m on m.conversation_id = c.id
    where c.contact_id = ?1) as messages,
  (select count(*) from conversations as c
    cross join message_errors as e on e.conversation_id = c.id
    where c.contact_id = ?1) as message_errors,
  (select count(*) from conversations as c cross join messages as m on m.conversation_id = c.id
    cross join sends as s on s.message_id = m.id
    where c.contact_id = ?1) as sends,
  (select count(*) from tickets where contact_id = ?1) as tickets,
  (select count(distinct delivery_id) from items where contact_id = ?1) as deliveries";

/// What would go, as far as it can be counted without doing it.
pub async fn count(db: &Db, person: &Person) -> Result<Erased, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let row = sqlx::query(COUNTS)
        .bind(person.id.to_string())
        .fetch_one(&mut *snapshot)
        .await?;
    let number = |name: &str| -> Result<u64, StoreError> {
        Ok(u64::try_from(row.try_get::<i64, _>(name)?).unwrap_or(0))
    };
    let counted = Erased {
        contacts: number("contacts")?,
        contact_keys: number("contact_keys")?,
        deals: number("deals")?,
        deal_changes: number("deal_changes")?,
        deal_logs: number("deal_logs")?,
        conversations: number("conversations")?,
        messages: number("messages")?,
        message_errors: number("message_errors")?,
        sends: number("sends")?,
        tickets: number("tickets")?,
        deliveries: number("deliveries")?,
        ..Erased::default()
    };
    let shared = raw::shared_of(&mut snapshot, person).await?;
    snapshot.rollback().await?;
    Ok(Erased {
        deliveries: counted.deliveries.saturating_sub(shared),
        shared_deliveries: shared,
        ..counted
    })
}

#[cfg(test)]
pub(super) fn sql() -> Vec<&'static str> {
    [
        &[DEALS, HOLDS, KEYS, CONTACT, COUNTS][..],
        person::SQL,
        raw::SQL,
        record::SQL,
        talk::SQL,
    ]
    .concat()
}
