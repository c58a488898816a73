//! A run: what it has to do, and what is as of its beginning when it has ended.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::super::columns;
use super::super::db::{Db, Rows};
use super::super::workspaces;
use super::builds;
use crate::domain::analytics::MetricSet;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::Columns as _;
use crate::store::row::analytics::build;
use crate::store::{Build, Run, StoreError};

const NOW: &str = "
select feed_now()";

const DUE: &str = "
select b.workspace_id, b.metric_set::int as metric_set, b.build
from rollup_builds as b
left join feed_clock as clock
  on clock.workspace_id = b.workspace_id
  and clock.entity = $3
where b.workspace_id = any ($1)
and b.metric_set = $2
and (b.state in ('making', 'retired') or b.after_us < clock.last_us)
order by b.build";

pub async fn begin(db: &Db, set: MetricSet) -> Result<Run, StoreError> {
    let as_of = Micros(sqlx::query(NOW).fetch_one(db.pool()).await?.try_get(0)?);
    let mut found = Vec::new();
    for some in workspaces::workspace_ids(db)
        .await?
        .chunks(limits::WORKSPACES_AT_ONCE)
    {
        let ids = uuids(some);
        let mut transaction = db.begin(Rows::Of(some)).await?;
        builds::begin_first(&mut transaction, set, &ids).await?;
        let due = sqlx::query(DUE)
            .bind(ids)
            .bind(builds::code(set))
            .bind(builds::feed(set))
            .fetch_all(&mut *transaction)
            .await?;
        transaction.commit().await?;
        for row in &due {
            found.push(build(row)?);
        }
    }
    found.sort_unstable_by_key(|build| build.number);
    Ok(Run {
        as_of,
        builds: found,
    })
}

// The ends of runs follow each other, those of a set.
const LOCK: &str = "
select pg_advisory_xact_lock($1)";

// Any number that no lock of another kind has.
const ENDS: i64 = 0x726f_6c6c_7570_0000;

const LAST: &str = "
select as_of
from rollup_runs
where metric_set = $1";

// In the order in which steps lock them.
const LOCK_BUILDS: &str = "
select build
from rollup_builds
where workspace_id = any ($1)
and metric_set = $2
and (held or build = any ($3))
order by build
for update";

// What was not behind is as of the last run.
const HOLD: &str = "
update rollup_builds
set held = true, held_at = $4
where workspace_id = any ($1)
and metric_set = $2
and build = any ($3)
and state = 'serving'
and not held";

// A run that began before the last one to end has not counted what that one did.
const LET_GO: &str = "
update rollup_builds
set held = not $5, held_at = case when not $5 then greatest(held_at, $4) end
where workspace_id = any ($1)
and metric_set = $2
and held
and not build = any ($3)";

const END: &str = "
insert into rollup_runs as run (metric_set, as_of, finished_at, changes)
values ($1, $2, to_timestamp(0) + feed_now() * interval '1 microsecond', $3)
on conflict (metric_set) do update
set as_of = greatest(run.as_of, excluded.as_of),
  finished_at = greatest(run.finished_at, excluded.finished_at),
  changes = excluded.changes";

pub async fn end(
    db: &Db,
    set: MetricSet,
    run: &Run,
    unread: &[Build],
    changes: u64,
) -> Result<(), StoreError> {
    let workspaces = workspaces::workspace_ids(db).await?;
    let unread: Vec<i64> = unread.iter().map(|build| build.number).collect();
    let mut transaction = db.begin(Rows::Exempt).await?;
    sqlx::query(LOCK)
        .bind(ENDS + i64::from(set.code()))
        .execute(&mut *transaction)
        .await?;
    let last = sqlx::query(LAST)
        .bind(builds::code(set))
        .fetch_optional(&mut *transaction)
        .await?
        .map(|row| row.time("as_of"))
        .transpose()?;
    for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
        transaction.name(some).await?;
        hold(&mut transaction, set, some, &unread, (run.as_of, last)).await?;
    }
    sqlx::query(END)
        .bind(builds::code(set))
        .bind(columns::at(run.as_of))
        .bind(i64::try_from(changes).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

/// What was not read to its end stays as of what it was, and the others are no
/// longer behind.
async fn hold(
    connection: &mut PgConnection,
    set: MetricSet,
    some: &[WorkspaceId],
    unread: &[i64],
    (as_of, last): (Micros, Option<Micros>),
) -> Result<(), StoreError> {
    let ids = uuids(some);
    let touched = sqlx::query(LOCK_BUILDS)
        .bind(&ids)
        .bind(builds::code(set))
        .bind(unread)
        .fetch_all(&mut *connection)
        .await?;
    if touched.is_empty() {
        return Ok(());
    }
    sqlx::query(LET_GO)
        .bind(&ids)
        .bind(builds::code(set))
        .bind(unread)
        .bind(columns::at(as_of))
        .bind(last.is_none_or(|last| last <= as_of))
        .execute(&mut *connection)
        .await?;
    sqlx::query(HOLD)
        .bind(ids)
        .bind(builds::code(set))
        .bind(unread)
        .bind(last.map(columns::at))
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn rebuild(
    db: &Db,
    set: MetricSet,
    workspace: Option<WorkspaceId>,
) -> Result<u64, StoreError> {
    let workspaces = match workspace {
        Some(workspace) => vec![workspace],
        None => workspaces::workspace_ids(db).await?,
    };
    let mut begun = 0;
    for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
        let mut transaction = db.begin(Rows::Of(some)).await?;
        begun += builds::begin_anew(&mut transaction, set, &uuids(some)).await?;
        transaction.commit().await?;
    }
    Ok(begun)
}

fn uuids(workspaces: &[WorkspaceId]) -> Vec<Uuid> {
    workspaces.iter().map(|id| id.0).collect()
}

pub(in crate::store::postgres) const SQL: &[&str] =
    &[NOW, DUE, LOCK, LAST, LOCK_BUILDS, HOLD, LET_GO, END];
