//! A step: what changed is read from one snapshot, and counts, facts and place
//! are committed together, unless another step was quicker.

use std::collections::{BTreeMap, HashMap, HashSet};

use sqlx::postgres::PgArguments;
use sqlx::postgres::PgConnection;
use sqlx::query::Query;
use uuid::Uuid;

use super::super::columns::{self, text};
use super::super::db::{Db, Rows, Transaction};
use super::builds::{self, Locked};
use super::{clear, cubes};
use crate::domain::analytics::{Counts, Key, MEASURES, MetricSet, Slot};
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::store::decide::cubes::may_take_over;
use crate::store::decide::rollup::{
    BuildState, Change, Deltas, Fact, Place, Reached, SlotDeltas, by_day, deltas, facts, new_keys,
};
use crate::store::row::Columns as _;
use crate::store::row::analytics::{change, fact, key, place};
use crate::store::{Build, Stepped, StoreError};

pub async fn step(db: &Db, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
    let limit = limit.max(1);
    let Some(mut read) = read(db, build, limit).await? else {
        return Ok(Stepped::Done(0));
    };
    let place = read.place;
    if place.state == BuildState::Retired {
        return clear::step(db, build, limit).await;
    }
    if place.is_idle() {
        return Ok(Stepped::Done(0));
    }
    let new = new_keys(&read.page, &read.keys);
    if !new.is_empty() {
        let made = make_keys(db, build.workspace, new).await?;
        read.keys.extend(made);
    }
    let deltas = deltas(&read.facts, &facts(&read.page, &read.keys)?);
    let reached = place.reached(&read.page, limit);
    let mut transaction = db.begin(Rows::Of(&[build.workspace])).await?;
    let locked = Locked::of(&mut transaction, build.workspace, build.set).await?;
    if locked.get(build) != Some((place.state, place.step)) {
        transaction.rollback().await?;
        return Ok(Stepped::Passed);
    }
    let workspace = [build.workspace.0];
    if place.missed_removals() {
        let is_making = place.state == BuildState::Making;
        if is_making {
            // Nobody has seen it: another one begins in its place.
            retire(&mut transaction, build.number).await?;
        }
        builds::begin_anew(&mut transaction, build.set, &workspace).await?;
        if is_making {
            transaction.commit().await?;
            return Ok(Stepped::Done(0));
        }
    }
    count(&mut transaction, build, &deltas).await?;
    advance(&mut transaction, build, &deltas, reached).await?;
    let mut is_all = reached.is_all;
    if place.state == BuildState::Making && is_all {
        // What serves never goes back: who was slow has to look again.
        is_all = !is_outdated(&mut transaction, build.set, read.seen_at).await?;
        if is_all {
            take_over(&mut transaction, build, locked.serving()).await?;
        }
    }
    transaction.commit().await?;
    let changes = u64::try_from(read.page.len()).unwrap_or(u64::MAX);
    Ok(match is_all {
        true => Stepped::Done(changes),
        false => Stepped::More(changes),
    })
}

/// A page of the feed and what is known of it, from one snapshot.
struct Read {
    place: Place,
    /// By the store's clock: everything that was committed before is in it.
    seen_at: Micros,
    page: Vec<Change>,
    facts: HashMap<Uuid, Fact>,
    keys: HashMap<Key, i64>,
}

const PLACE: &str = "
select b.state, b.after_us, b.began_us, b.step, coalesce(clock.last_us, 0) as last_us,
  coalesce(clock.forgotten_us, 0) as forgotten_us, feed_now() as now_us
from rollup_builds as b
left join feed_clock as clock
  on clock.workspace_id = b.workspace_id
  and clock.entity = $3
where b.build = $1
and (b.workspace_id = $2) is true";

// What is said about a test lead does not count, and neither do its tickets. A deal is
// the first of those from it on: only the index of that order leads there, whereas by
// the id alone that of a person would do for a young table, and pass every deal of the
// workspace. Columns are read by place: their order is that of `row::analytics`.
const CONVERSATIONS: &str = "
(
  select c.cursor_us as stamp, c.id,
    not coalesce(deal.is_test, (c.props -> 'test')::text = 'true', false) as counts,
    c.first_message_at, c.agent_type, c.agent_id, c.source, c.answered_at, c.no_response_at,
    c.appointment_at, c.transferred_at
  from conversations as c
  left join lateral (
    select id, (props -> 'test')::text = 'true' as is_test
    from deals
    where workspace_id = $1
    and id >= c.deal_id
    order by id
    limit 1
  ) as deal on deal.id = c.deal_id
  where c.workspace_id = $1
  and c.cursor_us > $3
  and c.cursor_us <= $4
  order by c.cursor_us
  limit $5
)
union all
(
  select cursor_us as stamp, id, false, null, null, null, null, null, null, null, null
  from tombstones
  where workspace_id = $1
  and entity = $2
  and cursor_us > $3
  and cursor_us <= $4
  order by cursor_us
  limit $5
)
order by stamp
limit $5";

