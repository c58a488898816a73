//! What is left of rows that are gone: a stamp of their feed each, told to who
//! follows it within, never exported, and forgotten after a while. A feed says how
//! far it has forgotten, so that who comes later begins anew.
//!
//! Stamps come last, as everywhere: what is gone or changed is locked before.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::db::{Db, Rows};
use super::stamp;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::gone::{Gone, Stamped};

const BURY: &str = "
insert into tombstones (workspace_id, entity, cursor_us, id)
select $1, gone.entity, gone.cursor_us, gone.id
from unnest($2::smallint[], $3::bigint[], $4::uuid[]) as gone (entity, cursor_us, id)";

/// Stamps what goes and what changes with it, and leaves the tombstones; answers the
/// stamps of what changes. All at once, so that no clock is taken after another's rows.
pub async fn bury(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    gone: &Gone,
) -> Result<Vec<Stamped>, StoreError> {
    let counts = gone.counts(workspace);
    if counts.is_empty() {
        return Ok(Vec::new());
    }
    let first = stamp::allocate(connection, &counts).await?;
    let first = first.into_iter().map(|((_, of), first)| (of, first));
    let (removed, changed) = gone.stamped(first.collect())?;
    if !removed.is_empty() {
        let entities = removed.iter().map(|row| i16::from(row.entity.code()));
        sqlx::query(BURY)
            .bind(workspace.0)
            .bind(entities.collect::<Vec<_>>())
            .bind(removed.iter().map(|row| row.stamp).collect::<Vec<_>>())
            .bind(removed.iter().map(|row| row.id).collect::<Vec<_>>())
            .execute(connection)
            .await?;
    }
    Ok(changed)
}

const OLD: &str = "
delete from tombstones
where (workspace_id, entity, cursor_us) in (
  select workspace_id, entity, cursor_us from tombstones
  where cursor_us < $1
  order by cursor_us
  limit $2
  for update skip locked)
returning workspace_id, entity, cursor_us";

// One row after the other, in the order in which every batch locks them.
const CLOCKS: &str = "
select clock.workspace_id
from feed_clock as clock
join unnest($1::uuid[], $2::smallint[]) as gone (workspace_id, entity)
  on gone.workspace_id = clock.workspace_id
  and gone.entity = clock.entity
order by clock.workspace_id, clock.entity
for update of clock";

const FORGOTTEN: &str = "
update feed_clock as clock
set forgotten_us = greatest(clock.forgotten_us, gone.last_us)
from unnest($1::uuid[], $2::smallint[], $3::bigint[]) as gone (workspace_id, entity, last_us)
where gone.workspace_id = clock.workspace_id
and gone.entity = clock.entity";

/// Forgets tombstones from before this time, the oldest first; how many. The feed
/// says so from then on.
pub async fn forget(db: &Db, before: Micros, limit: u32) -> Result<u64, StoreError> {
    let mut transaction = db.begin(Rows::All).await?;
    let gone = sqlx::query(OLD)
        .bind(before.0)
        .bind(i64::from(limit))
        .fetch_all(&mut *transaction)
        .await?;
    let mut last: BTreeMap<(Uuid, i16), i64> = BTreeMap::new();
    for row in &gone {
        let stamp: i64 = row.try_get(2)?;
        let of = last.entry((row.try_get(0)?, row.try_get(1)?)).or_default();
        *of = stamp.max(*of);
    }
    if last.is_empty() {
        transaction.rollback().await?;
        return Ok(0);
    }
    let workspaces: Vec<Uuid> = last.keys().map(|(workspace, _)| *workspace).collect();
    let entities: Vec<i16> = last.keys().map(|(_, entity)| *entity).collect();
    sqlx::query(CLOCKS)
        .bind(&workspaces)
        .bind(&entities)
        .execute(&mut *transaction)
        .await?;
    sqlx::query(FORGOTTEN)
        .bind(workspaces)
        .bind(entities)
        .bind(last.into_values().collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

pub(super) const SQL: &[&str] = &[BURY, OLD, CLOCKS, FORGOTTEN];
