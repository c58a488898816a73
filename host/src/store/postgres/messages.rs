//! Messages as operators see them, and conversations for which time has passed.

use uuid::Uuid;

use super::columns::at;
use super::db::{Db, Rows};
use super::workspaces;
use crate::domain::id::WorkspaceId;
use crate::domain::message::State;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::Columns as _;
use crate::store::row::messages::outbox_message;
use crate::store::{Elapse, OutboxFilter, OutboxMessage, StoreError};

// The index is by time over all workspaces, of which nearly none has anything due.
const DUE: &str = "
select workspace_id, id
from conversations
where due_at <= $1
order by due_at
limit $2";

/// The longest due first.
pub async fn conversations_due(
    db: &Db,
    now: Micros,
    limit: u32,
) -> Result<Vec<Elapse>, StoreError> {
    let mut snapshot = db.snapshot(Rows::All).await?;
    let rows = sqlx::query(DUE)
        .bind(at(now))
        .bind(i64::from(limit))
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter()
        .map(|row| {
            Ok(Elapse {
                workspace: row.id("workspace_id")?,
                conversation: row.id("id")?,
            })
        })
        .collect()
}

// What is found has all its filters behind it; the rest is looked up for it alone.
macro_rules! messages_of {
    ($found:expr) => {
        concat!(
            "
select m.id, m.workspace_id, m.conversation_id, m.contact_id, c.name as contact_name,
  c.phone_number, m.agent_id, m.created_at, m.actor, m.kind, m.content, m.metadata, m.delivered_at,
  m.read_at, q.due_at
from (",
            $found,
            "
  order by id desc
  limit $5
) as m
left join contacts as c
  on c.workspace_id = m.workspace_id
  and c.id = m.contact_id
left join queue as q
  on q.delivery_id = m.id
  and q.item = -2
  and q.status = 'waiting'
order by m.id desc"
        )
    };
}

// The newest of each instance, and of these the newest.
const LIST: &str = messages_of!(
    "
  select of_one.*
  from agents as a
  cross join lateral (
    select *
    from messages
    where agent_id = a.id
    and ($3::text is null or state = $3)
    and id < $4
    order by id desc
    limit $5
  ) as of_one
  where a.workspace_id = any ($1)
  and ($2::bigint is null or a.id = $2)"
);

// What is not out yet is found by way of the queue, which is short.
const LIST_WAITING: &str = messages_of!(
    "
  select waiting.*
  from queue as q
  cross join lateral (
    select *
    from messages
    where id = q.delivery_id
    and ($2::bigint is null or agent_id = $2)
    and ($3::text is null or state = $3)
  ) as waiting
  where q.item = -2
  and q.status = $3
  and q.delivery_id < $4
  and q.workspace_id = any ($1)"
);

/// Newest first.
pub async fn outbox(db: &Db, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError> {
    let sql = match filter.state {
        Some(State::Waiting | State::Sending | State::Unknown) => LIST_WAITING,
        _ => LIST,
    };
    let wanted = match filter.workspace {
        Some(workspace) => vec![workspace],
        None => workspaces::workspace_ids(db).await?,
    };
    let mut found = Vec::new();
    for some in wanted.chunks(limits::WORKSPACES_AT_ONCE) {
        found.append(&mut outbox_of(db, filter, sql, some).await?);
    }
    found.sort_by_key(|message| std::cmp::Reverse(message.id));
    found.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
    Ok(found)
}

async fn outbox_of(
    db: &Db,
    filter: &OutboxFilter,
    sql: &'static str,
    workspaces: &[WorkspaceId],
) -> Result<Vec<OutboxMessage>, StoreError> {
    let ids: Vec<Uuid> = workspaces.iter().map(|id| id.0).collect();
    let mut snapshot = db.snapshot(Rows::Of(workspaces)).await?;
    let rows = sqlx::query(sql)
        .bind(ids)
        .bind(filter.agent.map(|agent| agent.0))
        .bind(filter.state.map(State::as_str))
        .bind(filter.before.map_or(Uuid::max(), |id| id.0))
        .bind(i64::from(filter.limit))
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter().map(outbox_message).collect()
}

pub(super) const SQL: &[&str] = &[DUE, LIST, LIST_WAITING];
