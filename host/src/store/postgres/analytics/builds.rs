//! The rows of builds: begun, and locked by whoever writes to one.

use std::collections::BTreeMap;

use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use crate::domain::analytics::MetricSet;
use crate::domain::id::WorkspaceId;
use crate::store::decide::rollup::BuildState;
use crate::store::row::Columns as _;
use crate::store::{Build, StoreError};

/// A set as its column has it.
pub fn code(set: MetricSet) -> i16 {
    i16::from(set.code())
}

/// The feed of a set as its column has it.
pub fn feed(set: MetricSet) -> i16 {
    i16::from(set.entity().code())
}

// A build that another host has begun meanwhile does for both. What is there is
// looked for by workspace: without an offset it would be read for all of them.
const FIRST: &str = "
insert into rollup_builds (workspace_id, metric_set, state, after_us, began_us, step, version)
select w.id, $2, 'making', 0, coalesce(clock.last_us, 0), 0, 0
from workspaces as w
left join feed_clock as clock
  on clock.workspace_id = w.id
  and clock.entity = $3
where w.id = any ($1)
and not exists (
  select 1 from rollup_builds as there
  where there.workspace_id = w.id
  and there.metric_set = $2
  and there.state in ('making', 'serving')
  offset 0)
order by w.id
on conflict do nothing";

/// Begins the first build of each of the workspaces that has none.
pub async fn begin_first(
    connection: &mut PgConnection,
    set: MetricSet,
    workspaces: &[Uuid],
) -> Result<u64, StoreError> {
    insert(connection, FIRST, set, workspaces).await
}

const ANEW: &str = "
insert into rollup_builds (workspace_id, metric_set, state, after_us, began_us, step, version)
select w.id, $2, 'making', 0, coalesce(clock.last_us, 0), 0, 0
from workspaces as w
left join feed_clock as clock
  on clock.workspace_id = w.id
  and clock.entity = $3
where w.id = any ($1)
order by w.id
on conflict do nothing";

/// Begins a build of each of the workspaces where none is being made; how many.
pub async fn begin_anew(
    connection: &mut PgConnection,
    set: MetricSet,
    workspaces: &[Uuid],
) -> Result<u64, StoreError> {
    insert(connection, ANEW, set, workspaces).await
}

async fn insert(
    connection: &mut PgConnection,
    sql: &'static str,
    set: MetricSet,
    workspaces: &[Uuid],
) -> Result<u64, StoreError> {
    let done = sqlx::query(sql)
        .bind(workspaces)
        .bind(code(set))
        .bind(feed(set))
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

const LOCK: &str = "
select build, state, step
from rollup_builds
where workspace_id = $1
and metric_set = $2
order by build
for update";

/// The builds of a workspace and set as they are now, and stay until the end of
/// the transaction.
pub struct Locked(BTreeMap<i64, (BuildState, i64)>);

impl Locked {
    pub async fn of(
        connection: &mut PgConnection,
        workspace: WorkspaceId,
        set: MetricSet,
    ) -> Result<Self, StoreError> {
        let rows = sqlx::query(LOCK)
            .bind(workspace.0)
            .bind(code(set))
            .fetch_all(connection)
            .await?;
        let build = |row: &PgRow| {
            let state = row.word("rollup_builds", "state", BuildState::of)?;
            Ok((row.number("build")?, (state, row.number("step")?)))
        };
        Ok(Self(
            rows.iter().map(build).collect::<Result<_, StoreError>>()?,
        ))
    }

    /// What it is for and its step; `None`: it is gone.
    pub fn get(&self, build: &Build) -> Option<(BuildState, i64)> {
        self.0.get(&build.number).copied()
    }

    /// The number of the build that serves.
    pub fn serving(&self) -> Option<i64> {
        let mut builds = self.0.iter();
        let serving = builds.find(|(_, (state, _))| *state == BuildState::Serving);
        serving.map(|(number, _)| *number)
    }
}

pub(in crate::store::postgres) const SQL: &[&str] = &[FIRST, ANEW, LOCK];
