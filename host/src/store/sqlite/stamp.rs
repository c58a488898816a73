//! The feed clock: stamps that become visible in their own order.
//!
//! Stamps are taken while the write lock is held, from a wall clock that was
//! read under it, and the lock is let go only by the commit. So whoever has seen
//! a stamp has seen every smaller one that will ever be.

use std::collections::HashMap;

use serde::Serialize;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::decide::Known;

/// The first stamp of each feed that changed; the others follow one by one.
pub type Stamps = HashMap<(WorkspaceId, Entity), i64>;

#[derive(Serialize)]
struct Wanted {
    workspace: String,
    entity: u8,
    rows: i64,
}

// `last + n` before `now`: a clock that took `now` first and added n would run
// ahead of real time by the size of each batch.
const ALLOCATE: &str = "
insert into feed_clock (workspace_id, entity, last_us)
select value ->> 'workspace', value ->> 'entity', max(value ->> 'rows', ?2)
from jsonb_each(?1)
where true
on conflict (workspace_id, entity) do update
set last_us = max(
  feed_clock.last_us + (
    select value ->> 'rows' from jsonb_each(?1)
    where value ->> 'workspace' = feed_clock.workspace_id
    and value ->> 'entity' = feed_clock.entity
  ),
  ?2
)
returning workspace_id, entity, last_us";

pub async fn allocate(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<Stamps, StoreError> {
    let mut rows: HashMap<(WorkspaceId, Entity), i64> = HashMap::new();
    let contacts = known.changed_contacts.iter().filter_map(|id| {
        let contact = known.contacts.get(id)?;
        Some((contact.workspace, Entity::Contacts))
    });
    let deals = known.changed_deals.iter().filter_map(|id| {
        let deal = known.deals.get(id)?;
        Some((deal.workspace, Entity::Deals))
    });
    let dialogue = &known.dialogue;
    let conversations = dialogue.changed_conversations.iter().filter_map(|id| {
        let conversation = dialogue.conversations.get(id)?;
        Some((conversation.workspace, Entity::Conversations))
    });
    let messages = dialogue.changed_messages.iter().filter_map(|id| {
        let message = dialogue.messages.get(id)?;
        Some((message.workspace, Entity::Messages))
    });
    let errors = dialogue.changed_errors.iter().filter_map(|id| {
        let error = dialogue.errors.get(id)?;
        Some((error.workspace, Entity::MessageErrors))
    });
    let tickets = dialogue.changed_tickets.iter().filter_map(|id| {
        let ticket = dialogue.tickets.get(id)?;
        Some((ticket.workspace, Entity::Tickets))
    });
    let people = contacts.chain(deals);
    let talk = conversations.chain(messages).chain(errors).chain(tickets);
    for feed in people.chain(talk) {
        *rows.entry(feed).or_default() += 1;
    }
    of(connection, &rows, known.now).await
}

/// Stamps for so many rows of each feed.
pub async fn of(
    connection: &mut SqliteConnection,
    rows: &HashMap<(WorkspaceId, Entity), i64>,
    now: Micros,
) -> Result<Stamps, StoreError> {
    if rows.is_empty() {
        return Ok(Stamps::new());
    }
    let wanted: Vec<Wanted> = rows
        .iter()
        .map(|((workspace, entity), rows)| Wanted {
            workspace: workspace.to_string(),
            entity: entity.code(),
            rows: *rows,
        })
        .collect();
    let allocated = sqlx::query(ALLOCATE)
        .bind(super::json(&wanted)?)
        .bind(now.0)
        .fetch_all(connection)
        .await?;
    let mut last: HashMap<(String, i64), i64> = HashMap::new();
    for row in &allocated {
        last.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    rows.iter()
        .map(|((workspace, entity), rows)| {
            let key = (workspace.to_string(), i64::from(entity.code()));
            let last = last.get(&key).ok_or_else(|| StoreError::Inconsistent {
                what: format!("no feed clock for {} of {workspace}", entity.as_str()),
            })?;
            Ok(((*workspace, *entity), last - rows + 1))
        })
        .collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[ALLOCATE];
