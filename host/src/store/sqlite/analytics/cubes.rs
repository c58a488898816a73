//! Cubes of local days: which there are, and how they become whole. What changes
//! in slots that a cube has already is added to it by the steps of its build.

use std::collections::{BTreeMap, HashMap};

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use super::super::db::Db;
use super::super::json;
use crate::domain::analytics::Slot;
use crate::domain::time::Micros;
use crate::domain::zone::{self, Day, Zone};
use crate::limits;
use crate::store::decide::cubes::{self, CubeRow};
use crate::store::decide::rollup::{DayCells, by_day};
use crate::store::row::{Columns as _, analytics};
use crate::store::{Build, Cube, StoreError, ZoneUse};

const NOTE: &str = "
insert into rollup_zones (workspace_id, zone, requests, used_at)
select value ->> 0, value ->> 1, value ->> 2, value ->> 3
from json_each(?1)
where true
on conflict (workspace_id, zone) do update
set requests = requests + excluded.requests, used_at = max(used_at, excluded.used_at)";

pub async fn note_zones(db: &Db, uses: &[ZoneUse]) -> Result<(), StoreError> {
    if uses.is_empty() {
        return Ok(());
    }
    let uses: Vec<_> = uses
        .iter()
        .map(|used| (used.workspace, &used.zone, used.requests, used.used_at.0))
        .collect();
    let mut transaction = db.begin().await?;
    sqlx::query(NOTE)
        .bind(json(&uses)?)
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

const BUILDS: &str = "
select workspace_id, metric_set, build
from rollup_builds
where state <> 'retired'
order by build";

const CUBES: &str = "
select build, zone, tzdata, filled_slot
from rollup_cubes
order by build, zone";

const ZONES: &str = "
select workspace_id, zone, requests, used_at
from rollup_zones";

const FORGET: &str = "
delete from rollup_zones
where used_at <= ?1";

const NEW: &str = "
insert into rollup_cubes (build, zone, tzdata, filled_slot)
select b.build, wanted.value ->> 1, ?2, ?3
from json_each(?1) as wanted
cross join rollup_builds as b
  on b.build = wanted.value ->> 0
where b.state <> 'retired'
on conflict do nothing";

pub async fn due(db: &Db, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let builds = sqlx::query(BUILDS).fetch_all(&mut *snapshot).await?;
    let rows = sqlx::query(CUBES).fetch_all(&mut *snapshot).await?;
    let zones = sqlx::query(ZONES).fetch_all(&mut *snapshot).await?;
    snapshot.rollback().await?;
    drop(connection);
    let mut there: HashMap<i64, Vec<CubeRow>> = HashMap::new();
    for row in &rows {
        let cube = analytics::cube(row)?;
        there.entry(row.number("build")?).or_default().push(cube);
    }
    let builds = builds
        .iter()
        .map(|row| {
            let build = analytics::build(row)?;
            Ok((build, there.remove(&build.number).unwrap_or_default()))
        })
        .collect::<Result<Vec<(Build, Vec<CubeRow>)>, StoreError>>()?;
    let uses = zones
        .iter()
        .map(analytics::zone_use)
        .collect::<Result<Vec<_>, _>>()?;
    let due = cubes::due(&builds, &uses, tzdata, now);
    // One at a time: nobody waits for more than the days of one zone.
    for cube in &due.gone {
        let mut transaction = db.begin().await?;
        remove(&mut transaction.connection, cube.build.number, &cube.zone).await?;
        sqlx::query(TOUCH)
            .bind(cube.build.number)
            .execute(&mut transaction.connection)
            .await?;
        transaction.commit().await?;
    }
    let is_forgotten = uses.iter().any(|used| cubes::is_unused(used, now));
    if is_forgotten || !due.new.is_empty() {
        let new: Vec<_> = due
            .new
            .iter()
            .map(|cube| (cube.build.number, &cube.zone))
            .collect();
        let mut transaction = db.begin().await?;
        sqlx::query(FORGET)
            .bind(now.0.saturating_sub(limits::ZONE_UNUSED_MICROS))
            .execute(&mut transaction.connection)
            .await?;
        sqlx::query(NEW)
            .bind(json(&new)?)
            .bind(tzdata)
            .bind(Slot::BEGINNING.0)
            .execute(&mut transaction.connection)
            .await?;
        transaction.commit().await?;
    }
    Ok(due.making)
}

const REMOVE_DAYS: &str = "
delete from rollup_days
where build = ?1
and zone = ?2";

const REMOVE: &str = "
delete from rollup_cubes
where build = ?1
and zone = ?2";

const TOUCH: &str = "
update rollup_builds
set step = step + 1
where build = ?1";

/// A cube with its days; the build's step changes with it.
pub(super) async fn remove(
    connection: &mut SqliteConnection,
    build: i64,
    zone: &str,
) -> Result<(), StoreError> {
    for sql in [REMOVE_DAYS, REMOVE] {
        sqlx::query(sql)
            .bind(build)
            .bind(zone)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

const PLACE: &str = "
select b.step, c.zone, c.tzdata, c.filled_slot,
  (select min(s.slot) from rollup_slots as s where s.build = c.build and s.slot >= c.filled_slot)
    as next_slot
from rollup_builds as b
join rollup_cubes as c
  on c.build = b.build
  and c.zone = ?2
where b.build = ?1";

const SLOTS: &str = "
select json_group_array(
  json_array(slot, key, count_1, count_2, count_3, count_4, count_5) order by slot, key) as counts
from rollup_slots
where build = ?1
and slot >= ?2
and slot < ?3";

const FILL: &str = "
update rollup_cubes
set filled_slot = ?3
where build = ?1
and zone = ?2";

const SAME: &str = "
update rollup_builds
set step = step + 1
where build = ?1
and step = ?2";

/// A cube of other rules than this program's is left to whoever has them.
pub async fn step(db: &Db, cube: &Cube) -> Result<bool, StoreError> {
    let build = cube.build.number;
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let place = sqlx::query(PLACE)
        .bind(build)
        .bind(&cube.zone)
        .fetch_optional(&mut *snapshot)
        .await?;
    let Some(place) = place else {
        snapshot.rollback().await?;
        return Ok(false);
    };
    let row = analytics::cube(&place)?;
    let rules = Zone::named(&cube.zone).filter(|_| row.tzdata == zone::tzdata());
    let Some(rules) = rules.filter(|_| !row.is_whole()) else {
        snapshot.rollback().await?;
        return Ok(false);
    };
    let next: Option<i64> = place.number_if("next_slot")?;
    let mut days = BTreeMap::new();
    let mut filled = Slot::END;
    if let Some(next) = next.and_then(|next| i32::try_from(next).ok()) {
        filled = Slot(next.saturating_add(limits::CUBE_SLOTS));
        let slots = sqlx::query(SLOTS)
            .bind(build)
            .bind(next)
            .bind(filled.0)
            .fetch_one(&mut *snapshot)
            .await?;
        let slots = analytics::counts(&slots)?;
        let slots = slots
            .into_iter()
            .map(|(slot, key, counts)| ((Slot(slot), key), counts));
        for (day, cells) in by_day(slots, &rules, Slot::END) {
            days.insert((cube.zone.clone(), day), cells);
        }
        merge_known(&mut snapshot, build, &mut days).await?;
    }
    snapshot.rollback().await?;
    drop(connection);
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let same = sqlx::query(SAME)
        .bind(build)
        .bind(place.number::<i64>("step")?)
        .execute(&mut *connection)
        .await?;
    if same.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(true);
    }
    write_days(connection, build, &days).await?;
    sqlx::query(FILL)
        .bind(build)
        .bind(&cube.zone)
        .bind(filled.0)
        .execute(&mut *connection)
        .await?;
    transaction.commit().await?;
    Ok(filled != Slot::END)
}

/// Days of zones, as they are to be.
pub(super) type Days = BTreeMap<(String, Day), DayCells>;

const KNOWN_DAYS: &str = "
select d.zone, d.day, d.cells
from json_each(?2) as wanted
cross join rollup_days as d
  on d.build = ?1
  and d.zone = wanted.value ->> 0
  and d.day = wanted.value ->> 1";

/// Adds what the build has of these days already.
pub(super) async fn merge_known(
    connection: &mut SqliteConnection,
    build: i64,
    days: &mut Days,
) -> Result<(), StoreError> {
    if days.is_empty() {
        return Ok(());
    }
    let wanted: Vec<_> = days.keys().map(|(zone, day)| (zone, day.0)).collect();
    let known = sqlx::query(KNOWN_DAYS)
        .bind(build)
        .bind(json(&wanted)?)
        .fetch_all(connection)
        .await?;
    for row in &known {
        let of = (row.text(0)?, Day(row.small(1)?));
        let cells = DayCells::parse(&row.text(2)?)?;
        if let Some(day) = days.get_mut(&of) {
            day.merge(&cells);
        }
    }
    Ok(())
}

const WRITE_DAYS: &str = "
insert into rollup_days (build, zone, day, cells)
select ?1, value ->> 0, value ->> 1, value ->> 2
from json_each(?2)
where true
on conflict (build, zone, day) do update
set cells = excluded.cells";

const EMPTY_DAYS: &str = "
delete from rollup_days
where build = ?1
and (zone, day) in (select value ->> 0, value ->> 1 from json_each(?2))";

/// An empty day is none.
pub(super) async fn write_days(
    connection: &mut SqliteConnection,
    build: i64,
    days: &Days,
) -> Result<(), StoreError> {
    let (empty, full): (Vec<_>, Vec<_>) = days.iter().partition(|(_, cells)| cells.is_empty());
    let full: Vec<_> = full
        .iter()
        .map(|((zone, day), cells)| (zone, day.0, cells.text()))
        .collect();
    let empty: Vec<_> = empty.iter().map(|((zone, day), _)| (zone, day.0)).collect();
    if !full.is_empty() {
        sqlx::query(WRITE_DAYS)
            .bind(build)
            .bind(json(&full)?)
            .execute(&mut *connection)
            .await?;
    }
    if !empty.is_empty() {
        sqlx::query(EMPTY_DAYS)
            .bind(build)
            .bind(json(&empty)?)
            .execute(connection)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    NOTE,
    BUILDS,
    CUBES,
    ZONES,
    FORGET,
    NEW,
    REMOVE_DAYS,
    REMOVE,
    TOUCH,
    PLACE,
    SLOTS,
    FILL,
    SAME,
    KNOWN_DAYS,
    WRITE_DAYS,
    EMPTY_DAYS,
];
