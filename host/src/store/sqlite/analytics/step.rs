//! A step of a build: a page of the feed is read and compared with what was counted,
//! and what follows from it is written, all of it or nothing.

use std::collections::HashMap;

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use uuid::Uuid;

use super::super::db::Db;
use super::super::json;
use super::{clear, code, cubes, feed, run};
use crate::domain::analytics::{Key, MetricSet};
use crate::domain::zone::{self, Zone};
use crate::limits;
use crate::store::decide::cubes::{CubeRow, may_take_over};
use crate::store::decide::rollup::{
    BuildState, Change, Deltas, Fact, Place, by_day, deltas, facts, new_keys,
};
use crate::store::row::analytics;
use crate::store::{Build, Stepped, StoreError};

pub async fn step(db: &Db, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
    let limit = limit.clamp(1, limits::ROLLUP_CHANGES_ALONE);
    let Some(mut place) = place_of(db, build).await? else {
        return Ok(Stepped::Done(0));
    };
    if place.state == BuildState::Retired {
        return clear::step(db, build, limit).await;
    }
    let missed = place.missed_removals();
    if missed {
        if !begin_anew(db, build, &place).await? {
            return Ok(Stepped::Passed);
        }
        if place.state == BuildState::Making {
            return Ok(Stepped::Done(0));
        }
    }
    if place.is_idle() {
        return Ok(Stepped::Done(0));
    }
    let read = loop {
        let Some(read) = read(db, build, limit).await? else {
            return Ok(Stepped::Done(0));
        };
        place = read.place;
        let missing = new_keys(&read.page, &read.keys);
        if missing.is_empty() {
            break read;
        }
        // A key is a workspace's for good: it does not matter what becomes of the step.
        add_keys(db, build, &missing).await?;
    };
    // Removals that were forgotten since the first look are missing from the page.
    let has_missed = place.missed_removals() && !missed;
    if place.state == BuildState::Retired || has_missed {
        return Ok(Stepped::Passed);
    }
    write(db, build, &read).await
}

const PLACE: &str = "
select b.state, b.after_us, b.began_us, b.step, coalesce(c.last_us, 0) as last_us,
  coalesce(c.forgotten_us, 0) as forgotten_us
from rollup_builds as b
left join feed_clock as c
  on c.workspace_id = b.workspace_id
  and c.entity = ?2
where b.build = ?1";

async fn place_of(db: &Db, build: &Build) -> Result<Option<Place>, StoreError> {
    let mut connection = db.readers().acquire().await?;
    read_place(&mut connection, build).await
}

async fn read_place(
    connection: &mut SqliteConnection,
    build: &Build,
) -> Result<Option<Place>, StoreError> {
    let row = sqlx::query(PLACE)
        .bind(build.number)
        .bind(feed(build.set))
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(analytics::place).transpose()
}

const GIVE_UP: &str = "
update rollup_builds
set state = 'retired', step = step + 1
where build = ?1
and step = ?2";

/// Another build begins, if none is being made: this one has counted what may be
/// gone. One that is being made is of no use any more. False: somebody was quicker.
async fn begin_anew(db: &Db, build: &Build, place: &Place) -> Result<bool, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    if place.state == BuildState::Making {
        let given_up = sqlx::query(GIVE_UP)
            .bind(build.number)
            .bind(place.step)
            .execute(&mut *connection)
            .await?;
        if given_up.rows_affected() == 0 {
            transaction.rollback().await?;
            return Ok(false);
        }
    }
    let workspace = Some(build.workspace);
    run::make(connection, build.set, workspace, false).await?;
    transaction.commit().await?;
    Ok(true)
}

/// What a step stands on, of one snapshot.
struct Read {
    place: Place,
    page: Vec<Change>,
    limit: u32,
    keys: HashMap<Key, i64>,
    before: HashMap<Uuid, Fact>,
    deltas: Deltas,
    /// Of other rules than this program's: they cannot be kept up.
    strange: Vec<CubeRow>,
    days: cubes::Days,
    /// It can serve as soon as it has read everything.
    is_ready: bool,
}

