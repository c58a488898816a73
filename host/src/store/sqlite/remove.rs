//! Deals that are removed: with their history and notes, and without a trace in what
//! was about them, which is stamped anew.

use std::collections::BTreeMap;

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use uuid::Uuid;

use super::db::Db;
use super::{json, tombstones};
use crate::clock::Clock;
use crate::domain::id::{DealId, WorkspaceId};
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::store::gone::Gone;
use crate::store::row::Columns as _;
use crate::store::{Erased, StoreError};

const DEAL: &str = "
select id
from deals
where id = ?2
and +workspace_id = ?1";

/// Whether it was there.
pub async fn deal(
    db: &Db,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    deal: DealId,
) -> Result<bool, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let found = sqlx::query(DEAL)
        .bind(workspace.to_string())
        .bind(deal.to_string())
        .fetch_all(&mut *connection)
        .await?;
    deals(connection, workspace, &ids(&found)?, clock.now()).await?;
    transaction.commit().await?;
    Ok(!found.is_empty())
}

const HISTORY: &str = "
delete from deal_history
where deal_id in (select value from json_each(?1))";

const LOGS: &str = "
delete from deal_logs
where deal_id in (select value from json_each(?1))";

const DEALS: &str = "
delete from deals
where id in (select value from json_each(?1))";

const CONVERSATIONS: &str = "
select c.id
from json_each(?1) as wanted
cross join conversations as c on c.deal_id = wanted.value";

const ERRORS: &str = "
select e.id
from json_each(?1) as wanted
cross join message_errors as e on e.deal_id = wanted.value";

const TICKETS: &str = "
select t.id, t.conversation_id is null as whole
from json_each(?1) as wanted
cross join tickets as t on t.deal_id = wanted.value";

// What was said about a test lead counts no more than before, when nothing else
// tells that it was one.
const TRIALS: &str = "
update conversations
set props = json_set(props, '$.test', json('true'))
where deal_id in (
  select d.id
  from json_each(?1) as wanted
  cross join deals as d on d.id = wanted.value
  where d.props -> 'test' = 'true')";

const REMOVE_TICKETS: &str = "
delete from tickets
where id in (select value from json_each(?1))";

const UNLINK_CONVERSATIONS: &str = "
update conversations
set deal_id = null, cursor_us = wanted.value ->> 1, updated_at = ?2
from json_each(?1) as wanted
where conversations.id = wanted.value ->> 0";

const UNLINK_ERRORS: &str = "
update message_errors
set deal_id = null, cursor_us = wanted.value ->> 1
from json_each(?1) as wanted
where message_errors.id = wanted.value ->> 0
and ?2 is not null";

const UNLINK_TICKETS: &str = "
update tickets
set deal_id = null, cursor_us = wanted.value ->> 1, updated_at = ?2
from json_each(?1) as wanted
where tickets.id = wanted.value ->> 0";

/// Removes these of the workspace, within a transaction.
pub async fn deals(
    connection: &mut SqliteConnection,
    workspace: WorkspaceId,
    deals: &[Uuid],
    now: Micros,
) -> Result<Erased, StoreError> {
    if deals.is_empty() {
        return Ok(Erased::default());
    }
    let list = json(deals)?;
    let conversations = found(connection, CONVERSATIONS, &list).await?;
    let errors = found(connection, ERRORS, &list).await?;
    let tickets = found(connection, TICKETS, &list).await?;
    let (mut whole, mut of_talks) = (Vec::new(), Vec::new());
    for row in &tickets {
        let of = if row.flag("whole")? {
            &mut whole
        } else {
            &mut of_talks
        };
        of.push(row.id::<Uuid>("id")?);
    }
    sqlx::query(TRIALS)
        .bind(&list)
        .execute(&mut *connection)
        .await?;
    let mut counts = [0; 3];
    for (sql, count) in [HISTORY, LOGS, DEALS].into_iter().zip(&mut counts) {
        *count = sqlx::query(sql)
            .bind(&list)
            .execute(&mut *connection)
            .await?
            .rows_affected();
    }
    sqlx::query(REMOVE_TICKETS)
        .bind(json(&whole)?)
        .execute(&mut *connection)
        .await?;
    let mut gone = Gone::default();
    gone.remove(Entity::Deals, deals);
    gone.remove(Entity::Tickets, &whole);
    gone.change(Entity::Conversations, &ids(&conversations)?);
    gone.change(Entity::MessageErrors, &ids(&errors)?);
    gone.change(Entity::Tickets, &of_talks);
    let mut stamps: BTreeMap<Entity, Vec<(Uuid, i64)>> = BTreeMap::new();
    for row in tombstones::bury(connection, workspace, &gone, now).await? {
        stamps
            .entry(row.entity)
            .or_default()
            .push((row.id, row.stamp));
    }
    for (entity, sql) in [
        (Entity::Conversations, UNLINK_CONVERSATIONS),
        (Entity::MessageErrors, UNLINK_ERRORS),
        (Entity::Tickets, UNLINK_TICKETS),
    ] {
        if let Some(rows) = stamps.get(&entity) {
            sqlx::query(sql)
                .bind(json(rows)?)
                .bind(now.0)
                .execute(&mut *connection)
                .await?;
        }
    }
    let [deal_changes, deal_logs, deals] = counts;
    Ok(Erased {
        deals,
        deal_changes,
        deal_logs,
        tickets: u64::try_from(whole.len()).unwrap_or(u64::MAX),
        ..Erased::default()
    })
}

async fn found(
    connection: &mut SqliteConnection,
    sql: &'static str,
    list: &str,
) -> Result<Vec<SqliteRow>, StoreError> {
    Ok(sqlx::query(sql).bind(list).fetch_all(connection).await?)
}

/// The ids of rows.
pub fn ids(rows: &[SqliteRow]) -> Result<Vec<Uuid>, StoreError> {
    rows.iter().map(|row| row.id("id")).collect()
}

/// The same as they stand.
pub fn texts(rows: &[SqliteRow]) -> Result<Vec<String>, StoreError> {
    rows.iter().map(|row| row.text("id")).collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    DEAL,
    HISTORY,
    LOGS,
    DEALS,
    CONVERSATIONS,
    ERRORS,
    TICKETS,
    TRIALS,
    REMOVE_TICKETS,
    UNLINK_CONVERSATIONS,
    UNLINK_ERRORS,
    UNLINK_TICKETS,
];
