//! The feed clock, and the rows that it stamps: stamps become visible in their
//! own order.
//!
//! The clock's row of each feed is locked last, after every other lock of the
//! transaction, and let go only when its effects are visible. So whoever has seen
//! a stamp has seen every smaller one that will ever be, whichever host gave it.
//! What is written after it are rows that the transaction owns already: new ones,
//! and those that `load` has locked.

pub mod desk;
pub mod dialogue;
pub mod people;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;
use crate::store::StoreError;
use crate::store::decide::{
    Change, Contact, Conversation, Deal, Known, Message, MessageError, Ticket,
};

/// The next stamp of each feed that changed.
pub type Stamps = BTreeMap<(WorkspaceId, Entity), i64>;

// One row after the other, in the order of the arrays, which every host sorts
// alike; what is set is worked out when the row is locked. `last + n` before the
// wall clock: a clock that took the time first and added n would run ahead of
// real time by the size of each batch.
const ALLOCATE: &str = "
insert into feed_clock as clock (workspace_id, entity, last_us)
select n.workspace_id, n.entity, greatest(n.changes, feed_now())
from unnest($1::uuid[], $2::smallint[], $3::bigint[]) as n (workspace_id, entity, changes)
on conflict (workspace_id, entity) do update
set last_us = greatest(
  clock.last_us + (
    select n.changes
    from unnest($1::uuid[], $2::smallint[], $3::bigint[]) as n (workspace_id, entity, changes)
    where n.workspace_id = clock.workspace_id
    and n.entity = clock.entity
  ),
  feed_now()
)
returning workspace_id, entity, last_us";

/// Stamps and saves what changed, each kind in the order in which it did.
pub async fn changed(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let dialogue = &known.dialogue;
    let contacts = rows(&known.changed_contacts, &known.contacts, |id| id.0);
    let deals = rows(&known.changed_deals, &known.deals, |id| id.0);
    let conversations = rows(
        &dialogue.changed_conversations,
        &dialogue.conversations,
        |id| id.0,
    );
    let messages = rows(&dialogue.changed_messages, &dialogue.messages, |id| id.0);
    let errors = rows(&dialogue.changed_errors, &dialogue.errors, |id| id.0);
    let tickets = rows(&dialogue.changed_tickets, &dialogue.tickets, |id| id.0);
    let mut changes: BTreeMap<(WorkspaceId, Entity), i64> = BTreeMap::new();
    count(&mut changes, &contacts);
    count(&mut changes, &deals);
    count(&mut changes, &conversations);
    count(&mut changes, &messages);
    count(&mut changes, &errors);
    count(&mut changes, &tickets);
    if changes.is_empty() {
        return Ok(());
    }
    let mut stamps = allocate(connection, &changes).await?;
    let contacts = stamp(&mut stamps, contacts)?;
    let deals = stamp(&mut stamps, deals)?;
    people::save(connection, known.now, &contacts, &deals).await?;
    let conversations = stamp(&mut stamps, conversations)?;
    dialogue::conversations(connection, known.now, &conversations).await?;
    dialogue::messages(connection, &stamp(&mut stamps, messages)?).await?;
    dialogue::errors(connection, &stamp(&mut stamps, errors)?).await?;
    let tickets = stamp(&mut stamps, tickets)?;
    desk::tickets(connection, known.now, tickets).await
}

/// A row of a feed.
trait Fed {
    const FEED: Entity;
    fn workspace(&self) -> WorkspaceId;
    fn change(&self) -> Change;
}

macro_rules! fed {
    ($($row:ty: $feed:ident),*) => {
        $(impl Fed for $row {
            const FEED: Entity = Entity::$feed;
            fn workspace(&self) -> WorkspaceId {
                self.workspace
            }
            fn change(&self) -> Change {
                self.change
            }
        })*
    };
}

fed!(
    Contact: Contacts,
    Deal: Deals,
    Conversation: Conversations,
    Message: Messages,
    MessageError: MessageErrors,
    Ticket: Tickets
);

fn rows<'a, I: Eq + Hash, R>(
    changed: &[I],
    rows: &'a HashMap<I, R>,
    uuid: impl Fn(&I) -> Uuid,
) -> Vec<(Uuid, &'a R)> {
    let row = |id: &I| Some((uuid(id), rows.get(id)?));
    changed.iter().filter_map(row).collect()
}

fn count<R: Fed>(changes: &mut BTreeMap<(WorkspaceId, Entity), i64>, rows: &[(Uuid, &R)]) {
    for (_, row) in rows {
        *changes.entry((row.workspace(), R::FEED)).or_default() += 1;
    }
}

/// A row that is to be saved.
struct Stamped<'a, R> {
    id: Uuid,
    stamp: i64,
    row: &'a R,
}

/// New rows and changed ones.
struct Saved<'a, R> {
    new: Vec<Stamped<'a, R>>,
    changed: Vec<Stamped<'a, R>>,
}

fn stamp<'a, R: Fed>(
    stamps: &mut Stamps,
    rows: Vec<(Uuid, &'a R)>,
) -> Result<Saved<'a, R>, StoreError> {
    let mut saved = Saved {
        new: Vec::new(),
        changed: Vec::new(),
    };
    for (id, row) in rows {
        let stamp = take(stamps, (row.workspace(), R::FEED))?;
        let of = match row.change() {
            Change::New => &mut saved.new,
            _ => &mut saved.changed,
        };
        of.push(Stamped { id, stamp, row });
    }
    Ok(saved)
}

/// The first stamp of each feed; the others follow one by one.
pub async fn allocate(
    connection: &mut PgConnection,
    changes: &BTreeMap<(WorkspaceId, Entity), i64>,
) -> Result<Stamps, StoreError> {
    let workspaces: Vec<Uuid> = changes.keys().map(|(workspace, _)| workspace.0).collect();
    let entities: Vec<i16> = changes
        .keys()
        .map(|(_, entity)| i16::from(entity.code()))
        .collect();
    let counts: Vec<i64> = changes.values().copied().collect();
    let allocated = sqlx::query(ALLOCATE)
        .bind(workspaces)
        .bind(entities)
        .bind(counts)
        .fetch_all(connection)
        .await?;
    let mut last: BTreeMap<(Uuid, i16), i64> = BTreeMap::new();
    for row in &allocated {
        last.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    changes
        .iter()
        .map(|((workspace, entity), changes)| {
            let key = (workspace.0, i16::from(entity.code()));
            let last = last.get(&key).ok_or_else(|| StoreError::Inconsistent {
                what: format!("no feed clock for {} of {workspace}", entity.as_str()),
            })?;
            Ok(((*workspace, *entity), last - changes + 1))
        })
        .collect()
}

fn take(stamps: &mut Stamps, feed: (WorkspaceId, Entity)) -> Result<i64, StoreError> {
    let stamp = stamps
        .get_mut(&feed)
        .ok_or_else(|| StoreError::Inconsistent {
            what: "a changed row without a stamp".to_owned(),
        })?;
    *stamp += 1;
    Ok(*stamp - 1)
}

pub(super) const SQL: &[&str] = &[ALLOCATE];