// What is said about a test lead does not count, and neither do its tickets.
const CONVERSATIONS: &str = "
select c.cursor_us as stamp, c.id, coalesce(d.props -> 'test', c.props -> 'test', 'false') <> 'true' as counts,
  c.first_message_at, c.agent_type, c.agent_id, c.source, c.answered_at, c.no_response_at,
  c.appointment_at, c.transferred_at
from conversations as c
left join deals as d on d.id = c.deal_id
where c.workspace_id = ?1
and c.cursor_us > ?3
union all
select cursor_us as stamp, id, false, null, null, null, null, null, null, null, null
from tombstones
where workspace_id = ?1
and entity = ?2
and cursor_us > ?3
order by stamp
limit ?4";

const TICKETS: &str = "
select t.cursor_us as stamp, t.id, coalesce(d.props -> 'test', c.props -> 'test', 'false') <> 'true' as counts,
  t.opened_at, t.agent_type, t.agent_id, t.source, t.answered_at, t.resolved_at
from tickets as t
left join deals as d on d.id = t.deal_id
left join conversations as c on c.id = t.conversation_id
where t.workspace_id = ?1
and t.cursor_us > ?3
union all
select cursor_us as stamp, id, false, null, null, null, null, null, null
from tombstones
where workspace_id = ?1
and entity = ?2
and cursor_us > ?3
order by stamp
limit ?4";

async fn read(db: &Db, build: &Build, limit: u32) -> Result<Option<Read>, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let read = read_in(&mut snapshot, build, limit).await?;
    snapshot.rollback().await?;
    Ok(read)
}

/// None: the build is no more.
async fn read_in(
    snapshot: &mut SqliteConnection,
    build: &Build,
    limit: u32,
) -> Result<Option<Read>, StoreError> {
    let Some(place) = read_place(snapshot, build).await? else {
        return Ok(None);
    };
    let sql = match build.set {
        MetricSet::Conversations => CONVERSATIONS,
        MetricSet::Tickets => TICKETS,
    };
    let page = sqlx::query(sql)
        .bind(build.workspace.to_string())
        .bind(feed(build.set))
        .bind(place.after)
        .bind(i64::from(limit))
        .fetch_all(&mut *snapshot)
        .await?;
    let page = page
        .iter()
        .map(|row| analytics::change(build.set, row))
        .collect::<Result<Vec<_>, _>>()?;
    let mut read = Read {
        keys: known_keys(snapshot, build, &page).await?,
        before: known_facts(snapshot, build, &page).await?,
        place,
        page,
        limit,
        deltas: Deltas::default(),
        strange: Vec::new(),
        days: cubes::Days::new(),
        is_ready: false,
    };
    if !new_keys(&read.page, &read.keys).is_empty() {
        return Ok(Some(read));
    }
    read.deltas = deltas(&read.before, &facts(&read.page, &read.keys)?);
    let own = own_cubes(snapshot, build).await?;
    if place.state == BuildState::Making {
        read.is_ready = may_take_over(&own, &serving_cubes(snapshot, build).await?);
    }
    for cube in own {
        let rules = Zone::named(&cube.zone).filter(|_| cube.tzdata == zone::tzdata());
        let Some(rules) = rules else {
            read.strange.push(cube);
            continue;
        };
        let slots = read.deltas.slots.iter().map(|(at, counts)| (*at, *counts));
        for (day, cells) in by_day(slots, &rules, cube.filled) {
            read.days.insert((cube.zone.clone(), day), cells);
        }
    }
    cubes::merge_known(snapshot, build.number, &mut read.days).await?;
    Ok(Some(read))
}

const KEYS: &str = "
select k.key, k.agent_type, k.agent_id, k.source
from json_each(?2) as wanted
cross join rollup_keys as k
  on k.workspace_id = ?1
  and k.agent_type = wanted.value ->> 0
  and k.agent_id = wanted.value ->> 1
  and k.source = wanted.value ->> 2";

