//! What answers are made of, each from one snapshot: days of a cube where the zone
//! has one, else sums over slots.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::super::db::{Db, Rows};
use super::builds;
use crate::domain::analytics::{Counts, MetricSet, Slot, add};
use crate::domain::zone::Day;
use crate::limits;
use crate::store::decide::rollup::{DayCells, portions};
use crate::store::row::{Columns as _, analytics};
use crate::store::{Cell, CellQuery, Cells, RollupState, Scope, Slots, StoreError};

const STATE: &str = "
select b.build, b.version, case when b.held then b.held_at else run.as_of end as as_of,
  (
    select coalesce(json_agg(id order by id), '[]')
    from agents
    where workspace_id = $1
    and internal
  ) as internal
from (select 1) as one
left join rollup_builds as b
  on b.workspace_id = $1
  and b.metric_set = $2
  and b.state = 'serving'
left join rollup_runs as run on run.metric_set = $2";

pub async fn state(db: &Db, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[scope.workspace()])).await?;
    let state = state_of(&mut snapshot, scope, set).await?;
    snapshot.rollback().await?;
    Ok(state)
}

async fn state_of(
    connection: &mut PgConnection,
    scope: &Scope,
    set: MetricSet,
) -> Result<RollupState, StoreError> {
    let row = sqlx::query(STATE)
        .bind(scope.workspace().0)
        .bind(builds::code(set))
        .fetch_one(connection)
        .await?;
    analytics::state(&row)
}

const CUBE: &str = "
select 1
from rollup_cubes
where build = $1
and zone = $2
and tzdata = $3
and filled_slot = $4";

const KEYS: &str = "
select k.key, k.agent_type, k.agent_id, k.source
from unnest($2::bigint[]) as named (key)
cross join lateral (
  select key, agent_type, agent_id, source
  from rollup_keys
  where key = named.key
  and (workspace_id = $1) is true
  offset 0
) as k
order by k.key";

pub async fn cells(db: &Db, scope: &Scope, query: &CellQuery<'_>) -> Result<Cells, StoreError> {
    let workspace = scope.workspace();
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
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
    let most = limits::ANALYTICS_CELLS;
    let mut found = Found::default();
    if cube.is_some() {
        days(&mut snapshot, build, query, &mut found).await?;
        sums(&mut snapshot, build, &query.edges, most, &mut found).await?;
    } else {
        sums(&mut snapshot, build, &query.buckets, most, &mut found).await?;
    }
    let too_many = found.len() > limits::ANALYTICS_CELLS;
    let named: BTreeSet<i64> = found.keys().map(|(_, key)| *key).collect();
    let keys = sqlx::query(KEYS)
        .bind(workspace.0)
        .bind(named.into_iter().collect::<Vec<_>>())
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    let cell = |((day, key), counts)| Cell { day, key, counts };
    Ok(Cells {
        state,
        keys: keys.iter().map(analytics::key).collect::<Result<_, _>>()?,
        cells: found.into_iter().map(cell).collect(),
        of_cube: cube.is_some(),
        too_many,
    })
}

/// Counts by day or bucket, and key.
pub type Found = BTreeMap<(Day, i64), Counts>;

fn note(found: &mut Found, day: Day, key: i64, counts: &Counts) {
    add(found.entry((day, key)).or_default(), counts, 1);
}

const DAYS: &str = "
select day, cells
from rollup_days
where build = $1
and zone = $2
and day >= $3
and day < $4
order by day
limit $5";

/// Whole days, some at a time: a day may have many cells.
async fn days(
    connection: &mut PgConnection,
    build: i64,
    query: &CellQuery<'_>,
    found: &mut Found,
) -> Result<(), StoreError> {
    let (mut first, end) = query.days;
    while first < end && found.len() <= limits::ANALYTICS_CELLS {
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
            for (key, counts) in DayCells::read(row.text(1)?.as_str())? {
                note(found, day, key, &counts);
            }
            if is_full {
                first = day.plus(1);
            }
        }
    }
    Ok(())
}

const BOUNDS: &str = "
select
  (select slot from rollup_slots where build = $1 order by slot limit 1) as first,
  (select slot from rollup_slots where build = $1 order by slot desc limit 1) as last";

const SUMS: &str = "
select bucket.day, s.key, s.count_1, s.count_2, s.count_3, s.count_4, s.count_5
from unnest($2::int[], $3::int[], $4::int[]) as bucket (day, from_slot, to_slot)
cross join lateral (
  select key, sum(count_1)::bigint as count_1, sum(count_2)::bigint as count_2,
    sum(count_3)::bigint as count_3, sum(count_4)::bigint as count_4,
    sum(count_5)::bigint as count_5
  from rollup_slots
  where build = $1
  and slot >= bucket.from_slot
  and slot < bucket.to_slot
  group by key
) as s";

/// Adds the sums of buckets of slots by key, until there are more than `most`.
pub async fn sums(
    connection: &mut PgConnection,
    build: i64,
    buckets: &[(Day, Slots)],
    most: usize,
    found: &mut Found,
) -> Result<(), StoreError> {
    let bounds = sqlx::query(BOUNDS)
        .bind(build)
        .fetch_one(&mut *connection)
        .await?;
    let (first, last): (Option<i32>, Option<i32>) = (bounds.try_get(0)?, bounds.try_get(1)?);
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(());
    };
    // Years before and after everything cost nothing.
    let there = |(day, slots): &(Day, Slots)| {
        let from = slots.from.max(Slot(first));
        let to = slots.to.min(Slot(last.saturating_add(1)));
        (*day, Slots { from, to })
    };
    let buckets: Vec<_> = buckets.iter().map(there).collect();
    for part in portions(&buckets, limits::ROLLUP_SLOTS_AT_ONCE) {
        if found.len() > most {
            break;
        }
        let column = |of: fn(&(Day, Slots)) -> i32| part.iter().map(of).collect::<Vec<_>>();
        let rows = sqlx::query(SUMS)
            .bind(build)
            .bind(column(|(day, _)| day.0))
            .bind(column(|(_, slots)| slots.from.0))
            .bind(column(|(_, slots)| slots.to.0))
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let mut counts = Counts::default();
            for (place, count) in counts.iter_mut().enumerate() {
                *count = row.number(2 + place)?;
            }
            note(found, Day(row.small(0)?), row.number(1)?, &counts);
        }
    }
    Ok(())
}

pub(in crate::store::postgres) const SQL: &[&str] = &[STATE, CUBE, KEYS, DAYS, BOUNDS, SUMS];
