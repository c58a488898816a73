//! Runs and builds: begun and ended, each with a statement for all workspaces.

use sqlx::sqlite::SqliteConnection;

use super::super::db::Db;
use super::super::json;
use super::{code, feed};
use crate::clock::Clock;
use crate::domain::analytics::MetricSet;
use crate::domain::id::WorkspaceId;
use crate::store::row::analytics;
use crate::store::{Build, Run, StoreError};

const WITHOUT: &str = "
select 1
from workspaces as w
where not exists (
  select 1 from rollup_builds as b
  where b.workspace_id = w.id
  and b.metric_set = ?1
  and b.state in ('making', 'serving'))
limit 1";

const TO_READ: &str = "
select b.workspace_id, b.metric_set, b.build
from rollup_builds as b
left join feed_clock as c
  on c.workspace_id = b.workspace_id
  and c.entity = ?2
where b.metric_set = ?1
and (b.state <> 'serving' or c.last_us > b.after_us)
order by b.build";

pub async fn begin(db: &Db, clock: &dyn Clock, set: MetricSet) -> Result<Run, StoreError> {
    // Whoever commits before has a stamp that is read.
    let as_of = clock.now();
    let without = sqlx::query(WITHOUT)
        .bind(code(set))
        .fetch_optional(db.readers())
        .await?;
    if without.is_some() {
        let mut transaction = db.begin().await?;
        make(&mut transaction.connection, set, None, true).await?;
        transaction.commit().await?;
    }
    let builds = sqlx::query(TO_READ)
        .bind(code(set))
        .bind(feed(set))
        .fetch_all(db.readers())
        .await?;
    Ok(Run {
        as_of,
        builds: builds
            .iter()
            .map(analytics::build)
            .collect::<Result<_, _>>()?,
    })
}

// The write lock is held: the clock is that of the feed as it is.
const MAKE: &str = "
insert into rollup_builds (workspace_id, metric_set, state, after_us, began_us, step, version)
select w.id, ?1, 'making', 0, coalesce(c.last_us, 0), 0, 0
from workspaces as w
left join feed_clock as c
  on c.workspace_id = w.id
  and c.entity = ?2
where (?3 is null or w.id = ?3)
and not exists (
  select 1 from rollup_builds as b
  where b.workspace_id = w.id
  and b.metric_set = ?1
  and (b.state = 'making' or (?4 and b.state = 'serving')))
order by w.id";

/// Begins builds of one workspace or of all, where none is being made, and if only
/// first ones are to be made, where none serves either; how many.
pub(super) async fn make(
    connection: &mut SqliteConnection,
    set: MetricSet,
    workspace: Option<WorkspaceId>,
    first: bool,
) -> Result<u64, StoreError> {
    let made = sqlx::query(MAKE)
        .bind(code(set))
        .bind(feed(set))
        .bind(workspace.map(|id| id.to_string()))
        .bind(first)
        .execute(connection)
        .await?;
    Ok(made.rows_affected())
}

pub async fn rebuild(
    db: &Db,
    set: MetricSet,
    workspace: Option<WorkspaceId>,
) -> Result<u64, StoreError> {
    let mut transaction = db.begin().await?;
    let made = make(&mut transaction.connection, set, workspace, false).await?;
    transaction.commit().await?;
    Ok(made)
}

// What was not read stays as it was before this run; what was held already is
// as old as it was.
const HOLD: &str = "
update rollup_builds
set held = 1,
  held_at = case when held then held_at else (select as_of from rollup_runs where metric_set = ?1) end
where build in (select value from json_each(?2))
and metric_set = ?1
and state = 'serving'";

// Of two runs that cross, the one that began first may end last: what it has read
// is as of its own beginning.
const LET_GO: &str = "
update rollup_builds
set held_at = max(coalesce(held_at, ?3), ?3),
  held = coalesce(?3 < (select as_of from rollup_runs where metric_set = ?1), 0)
where metric_set = ?1
and held
and build not in (select value from json_each(?2))";

const END: &str = "
insert into rollup_runs (metric_set, as_of, finished_at, changes)
values (?1, ?2, ?3, ?4)
on conflict (metric_set) do update
set as_of = max(as_of, excluded.as_of), finished_at = excluded.finished_at,
  changes = excluded.changes";

pub async fn end(
    db: &Db,
    clock: &dyn Clock,
    set: MetricSet,
    run: &Run,
    unread: &[Build],
    changes: u64,
) -> Result<(), StoreError> {
    let unread: Vec<i64> = unread.iter().map(|build| build.number).collect();
    let unread = json(&unread)?;
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    sqlx::query(HOLD)
        .bind(code(set))
        .bind(&unread)
        .execute(&mut *connection)
        .await?;
    sqlx::query(LET_GO)
        .bind(code(set))
        .bind(&unread)
        .bind(run.as_of.0)
        .execute(&mut *connection)
        .await?;
    sqlx::query(END)
        .bind(code(set))
        .bind(run.as_of.0)
        .bind(clock.now().0)
        .bind(i64::try_from(changes).unwrap_or(i64::MAX))
        .execute(&mut *connection)
        .await?;
    transaction.commit().await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[WITHOUT, TO_READ, MAKE, HOLD, LET_GO, END];
