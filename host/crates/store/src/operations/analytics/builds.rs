//! Rows of builds: how they begin, and how writers lock them.

use crate::Build;
use crate::decide::rollup::BuildState;
use crate::operations::prelude::*;
use leadhost_domain::analytics::MetricSet;

// `offset 0` makes PostgreSQL look builds up by workspace. Without it, PostgreSQL would read the
// builds of all workspaces.
macro_rules! has_none {
    () => {
        "not exists (
  select 1 from rollup_builds as there
  where there.workspace_id = each.workspace_id
  and there.metric_set = each.metric_set
  and there.state in ('making', 'serving')
  offset 0 -- postgres
)"
    };
}

macro_rules! begin {
    ($condition:expr) => {
        sql(concat!(
            "
each (workspace_id uuid, metric_set number, entity number)
insert into rollup_builds (workspace_id, metric_set, state, after_us, began_us, step, version)
select w.id, each.metric_set, 'making', 0, coalesce(clock.last_us, 0), 0, 0
from each
join workspaces as w on w.id = each.workspace_id
left join feed_clock as clock
  on clock.workspace_id = w.id
  and clock.entity = each.entity
where ",
            $condition,
            "
order by w.id
on conflict do nothing"
        ))
    };
}

statements! {
    static WITHOUT: Sql = sql(concat!(
        "
each (workspace_id uuid, metric_set number)
select each.workspace_id
from each
where ",
        has_none!()
    ));

    // If another host has begun a build in the meantime, that one is used.
    static FIRST: Sql = begin!(has_none!());

    static REBUILD: Sql = begin!("true");

    static LOCK: Sql = sql("
select build, state, step
from rollup_builds
where workspace_id = :workspace
and metric_set = :metric_set
order by build
for update -- postgres
");
}

/// A workspace, a metric set, and the feed that the set follows: the parameters of statements about
/// all builds of these.
pub type BuildFeed = [Arg<'static>; 3];

/// Returns the parameters of statements about the builds of this set, one row for each
/// workspace.
pub fn feeds(set: MetricSet, workspaces: &[WorkspaceId]) -> Vec<BuildFeed> {
    workspaces
        .iter()
        .map(|&workspace_id| {
            args! { workspace_id, metric_set: set.code(), entity: set.entity().code() }
        })
        .collect()
}

/// Returns whether one of the workspaces has no build.
pub async fn is_one_without(tx: &mut Tx, feeds: &[BuildFeed]) -> Result<bool, StoreError> {
    let without = tx.rows_each(&WITHOUT, feeds, |_| Ok(())).await?;
    Ok(!without.is_empty())
}

/// Begins the first build of each of the workspaces that has none. Returns how many it began.
pub async fn begin_first(tx: &mut Tx, feeds: &[BuildFeed]) -> Result<u64, StoreError> {
    tx.run_each(&FIRST, feeds).await
}

/// Begins a build for each of the workspaces in which none is being made. Returns how many it
/// began.
pub async fn begin_rebuild(tx: &mut Tx, feeds: &[BuildFeed]) -> Result<u64, StoreError> {
    tx.run_each(&REBUILD, feeds).await
}

/// The builds of a workspace and set, locked until the end of the transaction.
pub struct LockedBuilds(BTreeMap<i64, (BuildState, i64)>);

impl LockedBuilds {
    /// Locks this build and the others of its workspace and set.
    pub async fn lock(tx: &mut Tx, build: &Build) -> Result<Self, StoreError> {
        let args = args! { workspace: build.workspace, metric_set: build.set.code() };
        let builds: Vec<(i64, (BuildState, i64))> = tx
            .rows(&LOCK, &args, |row| {
                let state = row.get("state")?;
                Ok((row.get("build")?, (state, row.get("step")?)))
            })
            .await?;
        Ok(Self(builds.into_iter().collect()))
    }

    pub fn get(&self, build: &Build) -> Option<(BuildState, i64)> {
        self.0.get(&build.number).copied()
    }

    pub fn serving(&self) -> Option<i64> {
        let mut builds = self.0.iter();
        let serving = builds.find(|(_, (state, _))| *state == BuildState::Serving);
        serving.map(|(number, _)| *number)
    }
}
