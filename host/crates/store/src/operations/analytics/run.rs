//! Runs: the work that is due, and the as-of time when a run ends.

use super::builds::{self, BuildFeed};
use crate::decide::rollup::BuildState;
use crate::operations::agents::workspace_ids;
use crate::operations::prelude::*;
use crate::{AnalyticsRun, Build};
use leadhost_domain::analytics::MetricSet;

statements! {
    static NOW: Sql = sql("
select feed_now() as now_us");

    static DUE: Sql = sql("
each (workspace_id uuid, metric_set number, entity number)
select b.workspace_id, b.metric_set, b.build
from each
join rollup_builds as b
  on b.workspace_id = each.workspace_id
  and b.metric_set = each.metric_set
left join feed_clock as clock
  on clock.workspace_id = b.workspace_id
  and clock.entity = each.entity
where b.state in ('making', 'retired')
or b.after_us < clock.last_us
order by b.build");

    // Serializes the ends of the runs of a metric set.
    static LOCK: Sql = sql("
select pg_advisory_xact_lock(:number) -- postgres
");

    static LAST: Sql = sql("
select as_of
from rollup_runs
where metric_set = :metric_set");

    // Locks the builds of a workspace in the order in which steps lock them. If the workspace has an
    // unread build, all of its builds are locked, because the serving one may change until then.
    static TOUCHED: Sql = sql("
each (workspace_id uuid, metric_set number, is_behind truth)
select there.build, there.state, there.held
from each
cross join lateral (                            -- postgres
  select build, state, held                     -- postgres
  from rollup_builds                            -- postgres
  where workspace_id = each.workspace_id        -- postgres
  and metric_set = each.metric_set              -- postgres
  and (held or each.is_behind)                  -- postgres
  order by build                                -- postgres
  for update                                    -- postgres
) as there                                      -- postgres
cross join rollup_builds as there               -- sqlite
  on there.workspace_id = each.workspace_id     -- sqlite
  and there.metric_set = each.metric_set        -- sqlite
  and (there.held or each.is_behind)            -- sqlite
");

    // A run that began before the last ended one has not counted what that one counted.
    static LET_GO: Sql = sql("
each (build number, as_of time, held truth)
update rollup_builds
set held = each.held,
  held_at = case when each.held then greatest(rollup_builds.held_at, each.as_of) end
from each
where rollup_builds.build = each.build");

    // A build that was not behind is as of the last run.
    static HOLD: Sql = sql("
each (build number, held_at time)
update rollup_builds
set held = true, held_at = each.held_at
from each
where rollup_builds.build = each.build");

    static END: Sql = sql("
insert into rollup_runs as run (metric_set, as_of, finished_at, changes)
values (:metric_set, :as_of,
  feed_now(),                                                 -- sqlite
  to_timestamp(0) + feed_now() * interval '1 microsecond',    -- postgres
  :changes)
on conflict (metric_set) do update
set as_of = greatest(run.as_of, excluded.as_of),
  finished_at = greatest(run.finished_at, excluded.finished_at),
  changes = excluded.changes");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Begins a run and gives every workspace its first build. Does not interrupt the work of
    /// another host.
    pub async fn rollup_begin(&self, set: MetricSet) -> Result<AnalyticsRun, StoreError> {
        let (as_of, workspaces) = steps!(self.database.read(Exempt), |tx| {
            // Read before anything else, so that every earlier commit has a stamp that the run
            // reads.
            let as_of = tx
                .only(&NOW, &[], |row| Ok(Micros(row.get("now_us")?)))
                .await?;
            Ok((as_of, workspace_ids(tx).await?))
        })
        .await?;
        let mut found: Vec<Build> = Vec::new();
        for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
            found.extend(begin_some(&self.database, set, some).await?);
        }
        found.sort_unstable_by_key(|build| build.number);
        Ok(AnalyticsRun {
            as_of,
            builds: found,
        })
    }

    /// Ends a run: all counts are as of its beginning, except for workspaces whose serving build is
    /// in `unread`, because it was not read to its end. Their as-of stays as it was. Builds that do
    /// not serve yet, or have retired, hold nothing back. The as-of never decreases: if two runs
    /// overlap, the later beginning counts.
    pub async fn rollup_end(
        &self,
        set: MetricSet,
        run: &AnalyticsRun,
        unread: &[Build],
        changes: u64,
    ) -> Result<(), StoreError> {
        let as_of = run.as_of;
        let unread = UnreadBuilds {
            builds: unread.iter().map(|build| build.number).collect(),
            workspaces: unread.iter().map(|build| build.workspace).collect(),
        };
        steps!(self.database.write(Exempt), |tx| {
            let number = ENDS + i64::from(set.code());
            tx.run(&LOCK, &args! { number }).await?;
            let args = args! { metric_set: set.code() };
            let last = tx.row(&LAST, &args, |row| row.get("as_of")).await?;
            let workspaces = workspace_ids(tx).await?;
            for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
                tx.name(some).await?;
                hold(tx, set, some, &unread, (as_of, last)).await?;
            }
            let args = args! {
                metric_set: set.code(),
                as_of,
                changes: i64::try_from(changes).unwrap_or(i64::MAX),
            };
            tx.run(&END, &args).await?;
            Ok(())
        })
        .await
    }

    /// Starts new builds from the beginning of the feed, for one workspace or all, unless one is
    /// already being made. Returns how many it started.
    pub async fn rollup_rebuild(
        &self,
        set: MetricSet,
        workspace: Option<WorkspaceId>,
    ) -> Result<u64, StoreError> {
        let workspaces = match workspace {
            Some(workspace) => vec![workspace],
            None => steps!(self.database.read(Exempt), |tx| workspace_ids(tx).await).await?,
        };
        let mut begun = 0;
        for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
            let feeds = builds::feeds(set, some);
            begun += steps!(self.database.write(Of(some)), |tx| {
                builds::begin_rebuild(tx, &feeds).await
            })
            .await?;
        }
        Ok(begun)
    }
}

/// Returns the due builds of some workspaces. Builds are rarely missing. If none is missing,
/// nothing waits for writers.
async fn begin_some(
    database: &Database,
    set: MetricSet,
    some: &[WorkspaceId],
) -> Result<Vec<Build>, StoreError> {
    let feeds = builds::feeds(set, some);
    let found = steps!(database.read_many(Of(some)), |tx| {
        if builds::is_one_without(tx, &feeds).await? {
            return Ok(None);
        }
        Ok(Some(due(tx, &feeds).await?))
    })
    .await?;
    if let Some(found) = found {
        return Ok(found);
    }
    let feeds = builds::feeds(set, some);
    steps!(database.write(Of(some)), |tx| {
        builds::begin_first(tx, &feeds).await?;
        due(tx, &feeds).await
    })
    .await
}

async fn due(tx: &mut Tx, feeds: &[BuildFeed]) -> Result<Vec<Build>, StoreError> {
    tx.rows_each(&DUE, feeds, Build::from_row).await
}

// Any number that no other kind of lock uses.
const ENDS: i64 = 0x726f_6c6c_7570_0000;

/// A build in the state in which the end of a run finds it.
struct Touched {
    number: i64,
    serves: bool,
    is_held: bool,
}

struct UnreadBuilds {
    builds: BTreeSet<i64>,
    workspaces: BTreeSet<WorkspaceId>,
}

/// Holds the as-of of serving builds that were not read to their end, and releases the others.
async fn hold(
    tx: &mut Tx,
    set: MetricSet,
    some: &[WorkspaceId],
    unread: &UnreadBuilds,
    (as_of, last): (Micros, Option<Micros>),
) -> Result<(), StoreError> {
    let looked: Vec<_> = some
        .iter()
        .map(|&workspace_id| {
            args! {
                workspace_id,
                metric_set: set.code(),
                is_behind: unread.workspaces.contains(&workspace_id),
            }
        })
        .collect();
    let touched = tx
        .rows_each(&TOUCHED, &looked, |row| {
            Ok(Touched {
                number: row.get("build")?,
                serves: row.get::<BuildState>("state")? == BuildState::Serving,
                is_held: row.get("held")?,
            })
        })
        .await?;
    let is_late = last.is_some_and(|last| last > as_of);
    let (mut let_go, mut held) = (Vec::new(), Vec::new());
    for build in touched {
        match (unread.builds.contains(&build.number), build.is_held) {
            (false, true) => let_go.push(args! { build: build.number, as_of, held: is_late }),
            (true, false) if build.serves => {
                held.push(args! { build: build.number, held_at: last });
            }
            _ => {}
        }
    }
    tx.run_each(&LET_GO, &let_go).await?;
    tx.run_each(&HOLD, &held).await?;
    Ok(())
}
