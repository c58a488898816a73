//! How the rollups are doing, for operators.

use sqlx::Connection as _;

use super::super::db::Db;
use super::code;
use crate::domain::analytics::{MetricSet, Slot};
use crate::domain::time::Micros;
use crate::store::row::{Columns as _, analytics};
use crate::store::{RollupStatus, StoreError};

const RUN: &str = "
select as_of, finished_at, changes
from rollup_runs
where metric_set = ?1";

const BEHIND: &str = "
select workspace_id, held_at as as_of
from rollup_builds
where metric_set = ?1
and state = 'serving'
and held
order by workspace_id";

const MAKING: &str = "
select workspace_id, metric_set, build, after_us
from rollup_builds
where metric_set = ?1
and state = 'making'
order by build";

const CUBES: &str = "
select count(*) as cubes, count(*) filter (where c.filled_slot <> ?2) as making
from rollup_builds as b
join rollup_cubes as c on c.build = b.build
where b.metric_set = ?1
and b.state <> 'retired'";

pub async fn status(db: &Db) -> Result<Vec<RollupStatus>, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let mut all = Vec::new();
    for set in MetricSet::ALL {
        let run = sqlx::query(RUN)
            .bind(code(set))
            .fetch_optional(&mut *snapshot)
            .await?;
        let behind = sqlx::query(BEHIND)
            .bind(code(set))
            .fetch_all(&mut *snapshot)
            .await?;
        let making = sqlx::query(MAKING)
            .bind(code(set))
            .fetch_all(&mut *snapshot)
            .await?;
        let cubes = sqlx::query(CUBES)
            .bind(code(set))
            .bind(Slot::END.0)
            .fetch_one(&mut *snapshot)
            .await?;
        let mut status = RollupStatus {
            set,
            as_of: None,
            finished_at: None,
            changes: 0,
            behind: Vec::new(),
            making: Vec::new(),
            cubes: cubes.number("cubes")?,
            cubes_making: cubes.number("making")?,
        };
        if let Some(run) = run {
            status.as_of = run.time_if("as_of")?;
            status.finished_at = run.time_if("finished_at")?;
            status.changes = run.number("changes")?;
        }
        for row in &behind {
            let of = (row.id("workspace_id")?, row.time_if("as_of")?);
            status.behind.push(of);
        }
        for row in &making {
            let after = Micros(row.number("after_us")?);
            status.making.push((analytics::build(row)?, after));
        }
        all.push(status);
    }
    snapshot.rollback().await?;
    Ok(all)
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[RUN, BEHIND, MAKING, CUBES];
