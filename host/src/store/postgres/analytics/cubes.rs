//! Cubes of local days: which there are, how one is filled, and what steps add.

use std::collections::BTreeMap;

use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::super::columns::{self, text};
use super::super::db::{Db, Rows, Transaction};
use super::super::workspaces;
use super::builds::Locked;
use super::cells::{Found, sums};
use crate::domain::analytics::Slot;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::domain::zone::{self, Day, Zone};
use crate::limits;
use crate::store::decide::cubes::{CubeRow, Due};
use crate::store::decide::rollup::{BuildState, DayCells};
use crate::store::row::Columns as _;
use crate::store::row::analytics::{build, cube, zone_use};
use crate::store::{Build, Cube, Slots, StoreError, ZoneUse};

const NOTE: &str = "
insert into rollup_zones as z (workspace_id, zone, requests, used_at)
select used.workspace_id, used.zone, used.requests, used.used_at
from unnest($1::uuid[], $2::text[], $3::bigint[], $4::timestamptz[])
  as used (workspace_id, zone, requests, used_at)
on conflict (workspace_id, zone) do update
set requests = z.requests + excluded.requests, used_at = greatest(z.used_at, excluded.used_at)";

pub async fn note_zones(db: &Db, uses: &[ZoneUse]) -> Result<(), StoreError> {
    // In one order on every host, and each once.
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
        let ids: Vec<Uuid> = workspaces.iter().map(|id| id.0).collect();
        workspaces.dedup();
        let requests = some.iter().map(|(_, (requests, _))| *requests);
        let requests = requests.map(|requests| i64::try_from(requests).unwrap_or(i64::MAX));
        let mut transaction = db.begin(Rows::Of(&workspaces)).await?;
        sqlx::query(NOTE)
            .bind(ids)
            .bind(
                some.iter()
                    .map(|((_, zone), _)| text(zone))
                    .collect::<Vec<_>>(),
            )
            .bind(requests.collect::<Vec<_>>())
            .bind(
                some.iter()
                    .map(|(_, (_, at))| columns::at(*at))
                    .collect::<Vec<_>>(),
            )
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
    }
    Ok(())
}

// What another host is just noting is not unused.
const FORGET_ZONES: &str = "
delete from rollup_zones
where (workspace_id, zone) in (
  select workspace_id, zone from rollup_zones
  where workspace_id = any ($1)
  and used_at <= $2
  for update skip locked)";

const ZONES: &str = "
select workspace_id, zone, requests, used_at
from rollup_zones
where workspace_id = any ($1)
order by workspace_id, zone";

const BUILDS: &str = "
select b.workspace_id, b.metric_set::int as metric_set, b.build, c.zone, c.tzdata, c.filled_slot
from rollup_builds as b
left join rollup_cubes as c on c.build = b.build
where b.workspace_id = any ($1)
and b.state in ('making', 'serving')
order by b.build, c.zone";