async fn known_keys(
    connection: &mut SqliteConnection,
    build: &Build,
    page: &[Change],
) -> Result<HashMap<Key, i64>, StoreError> {
    let none = HashMap::new();
    let wanted = new_keys(page, &none);
    if wanted.is_empty() {
        return Ok(none);
    }
    let wanted: Vec<_> = wanted.into_iter().map(Key::stored).collect();
    let known = sqlx::query(KEYS)
        .bind(build.workspace.to_string())
        .bind(json(&wanted)?)
        .fetch_all(connection)
        .await?;
    known
        .iter()
        .map(|row| analytics::key(row).map(|(number, key)| (key, number)))
        .collect()
}

const ADD_KEYS: &str = "
insert into rollup_keys (workspace_id, agent_type, agent_id, source)
select ?1, value ->> 0, value ->> 1, value ->> 2
from json_each(?2)
where true
on conflict do nothing";

async fn add_keys(db: &Db, build: &Build, missing: &[&Key]) -> Result<(), StoreError> {
    let missing: Vec<_> = missing.iter().map(|key| key.stored()).collect();
    let mut transaction = db.begin().await?;
    sqlx::query(ADD_KEYS)
        .bind(build.workspace.to_string())
        .bind(json(&missing)?)
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

const FACTS: &str = "
select f.id, f.slot, f.key, f.measured
from json_each(?2) as wanted
cross join rollup_facts as f
  on f.build = ?1
  and f.id = wanted.value";

async fn known_facts(
    connection: &mut SqliteConnection,
    build: &Build,
    page: &[Change],
) -> Result<HashMap<Uuid, Fact>, StoreError> {
    if page.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = page.iter().map(|change| change.id).collect();
    let known = sqlx::query(FACTS)
        .bind(build.number)
        .bind(json(&ids)?)
        .fetch_all(connection)
        .await?;
    known.iter().map(analytics::fact).collect()
}

const OWN_CUBES: &str = "
select zone, tzdata, filled_slot
from rollup_cubes
where build = ?1";

async fn own_cubes(
    connection: &mut SqliteConnection,
    build: &Build,
) -> Result<Vec<CubeRow>, StoreError> {
    let cubes = sqlx::query(OWN_CUBES)
        .bind(build.number)
        .fetch_all(connection)
        .await?;
    cubes.iter().map(analytics::cube).collect()
}

const SERVING_CUBES: &str = "
select c.zone, c.tzdata, c.filled_slot
from rollup_builds as b
join rollup_cubes as c on c.build = b.build
where b.workspace_id = ?1
and b.metric_set = ?2
and b.state = 'serving'";

async fn serving_cubes(
    connection: &mut SqliteConnection,
    build: &Build,
) -> Result<Vec<CubeRow>, StoreError> {
    let cubes = sqlx::query(SERVING_CUBES)
        .bind(build.workspace.to_string())
        .bind(code(build.set))
        .fetch_all(connection)
        .await?;
    cubes.iter().map(analytics::cube).collect()
}

const ADVANCE: &str = "
update rollup_builds
set after_us = ?3, step = step + 1, version = version + ?4
where build = ?1
and step = ?2";

const RETIRE: &str = "
update rollup_builds
set state = 'retired', step = step + 1
where workspace_id = ?1
and metric_set = ?2
and state = 'serving'";

// It has just read everything there is.
const SERVE: &str = "
update rollup_builds
set state = 'serving', held = 0, held_at = null
where build = ?1";

async fn write(db: &Db, build: &Build, read: &Read) -> Result<Stepped, StoreError> {
    let reached = read.place.reached(&read.page, read.limit);
    let changes = u64::try_from(read.page.len()).unwrap_or(u64::MAX);
    let stepped = match reached.is_all {
        true => Stepped::Done(changes),
        false => Stepped::More(changes),
    };
    let serves = reached.is_all && read.is_ready;
    if reached.after == read.place.after && !serves {
        return Ok(stepped);
    }
    let counts_change = !read.deltas.slots.is_empty();
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let advanced = sqlx::query(ADVANCE)
        .bind(build.number)
        .bind(read.place.step)
        .bind(reached.after)
        .bind(counts_change)
        .execute(&mut *connection)
        .await?;
    if advanced.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(Stepped::Passed);
    }
    write_facts(connection, build.number, &read.deltas).await?;
    write_slots(connection, build.number, &read.deltas).await?;
    cubes::write_days(connection, build.number, &read.days).await?;
    for cube in &read.strange {
        cubes::remove(connection, build.number, &cube.zone).await?;
    }
    if serves {
        sqlx::query(RETIRE)
            .bind(build.workspace.to_string())
            .bind(code(build.set))
            .execute(&mut *connection)
            .await?;
        sqlx::query(SERVE)
            .bind(build.number)
            .execute(&mut *connection)
            .await?;
    }
    transaction.commit().await?;
    Ok(stepped)
}

