//! What is left of rows that are gone: a stamp of their feed each, told to who
//! follows it within, never exported, and forgotten after a while. A feed says how
//! far it has forgotten, so that who comes later begins anew.

use std::collections::{BTreeMap, HashMap};

use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::{json, stamp};
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::gone::{Gone, Stamped};

const BURY: &str = "
insert into tombstones (workspace_id, entity, cursor_us, id)
select ?1, value ->> 0, value ->> 1, value ->> 2
from json_each(?2)";

/// Stamps what goes and what changes with it, and leaves the tombstones; answers the
/// stamps of what changes. All at once, so that a feed's stamps are together.
pub async fn bury(
    connection: &mut SqliteConnection,
    workspace: WorkspaceId,
    gone: &Gone,
    now: Micros,
) -> Result<Vec<Stamped>, StoreError> {
    let counts: HashMap<_, _> = gone.counts(workspace).into_iter().collect();
    let first = stamp::of(connection, &counts, now).await?;
    let first = first.into_iter().map(|((_, of), first)| (of, first));
    let (removed, changed) = gone.stamped(first.collect())?;
    if !removed.is_empty() {
        let rows: Vec<_> = removed
            .iter()
            .map(|row| (row.entity.code(), row.stamp, row.id))
            .collect();
        sqlx::query(BURY)
            .bind(workspace.to_string())
            .bind(json(&rows)?)
            .execute(connection)
            .await?;
    }
    Ok(changed)
}

const OLD: &str = "
delete from tombstones
where (workspace_id, entity, cursor_us) in (
  select workspace_id, entity, cursor_us from tombstones
  where cursor_us < ?1
  order by cursor_us
  limit ?2)
returning workspace_id, entity, cursor_us";

const FORGOTTEN: &str = "
update feed_clock
set forgotten_us = max(forgotten_us, (
  select max(value ->> 2) from json_each(?1)
  where value ->> 0 = feed_clock.workspace_id
  and value ->> 1 = feed_clock.entity))
where (workspace_id, entity) in (select value ->> 0, value ->> 1 from json_each(?1))";

/// Forgets tombstones from before this time, the oldest first; how many. The feed
/// says so from then on.
pub async fn forget(
    connection: &mut SqliteConnection,
    before: Micros,
    limit: u32,
) -> Result<u64, StoreError> {
    let gone = sqlx::query(OLD)
        .bind(before.0)
        .bind(i64::from(limit))
        .fetch_all(&mut *connection)
        .await?;
    if gone.is_empty() {
        return Ok(0);
    }
    let mut last: BTreeMap<(String, i64), i64> = BTreeMap::new();
    for row in &gone {
        let stamp: i64 = row.try_get(2)?;
        let of = last.entry((row.try_get(0)?, row.try_get(1)?)).or_default();
        *of = stamp.max(*of);
    }
    let last: Vec<_> = last
        .iter()
        .map(|((workspace, entity), stamp)| (workspace, entity, stamp))
        .collect();
    sqlx::query(FORGOTTEN)
        .bind(json(&last)?)
        .execute(connection)
        .await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[BURY, OLD, FORGOTTEN];
