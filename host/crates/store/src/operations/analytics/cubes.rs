//! Cubes of local days: which cubes exist, how they are filled, and what steps add to them.

use super::builds::LockedBuilds;
use super::cells::{CellCounts, sums};
use crate::decide::cubes::{self as decide, CubeRow, DueCubes, is_unused};
use crate::decide::rollup::{BuildState, DayCells};
use crate::operations::agents::workspace_ids;
use crate::operations::prelude::*;
use crate::sqlite::threads::End;
use crate::{Build, Cube, Slots, ZoneUse};
use leadhost_domain::analytics::TimeSlot;
use leadhost_domain::zone::{self, Day, Zone};

statements! {
    static NOTE: Sql = sql("
each (workspace_id uuid, zone text, requests number, used_at time)
insert into rollup_zones as z (workspace_id, zone, requests, used_at)
select workspace_id, zone, requests, used_at
from each
where true
on conflict (workspace_id, zone) do update
set requests = z.requests + excluded.requests, used_at = greatest(z.used_at, excluded.used_at)");

    static ZONES: Sql = sql("
each (workspace_id uuid)
select z.workspace_id, z.zone, z.requests, z.used_at
from each
join rollup_zones as z
  on z.workspace_id = each.workspace_id
order by z.workspace_id, z.zone");

    static BUILDS: Sql = sql("
each (workspace_id uuid)
select b.workspace_id, b.metric_set, b.build, c.zone, c.tzdata, c.filled_slot
from each
join rollup_builds as b
  on b.workspace_id = each.workspace_id
left join rollup_cubes as c
  on c.build = b.build
where b.state in ('making', 'serving')
order by b.build, c.zone");

    // A row that another host is updating is in use, so it is skipped.
    static FORGET_ZONES: Sql = sql("
each (workspace_id uuid, zone text, unused_since time)
delete from rollup_zones
where (workspace_id, zone) in (
  select z.workspace_id, z.zone
  from each
  join rollup_zones as z
    on z.workspace_id = each.workspace_id
    and z.zone = each.zone
    and z.used_at <= each.unused_since
  for update of z skip locked -- postgres
)");

    static REMOVE_DAYS: Sql = sql("
delete from rollup_days
where build = :build
and zone = :zone");

    static REMOVE: Sql = sql("
delete from rollup_cubes
where build = :build
and zone = :zone");

    // If another host has begun the cube in the meantime, that one is used.
    static BEGIN: Sql = made(|| schema::ROLLUP_CUBES.insert(&[], OnConflict::Skip));

    static STEPPED: Sql = sql("
update rollup_builds
set step = step + 1
where build = :build");

    static CUBES_FOR_BUILD: Sql = sql("
select zone, tzdata, filled_slot
from rollup_cubes
where build = :build
order by zone");

    // Slots in which nothing began are skipped.
    static NEXT: Sql = sql("
select slot
from rollup_slots
where build = :build
and slot >= :filled
order by slot
limit 1");

    static FILLED: Sql = sql("
update rollup_cubes
set filled_slot = :filled
where build = :build
and zone = :zone");

    static FOUND: Sql = sql("
each (build number, zone text, day number)
select there.zone, there.day, there.cells
from each
fenced join rollup_days as there
  on there.build = each.build
  and there.zone = each.zone
  and there.day = each.day
");

    static WRITE: Sql = made(|| schema::ROLLUP_DAYS.insert(&[], OnConflict::Update));

    static REMOVE_EMPTY: Sql = made(|| schema::ROLLUP_DAYS.remove_one_by_one(""));
}

#[leadhost_boxed::boxed]
impl Store {
    pub async fn note_zones(&self, uses: &[ZoneUse]) -> Result<(), StoreError> {
        // Sorted, so that every host locks in the same order, and deduplicated.
        let mut noted: BTreeMap<(WorkspaceId, &str), (u64, Micros)> = BTreeMap::new();
        for used in uses {
            let (requests, used_at) = noted
                .entry((used.workspace, &used.zone))
                .or_insert((0, used.used_at));
            *requests = requests.saturating_add(used.requests);
            *used_at = used.used_at.max(*used_at);
        }
        let noted: Vec<_> = noted.into_iter().collect();
        for some in noted.chunks(limits::WORKSPACES_AT_ONCE) {
            let mut workspaces: Vec<WorkspaceId> = some.iter().map(|((of, _), _)| *of).collect();
            workspaces.dedup();
            let rows: Vec<_> = some
                .iter()
                .map(|((workspace, zone), (requests, used_at))| {
                    args! {
                        workspace_id: *workspace,
                        zone: (*zone).to_owned(),
                        requests: i64::try_from(*requests).unwrap_or(i64::MAX),
                        used_at,
                    }
                })
                .collect();
            steps!(self.database.write(Of(&workspaces)), |tx| {
                tx.run_each(&NOTE, &rows).await?;
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Gives each build the cubes that its workspace needs, within bounds: one for the default zone, and one
    /// for each zone that is requested often and recently. Removes cubes that are not needed or follow rules
    /// other than `tzdata`. Returns the cubes that are incomplete.
    pub async fn cubes_due(&self, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError> {
        let workspaces = steps!(self.database.read(Exempt), |tx| workspace_ids(tx).await).await?;
        let mut making: Vec<Cube> = Vec::new();
        for some in workspaces.chunks(limits::WORKSPACES_AT_ONCE) {
            let due = due_of(&self.database, some, tzdata, now).await?;
            let mut changed: BTreeMap<Build, ChangedCells> = BTreeMap::new();
            for cube in due.gone {
                changed.entry(cube.build).or_default().gone.push(cube.zone);
            }
            for cube in due.new {
                changed.entry(cube.build).or_default().new.push(cube.zone);
            }
            for (build, changed) in changed {
                change(&self.database, build, changed, tzdata).await?;
            }
            making.extend(due.making);
        }
        making.sort_by(|a, b| (a.build.number, &a.zone).cmp(&(b.build.number, &b.zone)));
        Ok(making)
    }

    /// Adds some days to a cube. Returns false if the cube is complete.
    pub async fn cube_step(&self, cube: &Cube) -> Result<bool, StoreError> {
        let build = cube.build;
        let zone = cube.zone.clone();
        steps!(self.database.write_or_undo(Of(&[build.workspace])), |tx| {
            if !is_there(tx, &build).await? {
                return Ok((false, End::Undo));
            }
            let cubes = cubes_for_build(tx, build.number).await?;
            let row = cubes.into_iter().find(|row| row.zone == zone);
            let row = row.filter(|row| !row.is_whole());
            let Some((row, rules)) = row.and_then(|row| rules(&row).map(|rules| (row, rules)))
            else {
                return Ok((false, End::Undo));
            };
            let args = args! { build: build.number, filled: row.filled.0 };
            let next = tx
                .row(&NEXT, &args, |row| Ok(TimeSlot(row.get("slot")?)))
                .await?;
            let filled = match next {
                Some(from) => {
                    let to = TimeSlot(from.0.saturating_add(limits::CUBE_SLOTS));
                    fill(tx, &build, &rules, Slots { from, to }).await?;
                    to
                }
                None => TimeSlot::END,
            };
            let args = args! { build: build.number, zone: &zone, filled: filled.0 };
            tx.run(&FILLED, &args).await?;
            stepped(tx, build.number).await?;
            Ok((filled != TimeSlot::END, End::Commit))
        })
        .await
    }
}

/// Returns the work that is due in some workspaces. Zones are rarely forgotten. If there is none to
/// forget, nothing waits for writers.
async fn due_of(
    database: &Database,
    workspaces: &[WorkspaceId],
    tzdata: &str,
    now: Micros,
) -> Result<DueCubes, StoreError> {
    let rows: Vec<_> = workspaces
        .iter()
        .map(|&workspace_id| args! { workspace_id })
        .collect();
    let (uses, listed) = steps!(database.read_many(Of(workspaces)), |tx| {
        let uses = tx.rows_each(&ZONES, &rows, ZoneUse::from_row).await?;
        let listed = tx
            .rows_each(&BUILDS, &rows, |row| {
                let has_one = row.get::<Option<String>>("zone")?.is_some();
                let cube = has_one.then(|| CubeRow::from_row(row)).transpose()?;
                Ok((Build::from_row(row)?, cube))
            })
            .await?;
        Ok((uses, listed))
    })
    .await?;
    let unused: Vec<_> = uses
        .iter()
        .filter(|used| is_unused(used, now))
        .map(|used| {
            args! {
                workspace_id: used.workspace,
                zone: used.zone.clone(),
                unused_since: now.minus(limits::ZONE_UNUSED),
            }
        })
        .collect();
    if !unused.is_empty() {
        steps!(database.write(Of(workspaces)), |tx| {
            tx.run_each(&FORGET_ZONES, &unused).await?;
            Ok(())
        })
        .await?;
    }
    let mut builds: Vec<(Build, Vec<CubeRow>)> = Vec::new();
    for (build, cube) in listed {
        if builds.last().is_none_or(|(last, _)| *last != build) {
            builds.push((build, Vec::new()));
        }
        if let Some((_, cubes)) = builds.last_mut() {
            cubes.extend(cube);
        }
    }
    Ok(decide::due(&builds, &uses, tzdata, now))
}

#[derive(Default)]
struct ChangedCells {
    gone: Vec<String>,
    new: Vec<String>,
}

async fn change(
    database: &Database,
    build: Build,
    changed: ChangedCells,
    tzdata: &str,
) -> Result<(), StoreError> {
    let tzdata = tzdata.to_owned();
    steps!(database.write_or_undo(Of(&[build.workspace])), |tx| {
        if !is_there(tx, &build).await? {
            return Ok(((), End::Undo));
        }
        remove(tx, build.number, &changed.gone).await?;
        let new: Vec<_> = changed
            .new
            .iter()
            .map(|zone| {
                args! {
                    workspace_id: build.workspace,
                    build: build.number,
                    zone,
                    tzdata: &tzdata,
                    filled_slot: TimeSlot::BEGINNING.0,
                }
            })
            .collect();
        tx.run_each(&BEGIN, &new).await?;
        stepped(tx, build.number).await?;
        Ok(((), End::Commit))
    })
    .await
}

pub async fn remove(tx: &mut Tx, build: i64, zones: &[String]) -> Result<(), StoreError> {
    for zone in zones {
        let args = args! { build, zone };
        tx.run(&REMOVE_DAYS, &args).await?;
        tx.run(&REMOVE, &args).await?;
    }
    Ok(())
}

/// Locks the builds of its workspace and set. Returns whether this build exists and has not
/// retired.
async fn is_there(tx: &mut Tx, build: &Build) -> Result<bool, StoreError> {
    let locked = LockedBuilds::lock(tx, build).await?;
    let state = locked.get(build).map(|(state, _)| state);
    Ok(matches!(
        state,
        Some(BuildState::Making | BuildState::Serving)
    ))
}

async fn stepped(tx: &mut Tx, build: i64) -> Result<(), StoreError> {
    tx.run(&STEPPED, &args! { build }).await?;
    Ok(())
}

pub async fn cubes_for_build(tx: &mut Tx, build: i64) -> Result<Vec<CubeRow>, StoreError> {
    tx.rows(&CUBES_FOR_BUILD, &args! { build }, CubeRow::from_row)
        .await
}

/// Returns the zone of a cube, or `None` if the cube follows other rules than this program's.
pub fn rules(cube: &CubeRow) -> Option<Zone> {
    Zone::named(&cube.zone).filter(|_| cube.tzdata == zone::tzdata())
}

/// Adds everything that began in these slots to their days.
async fn fill(tx: &mut Tx, build: &Build, zone: &Zone, slots: Slots) -> Result<(), StoreError> {
    let mut buckets = Vec::new();
    let mut day = zone.day_of(slots.from.start());
    let mut from = slots.from;
    while from < slots.to {
        let next = day.plus(1);
        let to = TimeSlot::from(zone.start_of(next)).min(slots.to);
        buckets.push((day, Slots { from, to }));
        (day, from) = (next, to.max(from));
    }
    let mut found = CellCounts::new();
    sums(tx, build.number, &buckets, usize::MAX, &mut found).await?;
    let mut days: BTreeMap<Day, DayCells> = BTreeMap::new();
    for ((day, key), counts) in found {
        days.entry(day).or_default().add(key, &counts);
    }
    add(tx, build, vec![(zone.name().to_owned(), days)]).await
}

/// Adds to the days of cubes. The caller holds the lock of the build. An empty day has no row.
pub async fn add(
    tx: &mut Tx,
    build: &Build,
    deltas: Vec<(String, BTreeMap<Day, DayCells>)>,
) -> Result<(), StoreError> {
    let mut days: BTreeMap<(String, Day), DayCells> = BTreeMap::new();
    for (zone, of_zone) in deltas {
        let of_zone = of_zone.into_iter().filter(|(_, cells)| !cells.is_empty());
        days.extend(of_zone.map(|(day, cells)| ((zone.clone(), day), cells)));
    }
    let known = known(tx, build, &days).await?;
    for (place, cells) in known {
        if let Some(day) = days.get_mut(&place) {
            day.merge(&cells);
        }
    }
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for ((zone, day), cells) in &days {
        if cells.is_empty() {
            gone.push(args! { build: build.number, zone, day: day.0 });
        } else {
            kept.push(args! {
                workspace_id: build.workspace,
                build: build.number,
                zone,
                day: day.0,
                cells: cells.text(),
            });
        }
    }
    tx.run_each(&WRITE, &kept).await?;
    tx.run_each(&REMOVE_EMPTY, &gone).await?;
    Ok(())
}

async fn known(
    tx: &mut Tx,
    build: &Build,
    days: &BTreeMap<(String, Day), DayCells>,
) -> Result<Vec<((String, Day), DayCells)>, StoreError> {
    let wanted: Vec<_> = days
        .keys()
        .map(|(zone, day)| args! { build: build.number, zone, day: day.0 })
        .collect();
    tx.rows_each(&FOUND, &wanted, |row| {
        let place = (row.get("zone")?, Day(row.get("day")?));
        Ok((place, DayCells::parse(&row.get::<String>("cells")?)?))
    })
    .await
}