const WRITE_FACTS: &str = "
insert into rollup_facts (build, id, slot, key, measured)
select ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3
from json_each(?2)
where true
on conflict (build, id) do update
set slot = excluded.slot, key = excluded.key, measured = excluded.measured";

const REMOVE_FACTS: &str = "
delete from rollup_facts
where build = ?1
and id in (select value from json_each(?2))";

async fn write_facts(
    connection: &mut SqliteConnection,
    build: i64,
    deltas: &Deltas,
) -> Result<(), StoreError> {
    if !deltas.facts.is_empty() {
        let facts: Vec<_> = deltas
            .facts
            .iter()
            .map(|(id, fact)| (id, fact.slot.0, fact.key, fact.measured.0))
            .collect();
        sqlx::query(WRITE_FACTS)
            .bind(build)
            .bind(json(&facts)?)
            .execute(&mut *connection)
            .await?;
    }
    if !deltas.gone.is_empty() {
        sqlx::query(REMOVE_FACTS)
            .bind(build)
            .bind(json(&deltas.gone)?)
            .execute(connection)
            .await?;
    }
    Ok(())
}

const ADD_SLOTS: &str = "
insert into rollup_slots (build, slot, key, count_1, count_2, count_3, count_4, count_5)
select ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
from json_each(?2)
where true
on conflict (build, slot, key) do update
set count_1 = count_1 + excluded.count_1, count_2 = count_2 + excluded.count_2,
  count_3 = count_3 + excluded.count_3, count_4 = count_4 + excluded.count_4,
  count_5 = count_5 + excluded.count_5";

const EMPTY_SLOTS: &str = "
delete from rollup_slots
where build = ?1
and (slot, key) in (select value ->> 0, value ->> 1 from json_each(?2))
and (count_1, count_2, count_3, count_4, count_5) = (0, 0, 0, 0, 0)";

async fn write_slots(
    connection: &mut SqliteConnection,
    build: i64,
    deltas: &Deltas,
) -> Result<(), StoreError> {
    if deltas.slots.is_empty() {
        return Ok(());
    }
    let slots: Vec<_> = deltas
        .slots
        .iter()
        .map(|((slot, key), [a, b, c, d, e])| (slot.0, key, a, b, c, d, e))
        .collect();
    sqlx::query(ADD_SLOTS)
        .bind(build)
        .bind(json(&slots)?)
        .execute(&mut *connection)
        .await?;
    // Only where something was taken away nothing may be left.
    let fewer: Vec<_> = deltas
        .slots
        .iter()
        .filter(|(_, counts)| counts.iter().any(|count| *count < 0))
        .map(|((slot, key), _)| (slot.0, key))
        .collect();
    if !fewer.is_empty() {
        sqlx::query(EMPTY_SLOTS)
            .bind(build)
            .bind(json(&fewer)?)
            .execute(connection)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    PLACE,
    GIVE_UP,
    CONVERSATIONS,
    TICKETS,
    KEYS,
    ADD_KEYS,
    FACTS,
    OWN_CUBES,
    SERVING_CUBES,
    ADVANCE,
    RETIRE,
    SERVE,
    WRITE_FACTS,
    REMOVE_FACTS,
    ADD_SLOTS,
    EMPTY_SLOTS,
];
