//! Deals that are removed: with their history and notes, and without a trace in what
//! was about them, which is stamped anew. Locked in the order of `load`.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::columns::at;
use super::db::{Db, Rows};
use super::tombstones;
use crate::clock::Clock;
use crate::domain::id::{DealId, WorkspaceId};
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::store::gone::Gone;
use crate::store::row::Columns as _;
use crate::store::{Erased, StoreError};

/// Whether it was there.
pub async fn deal(
    db: &Db,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    deal: DealId,
) -> Result<bool, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    let gone = deals(&mut transaction, workspace, &[deal.0], clock.now()).await?;
    transaction.commit().await?;
    Ok(gone.deals > 0)
}

const LOCK_DEALS: &str = "
select d.id
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deals as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id
order by d.id
for update of d";

const LOCK_CONVERSATIONS: &str = "
select id
from conversations
where deal_id = any ($2)
and deal_id is not null
and (workspace_id = any ($1)) is true
order by id
for update";

const LOCK_ERRORS: &str = "
select id
from message_errors
where deal_id = any ($2)
and (workspace_id = any ($1)) is true
order by id
for update";

const LOCK_TICKETS: &str = "
select id, conversation_id is null as whole
from tickets
where deal_id = any ($2)
and deal_id is not null
and (workspace_id = any ($1)) is true
order by id
for update";

const HISTORY: &str = "
delete from deal_history
where deal_id = any ($2)
and (workspace_id = any ($1)) is true";

const LOGS: &str = "
delete from deal_logs
where deal_id = any ($2)
and (workspace_id = any ($1)) is true";

const DEALS: &str = "
delete from deals as d
using unnest($1::uuid[], $2::uuid[]) as gone (workspace_id, id)
where d.workspace_id = gone.workspace_id
and d.id = gone.id";

// What was said about a test lead counts no more than before, when nothing else
// tells that it was one.
const TRIALS: &str = "
update conversations as c
set props = (c.props::jsonb || '{\"test\": true}')::json
from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
join deals as d
  on d.workspace_id = wanted.workspace_id
  and d.id = wanted.id
where c.deal_id = wanted.id
and c.deal_id is not null
and (d.props -> 'test')::text = 'true'";

const REMOVE_TICKETS: &str = "
delete from tickets
where id = any ($2)
and (workspace_id = any ($1)) is true";

const UNLINK_CONVERSATIONS: &str = "
update conversations as c
set deal_id = null, cursor_us = n.cursor_us, updated_at = $3
from unnest($1::uuid[], $2::bigint[]) as n (id, cursor_us)
where c.id = n.id";

const UNLINK_ERRORS: &str = "
update message_errors as e
set deal_id = null, cursor_us = n.cursor_us
from unnest($1::uuid[], $2::bigint[]) as n (id, cursor_us)
where e.id = n.id
and $3::timestamptz is not null";

const UNLINK_TICKETS: &str = "
update tickets as t
set deal_id = null, cursor_us = n.cursor_us, updated_at = $3
from unnest($1::uuid[], $2::bigint[]) as n (id, cursor_us)
where t.id = n.id";

/// Removes these of the workspace, within a transaction that names it and holds
/// nothing yet that `load` locks after deals.
pub async fn deals(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    deals: &[Uuid],
    now: Micros,
) -> Result<Erased, StoreError> {
    let locked = rows(connection, workspace, LOCK_DEALS, deals).await?;
    let deals = ids(&locked)?;
    if deals.is_empty() {
        return Ok(Erased::default());
    }
    let conversations = ids(&rows(connection, workspace, LOCK_CONVERSATIONS, &deals).await?)?;
    let errors = ids(&rows(connection, workspace, LOCK_ERRORS, &deals).await?)?;
    let (mut whole, mut of_talks) = (Vec::new(), Vec::new());
    for row in rows(connection, workspace, LOCK_TICKETS, &deals).await? {
        let of = if row.flag("whole")? {
            &mut whole
        } else {
            &mut of_talks
        };
        of.push(row.id::<Uuid>("id")?);
    }
    run(connection, workspace, TRIALS, &deals).await?;
    let mut counts = [0; 3];
    for (sql, count) in [HISTORY, LOGS, DEALS].into_iter().zip(&mut counts) {
        *count = run(connection, workspace, sql, &deals).await?;
    }
    run(connection, workspace, REMOVE_TICKETS, &whole).await?;
    let mut gone = Gone::default();
    gone.remove(Entity::Deals, &deals);
    gone.remove(Entity::Tickets, &whole);
    gone.change(Entity::Conversations, &conversations);
    gone.change(Entity::MessageErrors, &errors);
    gone.change(Entity::Tickets, &of_talks);
    let mut stamps: BTreeMap<Entity, (Vec<Uuid>, Vec<i64>)> = BTreeMap::new();
    for row in tombstones::bury(connection, workspace, &gone).await? {
        let (ids, cursors) = stamps.entry(row.entity).or_default();
        ids.push(row.id);
        cursors.push(row.stamp);
    }
    for (entity, sql) in [
        (Entity::Conversations, UNLINK_CONVERSATIONS),
        (Entity::MessageErrors, UNLINK_ERRORS),
        (Entity::Tickets, UNLINK_TICKETS),
    ] {
        if let Some((ids, cursors)) = stamps.get(&entity) {
            sqlx::query(sql)
                .bind(ids)
                .bind(cursors)
                .bind(at(now))
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

async fn rows(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    sql: &'static str,
    of: &[Uuid],
) -> Result<Vec<PgRow>, StoreError> {
    let found = sqlx::query(sql)
        .bind(vec![workspace.0; of.len()])
        .bind(of)
        .fetch_all(connection)
        .await?;
    Ok(found)
}

async fn run(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    sql: &'static str,
    of: &[Uuid],
) -> Result<u64, StoreError> {
    let done = sqlx::query(sql)
        .bind(vec![workspace.0; of.len()])
        .bind(of)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

fn ids(rows: &[PgRow]) -> Result<Vec<Uuid>, StoreError> {
    Ok(rows
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?)
}

pub(super) const SQL: &[&str] = &[
    LOCK_DEALS,
    LOCK_CONVERSATIONS,
    LOCK_ERRORS,
    LOCK_TICKETS,
    HISTORY,
    LOGS,
    DEALS,
    TRIALS,
    REMOVE_TICKETS,
    UNLINK_CONVERSATIONS,
    UNLINK_ERRORS,
    UNLINK_TICKETS,
];