const TICKETS: &str = "
(
  select t.cursor_us as stamp, t.id,
    not coalesce(deal.is_test, talk.is_test, false) as counts,
    t.opened_at, t.agent_type, t.agent_id, t.source, t.answered_at, t.resolved_at
  from tickets as t
  left join lateral (
    select id, (props -> 'test')::text = 'true' as is_test
    from deals
    where workspace_id = $1
    and id >= t.deal_id
    order by id
    limit 1
  ) as deal on deal.id = t.deal_id
  left join lateral (
    select (props -> 'test')::text = 'true' as is_test
    from conversations
    where id = t.conversation_id
    and workspace_id = $1
    offset 0
  ) as talk on true
  where t.workspace_id = $1
  and t.cursor_us > $3
  and t.cursor_us <= $4
  order by t.cursor_us
  limit $5
)
union all
(
  select cursor_us as stamp, id, false, null, null, null, null, null, null
  from tombstones
  where workspace_id = $1
  and entity = $2
  and cursor_us > $3
  and cursor_us <= $4
  order by cursor_us
  limit $5
)
order by stamp
limit $5";

const FACTS: &str = "
select fact.id, fact.slot, fact.key, fact.measured::int
from unnest($2::uuid[]) as wanted (id)
cross join lateral (
  select id, slot, key, measured
  from rollup_facts
  where build = $1
  and id = wanted.id
  offset 0
) as fact";

/// `None`: the build is gone.
async fn read(db: &Db, build: &Build, limit: u32) -> Result<Option<Read>, StoreError> {
    let workspace = build.workspace;
    let feed = builds::feed(build.set);
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let found = sqlx::query(PLACE)
        .bind(build.number)
        .bind(workspace.0)
        .bind(feed)
        .fetch_optional(&mut *snapshot)
        .await?;
    let Some(found) = found else {
        snapshot.rollback().await?;
        return Ok(None);
    };
    let mut read = Read {
        place: place(&found)?,
        seen_at: Micros(found.number("now_us")?),
        page: Vec::new(),
        facts: HashMap::new(),
        keys: HashMap::new(),
    };
    let place = read.place;
    if place.state != BuildState::Retired && place.after < place.clock {
        read.page = page(&mut snapshot, build, place, limit).await?;
        let ids: Vec<Uuid> = read.page.iter().map(|change| change.id).collect();
        let known = sqlx::query(FACTS)
            .bind(build.number)
            .bind(ids)
            .fetch_all(&mut *snapshot)
            .await?;
        read.facts = known.iter().map(fact).collect::<Result<_, _>>()?;
        let named = read
            .page
            .iter()
            .filter_map(|change| change.counted.as_ref());
        let named: HashSet<&Key> = named.map(|counted| &counted.key).collect();
        read.keys = keys(&mut snapshot, workspace, &sorted(named)).await?;
    }
    snapshot.rollback().await?;
    Ok(Some(read))
}

async fn page(
    connection: &mut PgConnection,
    build: &Build,
    place: Place,
    limit: u32,
) -> Result<Vec<Change>, StoreError> {
    let sql = match build.set {
        MetricSet::Conversations => CONVERSATIONS,
        MetricSet::Tickets => TICKETS,
    };
    let rows = sqlx::query(sql)
        .bind(build.workspace.0)
        .bind(builds::feed(build.set))
        .bind(place.after)
        .bind(place.clock)
        .bind(i64::from(limit))
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| change(build.set, row)).collect()
}

const KEYS: &str = "
select k.key, k.agent_type, k.agent_id, k.source
from unnest($2::text[], $3::bigint[], $4::text[]) as wanted (agent_type, agent_id, source)
cross join lateral (
  select key, agent_type, agent_id, source
  from rollup_keys
  where workspace_id = $1
  and agent_type = wanted.agent_type
  and agent_id = wanted.agent_id
  and source = wanted.source
  offset 0
) as k";

