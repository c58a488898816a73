//! The status of the rollups, for operators.

use super::builds;
use crate::operations::agents::workspace_ids;
use crate::operations::prelude::*;
use crate::{Build, RollupStatus};
use leadhost_domain::analytics::{MetricSet, TimeSlot};

statements! {
    static RUN: Sql = sql("
select as_of, finished_at, changes
from rollup_runs
where metric_set = :metric_set");

    static BEHIND: Sql = sql("
each (workspace_id uuid, metric_set number)
select b.workspace_id, b.held_at
from each
join rollup_builds as b
  on b.workspace_id = each.workspace_id
  and b.metric_set = each.metric_set
where b.state = 'serving'
and b.held
order by b.workspace_id");

    static MAKING: Sql = sql("
each (workspace_id uuid, metric_set number)
select b.workspace_id, b.metric_set, b.build, b.after_us
from each
join rollup_builds as b
  on b.workspace_id = each.workspace_id
  and b.metric_set = each.metric_set
where b.state = 'making'");

    static CUBES: Sql = sql("
each (workspace_id uuid, metric_set number, whole number)
select count(*) as cubes, count(*) filter (where c.filled_slot <> each.whole) as making
from each
join rollup_builds as b
  on b.workspace_id = each.workspace_id
  and b.metric_set = each.metric_set
join rollup_cubes as c
  on c.build = b.build
where b.state in ('making', 'serving')");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns the state of the rollups of each metric set, over all workspaces.
    pub async fn rollup_status(&self) -> Result<Vec<RollupStatus>, StoreError> {
        // No workspace at first: they are named in parts below.
        steps!(self.database.read_many(Of(&[])), |tx| {
            let mut all = Vec::new();
            for set in MetricSet::ALL {
                all.push(last_run(tx, set).await?);
            }
            let workspaces = workspace_ids(tx).await?;
            for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
                tx.name(some).await?;
                for status in &mut all {
                    add(tx, some, status).await?;
                }
            }
            for status in &mut all {
                status
                    .making
                    .sort_unstable_by_key(|(build, _)| build.number);
            }
            Ok(all)
        })
        .await
    }
}

/// Returns the status of a set's last run, without its builds.
async fn last_run(tx: &mut Tx, set: MetricSet) -> Result<RollupStatus, StoreError> {
    let mut status = RollupStatus {
        set,
        as_of: None,
        finished_at: None,
        changes: 0,
        behind: Vec::new(),
        making: Vec::new(),
        cubes: 0,
        cubes_making: 0,
    };
    let args = args! { metric_set: set.code() };
    let run = tx
        .row(&RUN, &args, cells!("as_of", "finished_at", "changes"))
        .await?;
    if let Some((as_of, finished_at, changes)) = run {
        status.as_of = as_of;
        status.finished_at = finished_at;
        status.changes = changes;
    }
    Ok(status)
}

async fn add(
    tx: &mut Tx,
    some: &[WorkspaceId],
    status: &mut RollupStatus,
) -> Result<(), StoreError> {
    let feeds = builds::feeds(status.set, some);
    let behind: Vec<(WorkspaceId, Option<Micros>)> = tx
        .rows_each(&BEHIND, &feeds, cells!("workspace_id", "held_at"))
        .await?;
    status.behind.extend(behind);
    let making = tx
        .rows_each(&MAKING, &feeds, |row| {
            let after = Micros(row.get("after_us")?);
            Ok((Build::from_row(row)?, after))
        })
        .await?;
    status.making.extend(making);
    let counted: Vec<_> = some
        .iter()
        .map(|&workspace_id| {
            args! { workspace_id, metric_set: status.set.code(), whole: TimeSlot::END.0 }
        })
        .collect();
    // One count for all workspaces, or one for each.
    let counts: Vec<(u64, u64)> = tx
        .rows_each(&CUBES, &counted, cells!("cubes", "making"))
        .await?;
    for (cubes, making) in counts {
        status.cubes += cubes;
        status.cubes_making += making;
    }
    Ok(())
}
