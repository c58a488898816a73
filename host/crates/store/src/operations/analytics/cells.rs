//! The counts that answers are made of, each from one snapshot: days of a cube if the zone has one,
//! otherwise sums over slots.

use crate::decide::rollup::{DayCells, portions};
use crate::operations::prelude::*;
use crate::row::analytics;
use crate::{CellQuery, RollupCell, RollupCells, RollupState, Scope, Slots};
use leadhost_domain::analytics::{MEASURES, MeasureCounts, MetricSet, TimeSlot, add};
use leadhost_domain::zone::Day;

statements! {
    static STATE: Sql = sql("
select b.build, b.version, case when b.held then b.held_at else run.as_of end as as_of,
  (
    select json_group_array(id order by id)            -- sqlite
    select coalesce(json_agg(id order by id), '[]')    -- postgres
    from agents
    where workspace_id = :workspace
    and internal
  ) as internal
from (select 1) as one
left join rollup_builds as b
  on b.workspace_id = :workspace
  and b.metric_set = :metric_set
  and b.state = 'serving'
left join rollup_runs as run on run.metric_set = :metric_set");

    static CUBE: Sql = sql("
select zone
from rollup_cubes
where build = :build
and zone = :zone
and tzdata = :tzdata
and filled_slot = :whole");

    static KEYS: Sql = sql("
each (workspace_id uuid, key number)
select k.key, k.agent_type, k.agent_id, k.source
from each
fenced join rollup_keys as k
  on k.key = each.key
  and (k.workspace_id = each.workspace_id) is true
order by k.key");

    static DAYS: Sql = sql("
select day, cells
from rollup_days
where build = :build
and zone = :zone
and day >= :first
and day < :end
order by day
limit :limit");

    static BOUNDS: Sql = sql("
select
  (select slot from rollup_slots where build = :build order by slot limit 1) as first,
  (select slot from rollup_slots where build = :build order by slot desc limit 1) as last");

    static SUMS: Sql = sql("
each (build number, day number, from_slot number, to_slot number)
select each.day, s.key, s.count_1, s.count_2, s.count_3, s.count_4, s.count_5   -- postgres
select each.day, s.key, sum(s.count_1) as count_1, sum(s.count_2) as count_2,   -- sqlite
  sum(s.count_3) as count_3, sum(s.count_4) as count_4,                         -- sqlite
  sum(s.count_5) as count_5                                                     -- sqlite
from each
cross join lateral (                                                            -- postgres
  select key, sum(count_1)::bigint as count_1, sum(count_2)::bigint as count_2, -- postgres
    sum(count_3)::bigint as count_3, sum(count_4)::bigint as count_4,           -- postgres
    sum(count_5)::bigint as count_5                                             -- postgres
  from rollup_slots                                                             -- postgres
  where build = each.build                                                      -- postgres
  and slot >= each.from_slot                                                    -- postgres
  and slot < each.to_slot                                                       -- postgres
  group by key                                                                  -- postgres
) as s                                                                          -- postgres
cross join rollup_slots as s                                                    -- sqlite
  on s.build = each.build                                                       -- sqlite
  and s.slot >= each.from_slot                                                  -- sqlite
  and s.slot < each.to_slot                                                     -- sqlite
group by each.day, s.key                                                        -- sqlite
");
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn rollup_state(
        &self,
        scope: &Scope,
        set: MetricSet,
    ) -> Result<RollupState, StoreError> {
        let workspace = scope.workspace();
        steps!(self.database.read(Of(&[workspace])), |tx| {
            state_of(tx, workspace, set).await
        })
        .await
    }

    /// Returns the counts that an answer needs, with their keys and the state of the rollups,
    /// from one snapshot. They are incomplete if [`RollupCells::too_many`] is set.
    pub async fn rollup_cells(
        &self,
        scope: &Scope,
        query: &CellQuery<'_>,
    ) -> Result<RollupCells, StoreError> {
        self.rollup_cells_of(scope.workspace(), query).await
    }

    /// Returns what [`Self::rollup_cells`] returns, for an operator, who belongs to no workspace.
    pub async fn rollup_cells_of(
        &self,
        workspace: WorkspaceId,
        query: &CellQuery<'_>,
    ) -> Result<RollupCells, StoreError> {
        let (set, days) = (query.set, query.days);
        let (zone, tzdata) = (query.zone.to_owned(), query.tzdata.to_owned());
        let (edges, buckets) = (query.edges.clone(), query.buckets.clone());
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let query = CellQuery {
                set,
                zone: &zone,
                tzdata: &tzdata,
                days,
                edges,
                buckets,
            };
            cells_of(tx, workspace, &query).await
        })
        .await
    }
}

async fn state_of(
    tx: &mut Tx,
    workspace: WorkspaceId,
    set: MetricSet,
) -> Result<RollupState, StoreError> {
    let args = args! { workspace, metric_set: set.code() };
    tx.only(&STATE, &args, analytics::state).await
}

async fn cells_of(
    tx: &mut Tx,
    workspace_id: WorkspaceId,
    query: &CellQuery<'_>,
) -> Result<RollupCells, StoreError> {
    let state = state_of(tx, workspace_id, query.set).await?;
    let Some((build, _)) = state.version else {
        return Ok(RollupCells {
            state,
            ..RollupCells::default()
        });
    };
    let args = args! { build, zone: query.zone, tzdata: query.tzdata, whole: TimeSlot::END.0 };
    let of_cube = tx.row(&CUBE, &args, |_| Ok(())).await?.is_some();
    let (mut cells, of_slots) = if of_cube {
        (days(tx, build, query).await?, &query.edges)
    } else {
        (Vec::new(), &query.buckets)
    };
    // Edges cover other days than the whole ones, so each cell occurs once.
    let mut found = CellCounts::new();
    let room = limits::ANALYTICS_CELLS.saturating_sub(cells.len());
    sums(tx, build, of_slots, room, &mut found).await?;
    let found = found.into_iter();
    cells.extend(found.map(|((day, key), counts)| RollupCell { day, key, counts }));
    let named: BTreeSet<i64> = cells.iter().map(|cell| cell.key).collect();
    let named: Vec<_> = named
        .into_iter()
        .map(|key| args! { workspace_id, key })
        .collect();
    let keys = tx.rows_each(&KEYS, &named, analytics::key).await?;
    let too_many = cells.len() > limits::ANALYTICS_CELLS;
    Ok(RollupCells {
        state,
        keys,
        cells,
        of_cube,
        too_many,
    })
}

/// Reads whole days, a few at a time, because a day may have many cells.
async fn days(
    tx: &mut Tx,
    build: i64,
    query: &CellQuery<'_>,
) -> Result<Vec<RollupCell>, StoreError> {
    let mut cells: Vec<RollupCell> = Vec::new();
    let (mut first, end) = query.days;
    while first < end && cells.len() <= limits::ANALYTICS_CELLS {
        let args = args! {
            build,
            zone: query.zone,
            first: first.0,
            end: end.0,
            limit: limits::CUBE_DAYS_AT_ONCE,
        };
        let days: Vec<Day> = tx
            .rows(&DAYS, &args, |row| {
                let day = Day(row.get("day")?);
                let of_day = DayCells::read(&row.get::<String>("cells")?)?;
                cells.extend(of_day.map(|(key, counts)| RollupCell { day, key, counts }));
                Ok(day)
            })
            .await?;
        let is_full = i64::try_from(days.len()).is_ok_and(|days| days >= limits::CUBE_DAYS_AT_ONCE);
        let last = days.last().filter(|_| is_full);
        first = last.map_or(end, |day| day.plus(1));
    }
    Ok(cells)
}

const COUNTS: [&str; MEASURES] = ["count_1", "count_2", "count_3", "count_4", "count_5"];

pub type CellCounts = BTreeMap<(Day, i64), MeasureCounts>;

/// Adds the sums of buckets of slots by key, until `found` has more than `most` entries.
pub async fn sums(
    tx: &mut Tx,
    build: i64,
    buckets: &[(Day, Slots)],
    most: usize,
    found: &mut CellCounts,
) -> Result<(), StoreError> {
    if buckets.is_empty() {
        return Ok(());
    }
    let bounds: Option<(i32, i32)> = tx
        .only(&BOUNDS, &args! { build }, |row| {
            let first: Option<i32> = row.get("first")?;
            Ok(first.zip(row.get("last")?))
        })
        .await?;
    let Some((first, last)) = bounds else {
        return Ok(());
    };
    // Clip the buckets to the slots that exist, so that years without data cost nothing.
    let there = |(day, slots): &(Day, Slots)| {
        let from = slots.from.max(TimeSlot(first));
        let to = slots.to.min(TimeSlot(last.saturating_add(1)));
        (*day, Slots { from, to })
    };
    let buckets: Vec<_> = buckets.iter().map(there).collect();
    for part in portions(&buckets, limits::ROLLUP_SLOTS_AT_ONCE) {
        if found.len() > most {
            break;
        }
        let part: Vec<_> = part
            .iter()
            .map(|(day, slots)| {
                args! { build, day: day.0, from_slot: slots.from.0, to_slot: slots.to.0 }
            })
            .collect();
        tx.rows_each(&SUMS, &part, |row| {
            let mut counts = MeasureCounts::default();
            for (count, name) in counts.iter_mut().zip(COUNTS) {
                *count = row.get(name)?;
            }
            let place = (Day(row.get("day")?), row.get("key")?);
            add(found.entry(place).or_default(), &counts, 1);
            Ok(())
        })
        .await?;
    }
    Ok(())
}