pub async fn due(db: &Db, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError> {
    let mut making = Vec::new();
    for some in workspaces::workspace_ids(db)
        .await?
        .chunks(limits::WORKSPACES_AT_ONCE)
    {
        let due = due_of(db, some, tzdata, now).await?;
        let mut changed: BTreeMap<Build, Changed> = BTreeMap::new();
        for cube in due.gone {
            changed.entry(cube.build).or_default().gone.push(cube.zone);
        }
        for cube in due.new {
            changed.entry(cube.build).or_default().new.push(cube.zone);
        }
        for (build, changed) in changed {
            change(db, &build, &changed, tzdata).await?;
        }
        making.extend(due.making);
    }
    making.sort_by(|a, b| (a.build.number, &a.zone).cmp(&(b.build.number, &b.zone)));
    Ok(making)
}

async fn due_of(
    db: &Db,
    workspaces: &[WorkspaceId],
    tzdata: &str,
    now: Micros,
) -> Result<Due, StoreError> {
    let ids: Vec<Uuid> = workspaces.iter().map(|id| id.0).collect();
    let mut transaction = db.begin(Rows::Of(workspaces)).await?;
    sqlx::query(FORGET_ZONES)
        .bind(&ids)
        .bind(columns::at(now.plus(-limits::ZONE_UNUSED_MICROS)))
        .execute(&mut *transaction)
        .await?;
    let zones = sqlx::query(ZONES)
        .bind(&ids)
        .fetch_all(&mut *transaction)
        .await?;
    let rows = sqlx::query(BUILDS)
        .bind(ids)
        .fetch_all(&mut *transaction)
        .await?;
    transaction.commit().await?;
    let uses = zones.iter().map(zone_use).collect::<Result<Vec<_>, _>>()?;
    let mut builds: Vec<(Build, Vec<CubeRow>)> = Vec::new();
    for row in &rows {
        let build = build(row)?;
        if builds.last().is_none_or(|(last, _)| *last != build) {
            builds.push((build, Vec::new()));
        }
        let has_one = row.text_if("zone")?.is_some();
        if let Some((_, cubes)) = builds.last_mut().filter(|_| has_one) {
            cubes.push(cube(row)?);
        }
    }
    Ok(crate::store::decide::cubes::due(
        &builds, &uses, tzdata, now,
    ))
}

/// Zones of a build.
#[derive(Default)]
struct Changed {
    gone: Vec<String>,
    new: Vec<String>,
}

const REMOVE_DAYS: &str = "
delete from rollup_days
where build = $1
and zone = any ($2)";

const REMOVE: &str = "
delete from rollup_cubes
where build = $1
and zone = any ($2)";

// One that another host has begun meanwhile does for both.
const BEGIN: &str = "
insert into rollup_cubes (workspace_id, build, zone, tzdata, filled_slot)
select $1, $2, new.zone, $4, $5
from unnest($3::text[]) as new (zone)
on conflict do nothing";

async fn change(db: &Db, build: &Build, changed: &Changed, tzdata: &str) -> Result<(), StoreError> {
    let mut transaction = db.begin(Rows::Of(&[build.workspace])).await?;
    if !is_there(&mut transaction, build).await? {
        return transaction.rollback().await;
    }
    remove(&mut transaction, build.number, &changed.gone).await?;
    sqlx::query(BEGIN)
        .bind(build.workspace.0)
        .bind(build.number)
        .bind(&changed.new)
        .bind(tzdata)
        .bind(Slot::BEGINNING.0)
        .execute(&mut *transaction)
        .await?;
    stepped(&mut transaction, build.number).await?;
    transaction.commit().await
}

/// Removes cubes and their days, under the lock of the build.
pub async fn remove(
    transaction: &mut Transaction,
    build: i64,
    zones: &[String],
) -> Result<(), StoreError> {
    if zones.is_empty() {
        return Ok(());
    }
    for sql in [REMOVE_DAYS, REMOVE] {
        sqlx::query(sql)
            .bind(build)
            .bind(zones)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

/// Locks the builds of its workspace and set: it is there, and has not retired.
async fn is_there(transaction: &mut Transaction, build: &Build) -> Result<bool, StoreError> {
    let locked = Locked::of(transaction, build.workspace, build.set).await?;
    let state = locked.get(build).map(|(state, _)| state);
    Ok(matches!(
        state,
        Some(BuildState::Making | BuildState::Serving)
    ))
}

const STEPPED: &str = "
update rollup_builds
set step = step + 1
where build = $1";

async fn stepped(connection: &mut PgConnection, build: i64) -> Result<(), StoreError> {
    sqlx::query(STEPPED).bind(build).execute(connection).await?;
    Ok(())
}

const OF_BUILD: &str = "
select zone, tzdata, filled_slot
from rollup_cubes
where build = $1
order by zone";

/// The cubes of a build.
pub async fn of(connection: &mut PgConnection, build: i64) -> Result<Vec<CubeRow>, StoreError> {
    let rows = sqlx::query(OF_BUILD)
        .bind(build)
        .fetch_all(connection)
        .await?;
    rows.iter().map(cube).collect()
}

/// The zone of a cube; `None`: it is of other rules than this program's.
pub fn rules(cube: &CubeRow) -> Option<Zone> {
    Zone::named(&cube.zone).filter(|_| cube.tzdata == zone::tzdata())
}

// Where nothing began there is nothing to add.
const NEXT: &str = "
select slot
from rollup_slots
where build = $1
and slot >= $2
order by slot
limit 1";

const FILLED: &str = "
update rollup_cubes
set filled_slot = $3
where build = $1
and zone = $2";

/// All of it under the lock of the build, since what steps add depends on how far
/// the cube is filled. A cube of other rules is left to whoever has them.
pub async fn step(db: &Db, cube: &Cube) -> Result<bool, StoreError> {
    let build = &cube.build;
    let mut transaction = db.begin(Rows::Of(&[build.workspace])).await?;
    let there = is_there(&mut transaction, build).await?;
    let cubes = match there {
        true => of(&mut transaction, build.number).await?,
        false => Vec::new(),
    };
    let row = cubes.into_iter().find(|row| row.zone == cube.zone);
    let row = row.filter(|row| !row.is_whole());
    let Some((row, rules)) = row.and_then(|row| rules(&row).map(|rules| (row, rules))) else {
        transaction.rollback().await?;
        return Ok(false);
    };
    let next = sqlx::query(NEXT)
        .bind(build.number)
        .bind(row.filled.0)
        .fetch_optional(&mut *transaction)
        .await?
        .map(|row| row.try_get(0).map(Slot))
        .transpose()?;
    let filled = match next {
        Some(from) => {
            let to = Slot(from.0.saturating_add(limits::CUBE_SLOTS));
            fill(&mut transaction, build, &rules, Slots { from, to }).await?;
            to
        }
        None => Slot::END,
    };
    sqlx::query(FILLED)
        .bind(build.number)
        .bind(&cube.zone)
        .bind(filled.0)
        .execute(&mut *transaction)
        .await?;
    stepped(&mut transaction, build.number).await?;
    transaction.commit().await?;
    Ok(filled != Slot::END)
}

/// Adds what began in these slots to their days.
async fn fill(
    transaction: &mut Transaction,
    build: &Build,
    zone: &Zone,
    slots: Slots,
) -> Result<(), StoreError> {
    let mut buckets = Vec::new();
    let mut day = zone.day_of(slots.from.start());
    let mut from = slots.from;
    while from < slots.to {
        let next = day.plus(1);
        let to = Slot::from(zone.start_of(next)).min(slots.to);
        buckets.push((day, Slots { from, to }));
        (day, from) = (next, to.max(from));
    }
    let mut found = Found::new();
    sums(transaction, build.number, &buckets, usize::MAX, &mut found).await?;
    let mut days: BTreeMap<Day, DayCells> = BTreeMap::new();
    for ((day, key), counts) in found {
        days.entry(day).or_default().add(key, &counts);
    }
    add(transaction, build, vec![(zone.name().to_owned(), days)]).await
}

const FOUND: &str = "
select there.zone, there.day, there.cells
from unnest($2::text[], $3::int[]) as wanted (zone, day)
cross join lateral (
  select zone, day, cells
  from rollup_days
  where build = $1
  and zone = wanted.zone
  and day = wanted.day
  offset 0
) as there";

const WRITE: &str = "
insert into rollup_days (workspace_id, build, zone, day, cells)
select $1, $2, day.zone, day.day, day.cells
from unnest($3::text[], $4::int[], $5::text[]) as day (zone, day, cells)
on conflict (build, zone, day) do update
set cells = excluded.cells";

const REMOVE_EMPTY: &str = "
delete from rollup_days
where ctid = any (array(
  select there.ctid
  from unnest($2::text[], $3::int[]) as gone (zone, day)
  cross join lateral (
    select ctid
    from rollup_days
    where build = $1
    and zone = gone.zone
    and day = gone.day
    offset 0
  ) as there))";

/// Adds to the days of cubes, under the lock of the build.
pub async fn add(
    transaction: &mut Transaction,
    build: &Build,
    deltas: Vec<(String, BTreeMap<Day, DayCells>)>,
) -> Result<(), StoreError> {
    let mut days: BTreeMap<(String, Day), DayCells> = BTreeMap::new();
    for (zone, of_zone) in deltas {
        let of_zone = of_zone.into_iter().filter(|(_, cells)| !cells.is_empty());
        days.extend(of_zone.map(|(day, cells)| ((zone.clone(), day), cells)));
    }
    if days.is_empty() {
        return Ok(());
    }
    let (zones, numbers): (Vec<&str>, Vec<i32>) = places(days.keys());
    let found = sqlx::query(FOUND)
        .bind(build.number)
        .bind(zones)
        .bind(numbers)
        .fetch_all(&mut **transaction)
        .await?;
    for row in &found {
        let place = (row.text(0)?, Day(row.small(1)?));
        if let Some(cells) = days.get_mut(&place) {
            cells.merge(&DayCells::parse(&row.text(2)?)?);
        }
    }
    let (gone, kept): (Vec<_>, Vec<_>) = days.iter().partition(|(_, cells)| cells.is_empty());
    if !kept.is_empty() {
        let (zones, numbers): (Vec<&str>, Vec<i32>) = places(kept.iter().map(|(place, _)| *place));
        sqlx::query(WRITE)
            .bind(build.workspace.0)
            .bind(build.number)
            .bind(zones)
            .bind(numbers)
            .bind(
                kept.iter()
                    .map(|(_, cells)| cells.text())
                    .collect::<Vec<_>>(),
            )
            .execute(&mut **transaction)
            .await?;
    }
    if !gone.is_empty() {
        let (zones, numbers): (Vec<&str>, Vec<i32>) = places(gone.iter().map(|(place, _)| *place));
        sqlx::query(REMOVE_EMPTY)
            .bind(build.number)
            .bind(zones)
            .bind(numbers)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

/// Zones and days, side by side.
fn places<'a>(places: impl Iterator<Item = &'a (String, Day)>) -> (Vec<&'a str>, Vec<i32>) {
    places.map(|(zone, day)| (zone.as_str(), day.0)).unzip()
}

pub(in crate::store::postgres) const SQL: &[&str] = &[
    NOTE,
    FORGET_ZONES,
    ZONES,
    BUILDS,
    REMOVE_DAYS,
    REMOVE,
    BEGIN,
    STEPPED,
    OF_BUILD,
    NEXT,
    FILLED,
    FOUND,
    WRITE,
    REMOVE_EMPTY,
];
