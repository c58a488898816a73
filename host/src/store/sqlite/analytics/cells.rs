//! What answers are made of, each from one snapshot: days of a cube where the zone
//! has one, else sums over slots.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use super::super::db::Db;
use super::super::json;
use super::code;
use crate::domain::analytics::{Counts, MetricSet, Slot, add};
use crate::domain::zone::Day;
use crate::limits;
use crate::store::decide::rollup::{DayCells, portions};
use crate::store::row::{Columns as _, analytics};
use crate::store::{Cell, CellQuery, Cells, RollupState, Scope, Slots, StoreError};

const STATE: &str = "
select b.build, b.version,
  case when b.held then b.held_at else r.as_of end as as_of,
  (select json_group_array(id order by id) from agents where workspace_id = ?1 and internal)
    as internal
from (select 1) as one
left join rollup_builds as b
  on b.workspace_id = ?1
  and b.metric_set = ?2
  and b.state = 'serving'
left join rollup_runs as r on r.metric_set = ?2";

pub async fn state(db: &Db, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError> {
    let mut connection = db.readers().acquire().await?;
    state_of(&mut connection, scope, set).await
}

async fn state_of(
    connection: &mut SqliteConnection,
    scope: &Scope,
    set: MetricSet,
) -> Result<RollupState, StoreError> {
    let row = sqlx::query(STATE)
        .bind(scope.workspace().to_string())
        .bind(code(set))
        .fetch_one(connection)
        .await?;
    analytics::state(&row)
}

const KEYS: &str = "
select json_group_array(json_array(k.key, k.agent_type, k.agent_id, k.source)) as keys
from json_each(?2) as wanted
cross join rollup_keys as k on k.key = wanted.value
where +k.workspace_id = ?1";

const CUBE: &str = "
select 1
from rollup_cubes
where build = ?1
and zone = ?2
and tzdata = ?3
and filled_slot = ?4";

const DAYS: &str = "
select day, cells
from rollup_days
where build = ?1
and zone = ?2
and day >= ?3
and day < ?4
order by day
limit ?5";

pub async fn cells(db: &Db, scope: &Scope, query: &CellQuery<'_>) -> Result<Cells, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let state = state_of(&mut snapshot, scope, query.set).await?;
    let Some((build, _)) = state.version else {
        snapshot.rollback().await?;
        return Ok(Cells {
            state,
            ..Cells::default()
        });
    };
    let cube = sqlx::query(CUBE)
        .bind(build)
        .bind(query.zone)
        .bind(query.tzdata)
        .bind(Slot::END.0)
        .fetch_optional(&mut *snapshot)
        .await?;
    let mut cells = Vec::new();
    if cube.is_some() {
        days(&mut snapshot, build, query, &mut cells).await?;
    }
    let of_cube = cube.is_some();
    let of_slots = if of_cube {
        &query.edges
    } else {
        &query.buckets
    };
    let of_slots = within(&mut snapshot, build, of_slots).await?;
    let mut sums: BTreeMap<(Day, i64), Counts> = BTreeMap::new();
    for portion in portions(&of_slots, limits::ROLLUP_SLOTS_AT_ONCE) {
        if cells.len() + sums.len() > limits::ANALYTICS_CELLS {
            break;
        }
        add_slots(&mut snapshot, build, &portion, &mut sums).await?;
    }
    let summed = sums.into_iter();
    cells.extend(summed.map(|((day, key), counts)| Cell { day, key, counts }));
    let too_many = cells.len() > limits::ANALYTICS_CELLS;
    let named: BTreeSet<i64> = cells.iter().map(|cell| cell.key).collect();
    let keys = sqlx::query(KEYS)
        .bind(scope.workspace().to_string())
        .bind(json(&named)?)
        .fetch_one(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    Ok(Cells {
        state,
        keys: analytics::keys(&keys)?,
        cells,
        of_cube,
        too_many,
    })
}

/// Whole days, some at a time: a day may have many cells.
async fn days(
    connection: &mut SqliteConnection,
    build: i64,
    query: &CellQuery<'_>,
    cells: &mut Vec<Cell>,
) -> Result<(), StoreError> {
    let (mut first, end) = query.days;
    while first < end && cells.len() <= limits::ANALYTICS_CELLS {
        let rows = sqlx::query(DAYS)
            .bind(build)
            .bind(query.zone)
            .bind(first.0)
            .bind(end.0)
            .bind(limits::CUBE_DAYS_AT_ONCE)
            .fetch_all(&mut *connection)
            .await?;
        first = end;
        let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows >= limits::CUBE_DAYS_AT_ONCE);
        for row in &rows {
            let day = Day(row.small(0)?);
            let of_day = DayCells::read(&row.text(1)?)?;
            cells.extend(of_day.map(|(key, counts)| Cell { day, key, counts }));
            if is_full {
                first = day.plus(1);
            }
        }
    }
    Ok(())
}

const EXTENT: &str = "
select
  (select min(slot) from rollup_slots where build = ?1) as first,
  (select max(slot) from rollup_slots where build = ?1) as last";

/// The buckets as far as there are slots: who asks for all times asks for no more.
async fn within(
    connection: &mut SqliteConnection,
    build: i64,
    buckets: &[(Day, Slots)],
) -> Result<Vec<(Day, Slots)>, StoreError> {
    if buckets.is_empty() {
        return Ok(Vec::new());
    }
    let row = sqlx::query(EXTENT)
        .bind(build)
        .fetch_one(connection)
        .await?;
    let (first, last): (Option<i32>, Option<i32>) =
        (row.number_if("first")?, row.number_if("last")?);
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(Vec::new());
    };
    let within = |(day, slots): &(Day, Slots)| {
        let from = slots.from.max(Slot(first));
        let to = slots.to.min(Slot(last.saturating_add(1)));
        (*day, Slots { from, to })
    };
    Ok(buckets.iter().map(within).collect())
}

const SUMS: &str = "
select json_group_array(
    json_array(day, key, count_1, count_2, count_3, count_4, count_5)) as counts
from (
  select wanted.value ->> 0 as day, s.key, sum(s.count_1) as count_1, sum(s.count_2) as count_2,
    sum(s.count_3) as count_3, sum(s.count_4) as count_4, sum(s.count_5) as count_5
  from json_each(?2) as wanted
  cross join rollup_slots as s
    on s.build = ?1
    and s.slot >= wanted.value ->> 1
    and s.slot < wanted.value ->> 2
  group by 1, 2)";

async fn add_slots(
    connection: &mut SqliteConnection,
    build: i64,
    buckets: &[(Day, Slots)],
    sums: &mut BTreeMap<(Day, i64), Counts>,
) -> Result<(), StoreError> {
    let buckets: Vec<_> = buckets
        .iter()
        .map(|(day, slots)| (day.0, slots.from.0, slots.to.0))
        .collect();
    let row = sqlx::query(SUMS)
        .bind(build)
        .bind(json(&buckets)?)
        .fetch_one(connection)
        .await?;
    for (day, key, counts) in analytics::counts(&row)? {
        add(sums.entry((Day(day), key)).or_default(), &counts, 1);
    }
    Ok(())
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[STATE, KEYS, CUBE, DAYS, EXTENT, SUMS];
