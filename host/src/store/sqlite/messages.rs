//! Messages for operators, and conversations for which time has passed.

use super::db::Db;
use crate::domain::time::Micros;
use crate::store::row::Columns as _;
use crate::store::row::messages::outbox_message;
use crate::store::{Elapse, OutboxFilter, OutboxMessage, StoreError};

const DUE: &str = "
select workspace_id, id
from conversations
where due_at <= ?1
order by due_at
limit ?2";

pub async fn conversations_due(
    db: &Db,
    now: Micros,
    limit: u32,
) -> Result<Vec<Elapse>, StoreError> {
    sqlx::query(DUE)
        .bind(now.0)
        .bind(i64::from(limit))
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(|row| {
            Ok(Elapse {
                workspace: row.id("workspace_id")?,
                conversation: row.id("id")?,
            })
        })
        .collect()
}

macro_rules! outbox_where {
    ($lead:literal) => {
        concat!(
            "
select m.id, m.workspace_id, m.conversation_id, m.contact_id, c.name as contact_name,
  c.phone_number, m.agent_id, m.created_at, m.actor, m.kind, m.content, m.metadata,
  m.delivered_at, m.read_at,
  iif(s.state = 'waiting', s.due_at, null) as due_at
from messages as m
left join contacts as c on c.id = m.contact_id
left join sends as s on s.message_id = m.id
where (?1 is null or m.workspace_id = ?1)
and (?2 is null or m.agent_id = ?2)
and (?3 is null or m.state = ?3)
-- Past every id when none is given: a range that the index walks.
and m.id < coalesce(?4, 'g')
",
            $lead,
            "
order by m.id desc
limit ?5"
        )
    };
}

const OUTBOX: &str = outbox_where!("");
const OUTBOX_OF_AGENT: &str = outbox_where!("and m.agent_id = ?2");
// What is not out yet is rare among what is: it has a table of its own.
const OUTBOX_OF_SENDS: &str =
    outbox_where!("and m.id in (select message_id from sends where state = ?3)");

/// Newest first.
pub async fn outbox(db: &Db, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError> {
    use crate::domain::message::State;
    let sql = match (filter.state, filter.agent) {
        (Some(State::Waiting | State::Sending | State::Unknown), _) => OUTBOX_OF_SENDS,
        (_, Some(_)) => OUTBOX_OF_AGENT,
        (_, None) => OUTBOX,
    };
    sqlx::query(sql)
        .bind(filter.workspace.map(|id| id.to_string()))
        .bind(filter.agent.map(|agent| agent.0))
        .bind(filter.state.map(|state| state.as_str()))
        .bind(filter.before.map(|id| id.to_string()))
        .bind(i64::from(filter.limit))
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(outbox_message)
        .collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[DUE, OUTBOX, OUTBOX_OF_AGENT, OUTBOX_OF_SENDS];