async fn keys(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    wanted: &[&Key],
) -> Result<HashMap<Key, i64>, StoreError> {
    let rows = by_key(KEYS, workspace, wanted)
        .fetch_all(connection)
        .await?;
    let numbered = |row| key(row).map(|(number, key)| (key, number));
    rows.iter().map(numbered).collect()
}

const NEW_KEYS: &str = "
insert into rollup_keys (workspace_id, agent_type, agent_id, source)
select $1, new.agent_type, new.agent_id, new.source
from unnest($2::text[], $3::bigint[], $4::text[]) as new (agent_type, agent_id, source)
on conflict do nothing";

/// In a transaction of their own, which has locked nothing else: both sets of a
/// workspace may make the same ones at once, and in their order they only wait for
/// each other. One that no step comes to use harms nothing.
async fn make_keys(
    db: &Db,
    workspace: WorkspaceId,
    new: Vec<&Key>,
) -> Result<HashMap<Key, i64>, StoreError> {
    let new = sorted(new);
    let mut transaction = db.begin(Rows::Of(&[workspace])).await?;
    by_key(NEW_KEYS, workspace, &new)
        .execute(&mut *transaction)
        .await?;
    let made = keys(&mut transaction, workspace, &new).await?;
    transaction.commit().await?;
    Ok(made)
}

fn sorted<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<&'a Key> {
    let mut keys: Vec<&Key> = keys.into_iter().collect();
    keys.sort_unstable();
    keys
}

fn by_key(
    sql: &'static str,
    workspace: WorkspaceId,
    keys: &[&Key],
) -> Query<'static, sqlx::Postgres, PgArguments> {
    let stored = || keys.iter().map(|key| key.stored());
    let texts = |of: fn((&str, i64, &str)) -> String| stored().map(of).collect::<Vec<_>>();
    sqlx::query(sql)
        .bind(workspace.0)
        .bind(texts(|(agent_type, _, _)| text(agent_type).into_owned()))
        .bind(stored().map(|(_, agent, _)| agent).collect::<Vec<_>>())
        .bind(texts(|(_, _, source)| text(source).into_owned()))
}

const WRITE_FACTS: &str = "
insert into rollup_facts (workspace_id, build, id, slot, key, measured)
select $1, $2, fact.id, fact.slot, fact.key, fact.measured
from unnest($3::uuid[], $4::int[], $5::bigint[], $6::smallint[])
  as fact (id, slot, key, measured)
on conflict (build, id) do update
set slot = excluded.slot, key = excluded.key, measured = excluded.measured";

const REMOVE_FACTS: &str = "
delete from rollup_facts
where ctid = any (array(
  select fact.ctid
  from unnest($2::uuid[]) as gone (id)
  cross join lateral (
    select ctid
    from rollup_facts
    where build = $1
    and id = gone.id
    offset 0
  ) as fact))";

const ADD: &str = "
insert into rollup_slots as s (workspace_id, build, slot, key, count_1, count_2, count_3, count_4,
  count_5)
select $1, $2, delta.*
from unnest($3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::bigint[]) as delta
on conflict (build, slot, key) do update
set count_1 = s.count_1 + excluded.count_1, count_2 = s.count_2 + excluded.count_2,
  count_3 = s.count_3 + excluded.count_3, count_4 = s.count_4 + excluded.count_4,
  count_5 = s.count_5 + excluded.count_5";

const REMOVE_EMPTY: &str = "
delete from rollup_slots
where ctid = any (array(
  select slot.ctid
  from unnest($2::int[], $3::bigint[]) as wanted (slot, key)
  cross join lateral (
    select ctid
    from rollup_slots
    where build = $1
    and slot = wanted.slot
    and key = wanted.key
    and (count_1, count_2, count_3, count_4, count_5) = (0, 0, 0, 0, 0)
    offset 0
  ) as slot))";

