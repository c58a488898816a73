//! How the rollups are doing, for operators.

use uuid::Uuid;

use super::super::db::{Db, Rows};
use super::super::workspaces;
use super::builds;
use crate::domain::analytics::{MetricSet, Slot};
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::{Columns as _, analytics};
use crate::store::{RollupStatus, StoreError};

const RUN: &str = "
select as_of, finished_at, changes
from rollup_runs
where metric_set = $1";

const BEHIND: &str = "
select workspace_id, held_at as as_of
from rollup_builds
where workspace_id = any ($1)
and metric_set = $2
and state = 'serving'
and held
order by workspace_id";

const MAKING: &str = "
select workspace_id, metric_set::int as metric_set, build, after_us
from rollup_builds
where workspace_id = any ($1)
and metric_set = $2
and state = 'making'";

const CUBES: &str = "
select count(*) as cubes, count(*) filter (where c.filled_slot <> $3) as making
from rollup_builds as b
join rollup_cubes as c on c.build = b.build
where b.workspace_id = any ($1)
and b.metric_set = $2
and b.state in ('making', 'serving')";

pub async fn status(db: &Db) -> Result<Vec<RollupStatus>, StoreError> {
    let workspaces = workspaces::workspace_ids(db).await?;
    let mut snapshot = db.snapshot(Rows::Exempt).await?;
    let mut all = Vec::new();
    for set in MetricSet::ALL {
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
        let run = sqlx::query(RUN)
            .bind(builds::code(set))
            .fetch_optional(&mut *snapshot)
            .await?;
        if let Some(run) = run {
            status.as_of = run.time_if("as_of")?;
            status.finished_at = run.time_if("finished_at")?;
            status.changes = run.number("changes")?;
        }
        all.push(status);
    }
    for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
        let ids: Vec<Uuid> = some.iter().map(|id| id.0).collect();
        snapshot.name(some).await?;
        for status in &mut all {
            let code = builds::code(status.set);
            let behind = sqlx::query(BEHIND)
                .bind(&ids)
                .bind(code)
                .fetch_all(&mut *snapshot)
                .await?;
            for row in &behind {
                let of = (row.id("workspace_id")?, row.time_if("as_of")?);
                status.behind.push(of);
            }
            let making = sqlx::query(MAKING)
                .bind(&ids)
                .bind(code)
                .fetch_all(&mut *snapshot)
                .await?;
            for row in &making {
                let after = Micros(row.number("after_us")?);
                status.making.push((analytics::build(row)?, after));
            }
            let cubes = sqlx::query(CUBES)
                .bind(&ids)
                .bind(code)
                .bind(Slot::END.0)
                .fetch_one(&mut *snapshot)
                .await?;
            status.cubes += cubes.number::<u64>("cubes")?;
            status.cubes_making += cubes.number::<u64>("making")?;
        }
    }
    snapshot.rollback().await?;
    for status in &mut all {
        status
            .making
            .sort_unstable_by_key(|(build, _)| build.number);
    }
    Ok(all)
}

pub(in crate::store::postgres) const SQL: &[&str] = &[RUN, BEHIND, MAKING, CUBES];