/// Facts, slots, and the days of every cube that has those slots.
async fn count(
    transaction: &mut Transaction,
    build: &Build,
    deltas: &Deltas,
) -> Result<(), StoreError> {
    if !deltas.facts.is_empty() {
        let of = |fact: fn(&(Uuid, Fact)) -> i64| deltas.facts.iter().map(fact).collect::<Vec<_>>();
        let slots = deltas.facts.iter().map(|(_, fact)| fact.slot.0);
        let measured = deltas
            .facts
            .iter()
            .map(|(_, fact)| i16::from(fact.measured.0));
        sqlx::query(WRITE_FACTS)
            .bind(build.workspace.0)
            .bind(build.number)
            .bind(deltas.facts.iter().map(|(id, _)| *id).collect::<Vec<_>>())
            .bind(slots.collect::<Vec<_>>())
            .bind(of(|(_, fact)| fact.key))
            .bind(measured.collect::<Vec<_>>())
            .execute(&mut **transaction)
            .await?;
    }
    if !deltas.gone.is_empty() {
        sqlx::query(REMOVE_FACTS)
            .bind(build.number)
            .bind(&deltas.gone)
            .execute(&mut **transaction)
            .await?;
    }
    if !deltas.slots.is_empty() {
        add_slots(transaction, build, &deltas.slots).await?;
    }
    let (mut days, mut strange) = (Vec::new(), Vec::new());
    for cube in cubes::of(transaction, build.number).await? {
        let Some(rules) = cubes::rules(&cube) else {
            strange.push(cube.zone);
            continue;
        };
        let slots = deltas.slots.iter().map(|(place, counts)| (*place, *counts));
        days.push((cube.zone, by_day(slots, &rules, cube.filled)));
    }
    // Days by other rules than this program's cannot be kept up.
    cubes::remove(transaction, build.number, &strange).await?;
    cubes::add(transaction, build, days).await
}

async fn add_slots(
    transaction: &mut Transaction,
    build: &Build,
    deltas: &SlotDeltas,
) -> Result<(), StoreError> {
    let (slots, keys) = places(deltas.keys());
    let mut add = sqlx::query(ADD)
        .bind(build.workspace.0)
        .bind(build.number)
        .bind(slots)
        .bind(keys);
    for place in 0..MEASURES {
        let counts: Vec<i64> = deltas.values().map(|counts| counts[place]).collect();
        add = add.bind(counts);
    }
    add.execute(&mut **transaction).await?;
    let is_less = |counts: &Counts| counts.iter().any(|count| *count < 0);
    let less: BTreeMap<_, _> = deltas
        .iter()
        .filter(|(_, counts)| is_less(counts))
        .collect();
    if !less.is_empty() {
        let (slots, keys) = places(less.into_keys());
        sqlx::query(REMOVE_EMPTY)
            .bind(build.number)
            .bind(slots)
            .bind(keys)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

fn places<'a>(places: impl Iterator<Item = &'a (Slot, i64)>) -> (Vec<i32>, Vec<i64>) {
    places.map(|(slot, key)| (slot.0, *key)).unzip()
}

const ADVANCE: &str = "
update rollup_builds
set after_us = $2, step = step + 1, version = version + $3
where build = $1";

async fn advance(
    transaction: &mut Transaction,
    build: &Build,
    deltas: &Deltas,
    reached: Reached,
) -> Result<(), StoreError> {
    sqlx::query(ADVANCE)
        .bind(build.number)
        .bind(reached.after)
        .bind(i64::from(!deltas.slots.is_empty()))
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

const RETIRE: &str = "
update rollup_builds
set state = 'retired', step = step + 1, held = false, held_at = null
where build = $1";

async fn retire(transaction: &mut Transaction, build: i64) -> Result<(), StoreError> {
    sqlx::query(RETIRE)
        .bind(build)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

const SINCE: &str = "
select 1
from rollup_runs
where metric_set = $1
and as_of > $2";

/// Whether a run has ended that counts what was not there yet at this moment.
async fn is_outdated(
    transaction: &mut Transaction,
    set: MetricSet,
    seen_at: Micros,
) -> Result<bool, StoreError> {
    let since = sqlx::query(SINCE)
        .bind(builds::code(set))
        .bind(columns::at(seen_at))
        .fetch_optional(&mut **transaction)
        .await?;
    Ok(since.is_some())
}

const SERVE: &str = "
update rollup_builds
set state = 'serving'
where build = $1";

/// Serves instead of the one before, if it has the cubes of that one.
async fn take_over(
    transaction: &mut Transaction,
    build: &Build,
    serving: Option<i64>,
) -> Result<(), StoreError> {
    if let Some(serving) = serving {
        let own = cubes::of(transaction, build.number).await?;
        if !may_take_over(&own, &cubes::of(transaction, serving).await?) {
            return Ok(());
        }
        retire(transaction, serving).await?;
    }
    sqlx::query(SERVE)
        .bind(build.number)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

pub(in crate::store::postgres) const SQL: &[&str] = &[
    PLACE,
    CONVERSATIONS,
    TICKETS,
    FACTS,
    KEYS,
    NEW_KEYS,
    WRITE_FACTS,
    REMOVE_FACTS,
    ADD,
    REMOVE_EMPTY,
    ADVANCE,
    RETIRE,
    SINCE,
    SERVE,
];
