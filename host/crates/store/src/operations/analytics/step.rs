//! Steps: a step reads changes from one snapshot, and commits counts, facts and place together,
//! unless another step was faster.

use super::builds::{self, LockedBuilds};
use super::{cubes, remove};
use crate::decide::cubes::may_take_over;
use crate::decide::rollup::{
    BuildPosition, BuildState, Deltas, Fact, FeedChange, Reached, SlotDeltas, by_day, deltas,
    facts, new_keys,
};
use crate::operations::prelude::*;
use crate::row::analytics::{change, fact, key};
use crate::sqlite::threads::End;
use crate::{Build, Stepped};
use leadhost_domain::analytics::{CountKey, MetricSet};

statements! {
    static PLACE: Sql = sql("
select b.state, b.after_us, b.began_us, b.step, coalesce(clock.last_us, 0) as last_us,
  coalesce(clock.forgotten_us, 0) as forgotten_us, feed_now() as now_us
from rollup_builds as b
left join feed_clock as clock
  on clock.workspace_id = b.workspace_id
  and clock.entity = :entity
where b.build = :build
and (b.workspace_id = :workspace) is true");

    // Conversations of test leads do not count, and neither do their tickets. Columns are read by index, in
    // the order of `row::analytics`.
    static CONVERSATIONS: Sql = sql("
select stamp, id, counts, first_message_at, agent_type, agent_id, source, answered_at,
  no_response_at, appointment_at, transferred_at
from (
  select c.cursor_us as stamp, c.id,
    not coalesce(
      (deal.props -> 'test')::text = 'true',
      (c.props -> 'test')::text = 'true',
      false
    ) as counts,
    c.first_message_at, c.agent_type, c.agent_id, c.source, c.answered_at, c.no_response_at,
    c.appointment_at, c.transferred_at
  from conversations as c
  fenced left join deals as deal
    on deal.id = c.deal_id
  where c.workspace_id = :workspace
  and c.cursor_us > :after
  and c.cursor_us <= :clock
  order by c.cursor_us
  limit :limit
) as made
union all
select stamp, id, false, null, null, null, null, null, null, null, null
from (
  select cursor_us as stamp, id
  from tombstones
  where workspace_id = :workspace
  and entity = :entity
  and cursor_us > :after
  and cursor_us <= :clock
  order by cursor_us
  limit :limit
) as gone
order by stamp
limit :limit");

    static TICKETS: Sql = sql("
select stamp, id, counts, opened_at, agent_type, agent_id, source, answered_at, resolved_at
from (
  select t.cursor_us as stamp, t.id,
    not coalesce(
      (deal.props -> 'test')::text = 'true',
      (talk.props -> 'test')::text = 'true',
      false
    ) as counts,
    t.opened_at, t.agent_type, t.agent_id, t.source, t.answered_at, t.resolved_at
  from tickets as t
  fenced left join deals as deal
    on deal.id = t.deal_id
  fenced left join conversations as talk
    on talk.id = t.conversation_id
    and (talk.workspace_id = :workspace) is true                    -- postgres
  where t.workspace_id = :workspace
  and t.cursor_us > :after
  and t.cursor_us <= :clock
  order by t.cursor_us
  limit :limit
) as made
union all
select stamp, id, false, null, null, null, null, null, null
from (
  select cursor_us as stamp, id
  from tombstones
  where workspace_id = :workspace
  and entity = :entity
  and cursor_us > :after
  and cursor_us <= :clock
  order by cursor_us
  limit :limit
) as gone
order by stamp
limit :limit");

    static FACTS: Sql = sql("
each (build number, id uuid)
select fact.id, fact.slot, fact.key, fact.measured
from each
fenced join rollup_facts as fact
  on fact.build = each.build
  and fact.id = each.id
");

    static KEYS: Sql = sql("
each (workspace_id uuid, agent_type text, agent_id number, source text)
select k.key, k.agent_type, k.agent_id, k.source
from each
fenced join rollup_keys as k
  on k.workspace_id = each.workspace_id
  and k.agent_type = each.agent_type
  and k.agent_id = each.agent_id
  and k.source = each.source
");

    static NEW_KEYS: Sql = sql("
each (workspace_id uuid, agent_type text, agent_id number, source text)
insert into rollup_keys (workspace_id, agent_type, agent_id, source)
select workspace_id, agent_type, agent_id, source
from each
where true
on conflict do nothing");

    static WRITE_FACTS: Sql = made(|| schema::ROLLUP_FACTS.insert(&[], OnConflict::Update));

    static REMOVE_FACTS: Sql = made(|| schema::ROLLUP_FACTS.remove_one_by_one(""));

    static ADD: Sql = sql("
each (workspace_id uuid, build number, slot number, key number, count_1 number, count_2 number,
  count_3 number, count_4 number, count_5 number)
insert into rollup_slots as s (workspace_id, build, slot, key, count_1, count_2, count_3, count_4,
  count_5)
select workspace_id, build, slot, key, count_1, count_2, count_3, count_4, count_5
from each
where true
on conflict (build, slot, key) do update
set count_1 = s.count_1 + excluded.count_1, count_2 = s.count_2 + excluded.count_2,
  count_3 = s.count_3 + excluded.count_3, count_4 = s.count_4 + excluded.count_4,
  count_5 = s.count_5 + excluded.count_5");

    static REMOVE_EMPTY: Sql = made(|| {
        let is_empty = " and (count_1, count_2, count_3, count_4, count_5) = (0, 0, 0, 0, 0)";
        schema::ROLLUP_SLOTS.remove_one_by_one(is_empty)
    });

    static ADVANCE: Sql = sql("
update rollup_builds
set after_us = :after, step = step + 1, version = version + :changed
where build = :build");

    static RETIRE: Sql = sql("
update rollup_builds
set state = 'retired', step = step + 1, held = false, held_at = null
where build = :build");

    static SINCE: Sql = sql("
select as_of
from rollup_runs
where metric_set = :metric_set
and as_of > :seen_at");

    static SERVE: Sql = sql("
update rollup_builds
set state = 'serving'
where build = :build");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Reads at most `limit` changes of the feed into the build, including its cubes. A build that
    /// reaches the feed's clock serves from then on, and earlier builds retire. A build that has
    /// missed removals is built again. If the build is retired, a step removes at most `limit` of
    /// its rows of each kind, and finally the build itself.
    pub async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
        let build = *build;
        let limit = match &self.database {
            // Other writers wait for the step.
            Database::Sqlite(_) => limit.clamp(1, limits::ROLLUP_CHANGES_ALONE),
            Database::Postgres(_) => limit.max(1),
        };
        let Some(mut read) = read(&self.database, build, limit).await? else {
            return Ok(Stepped::Done(0));
        };
        let place = read.place;
        if place.state == BuildState::Retired {
            return remove::step(&self.database, &build, limit).await;
        }
        if place.is_idle() {
            return Ok(Stepped::Done(0));
        }
        let new: Vec<CountKey> = new_keys(&read.page, &read.keys)
            .into_iter()
            .cloned()
            .collect();
        if !new.is_empty() {
            let made = make_keys(&self.database, build.workspace, new).await?;
            read.keys.extend(made);
        }
        let deltas = deltas(&read.facts, &facts(&read.page, &read.keys)?);
        let reached = place.reached(&read.page, limit);
        let changes = u64::try_from(read.page.len()).unwrap_or(u64::MAX);
        let seen_at = read.seen_at;
        steps!(self.database.write_or_undo(Of(&[build.workspace])), |tx| {
            let locked = LockedBuilds::lock(tx, &build).await?;
            if locked.get(&build) != Some((place.state, place.step)) {
                return Ok((Stepped::Passed, End::Undo));
            }
            if place.missed_removals() {
                let is_making = place.state == BuildState::Making;
                if is_making {
                    // It has never served, so a new build replaces it.
                    retire(tx, build.number).await?;
                }
                let feeds = builds::feeds(build.set, &[build.workspace]);
                builds::begin_rebuild(tx, &feeds).await?;
                if is_making {
                    return Ok((Stepped::Done(0), End::Commit));
                }
            }
            count(tx, &build, &deltas).await?;
            advance(tx, &build, &deltas, reached).await?;
            let mut is_all = reached.is_all;
            if place.state == BuildState::Making && is_all {
                // The serving counts never go back: a step that was too slow has to read again.
                is_all = !is_outdated(tx, build.set, seen_at).await?;
                if is_all {
                    take_over(tx, &build, locked.serving()).await?;
                }
            }
            let stepped = match is_all {
                true => Stepped::Done(changes),
                false => Stepped::More(changes),
            };
            Ok((stepped, End::Commit))
        })
        .await
    }
}

/// A page of the feed with its known facts and keys, from one snapshot.
struct PageSnapshot {
    place: BuildPosition,
    /// By the store's clock. The snapshot contains everything that was committed before.
    seen_at: Micros,
    page: Vec<FeedChange>,
    facts: HashMap<Uuid, Fact>,
    keys: HashMap<CountKey, i64>,
}

async fn read(
    database: &Database,
    build: Build,
    limit: u32,
) -> Result<Option<PageSnapshot>, StoreError> {
    steps!(database.read_many(Of(&[build.workspace])), |tx| {
        let args = args! {
            build: build.number,
            workspace: build.workspace,
            entity: build.set.entity().code(),
        };
        let found = tx
            .row(&PLACE, &args, |row| {
                Ok((BuildPosition::from_row(row)?, Micros(row.get("now_us")?)))
            })
            .await?;
        let Some((place, seen_at)) = found else {
            return Ok(None);
        };
        let mut read = PageSnapshot {
            place,
            seen_at,
            page: Vec::new(),
            facts: HashMap::new(),
            keys: HashMap::new(),
        };
        if place.state != BuildState::Retired && place.after < place.clock {
            read.page = page(tx, build, place, limit).await?;
            read.facts = known_facts(tx, build, &read.page).await?;
            let counted = read
                .page
                .iter()
                .filter_map(|change| change.counted.as_ref());
            let named: HashSet<&CountKey> = counted.map(|counted| &counted.key).collect();
            let mut named: Vec<&CountKey> = named.into_iter().collect();
            named.sort_unstable();
            read.keys = keys(tx, &by_key(build.workspace, named)).await?;
        }
        Ok(Some(read))
    })
    .await
}

async fn page(
    tx: &mut Tx,
    build: Build,
    place: BuildPosition,
    limit: u32,
) -> Result<Vec<FeedChange>, StoreError> {
    let sql = match build.set {
        MetricSet::Conversations => &CONVERSATIONS,
        MetricSet::Tickets => &TICKETS,
    };
    let args = args! {
        workspace: build.workspace,
        entity: build.set.entity().code(),
        after: place.after,
        clock: place.clock,
        limit,
    };
    tx.rows(sql, &args, |row| change(build.set, row)).await
}

async fn known_facts(
    tx: &mut Tx,
    build: Build,
    page: &[FeedChange],
) -> Result<HashMap<Uuid, Fact>, StoreError> {
    let wanted: Vec<_> = page
        .iter()
        .map(|change| args! { build: build.number, id: change.id })
        .collect();
    let known = tx.rows_each(&FACTS, &wanted, fact).await?;
    Ok(known.into_iter().collect())
}

async fn keys(tx: &mut Tx, wanted: &[[Arg<'_>; 4]]) -> Result<HashMap<CountKey, i64>, StoreError> {
    let known = tx
        .rows_each(&KEYS, wanted, |row| {
            let (number, key) = key(row)?;
            Ok((key, number))
        })
        .await?;
    Ok(known.into_iter().collect())
}

/// Creates keys in a transaction of its own, which has locked nothing else. Both sets of a
/// workspace may create the same keys at once. Because the keys are sorted, one only waits for the
/// other. A key that no step uses later is harmless.
async fn make_keys(
    database: &Database,
    workspace: WorkspaceId,
    mut new: Vec<CountKey>,
) -> Result<HashMap<CountKey, i64>, StoreError> {
    new.sort_unstable();
    steps!(database.write(Of(&[workspace])), |tx| {
        let new = by_key(workspace, &new);
        tx.run_each(&NEW_KEYS, &new).await?;
        keys(tx, &new).await
    })
    .await
}

fn by_key<'k>(
    workspace_id: WorkspaceId,
    keys: impl IntoIterator<Item = &'k CountKey>,
) -> Vec<[Arg<'k>; 4]> {
    let row = |key: &'k CountKey| {
        let (agent_type, agent_id, source) = key.stored();
        args! { workspace_id, agent_type, agent_id, source }
    };
    keys.into_iter().map(row).collect()
}

/// Writes facts, slots, and the days of every cube that covers those slots.
async fn count(tx: &mut Tx, build: &Build, deltas: &Deltas) -> Result<(), StoreError> {
    let written: Vec<_> = deltas
        .facts
        .iter()
        .map(|(id, fact)| {
            args! {
                workspace_id: build.workspace,
                build: build.number,
                id,
                slot: fact.slot.0,
                key: fact.key,
                measured: fact.measured.0,
            }
        })
        .collect();
    tx.run_each(&WRITE_FACTS, &written).await?;
    let gone: Vec<_> = deltas
        .gone
        .iter()
        .map(|id| args! { build: build.number, id })
        .collect();
    tx.run_each(&REMOVE_FACTS, &gone).await?;
    add_slots(tx, build, &deltas.slots).await?;
    let (mut days, mut strange) = (Vec::new(), Vec::new());
    for cube in cubes::cubes_for_build(tx, build.number).await? {
        let Some(rules) = cubes::rules(&cube) else {
            strange.push(cube.zone);
            continue;
        };
        let slots = deltas.slots.iter().map(|(place, counts)| (*place, *counts));
        days.push((cube.zone, by_day(slots, &rules, cube.filled)));
    }
    // Days computed by other rules than this program's cannot be updated.
    cubes::remove(tx, build.number, &strange).await?;
    cubes::add(tx, build, days).await
}

async fn add_slots(tx: &mut Tx, build: &Build, deltas: &SlotDeltas) -> Result<(), StoreError> {
    let (mut added, mut less) = (Vec::new(), Vec::new());
    for ((slot, key), counts) in deltas {
        let [count_1, count_2, count_3, count_4, count_5] = *counts;
        added.push(args! {
            workspace_id: build.workspace,
            build: build.number,
            slot: slot.0,
            key,
            count_1,
            count_2,
            count_3,
            count_4,
            count_5,
        });
        // Only a slot from which something was subtracted can become empty.
        if counts.iter().any(|count| *count < 0) {
            less.push(args! { build: build.number, slot: slot.0, key });
        }
    }
    tx.run_each(&ADD, &added).await?;
    tx.run_each(&REMOVE_EMPTY, &less).await?;
    Ok(())
}

async fn advance(
    tx: &mut Tx,
    build: &Build,
    deltas: &Deltas,
    reached: Reached,
) -> Result<(), StoreError> {
    let args = args! {
        build: build.number,
        after: reached.after,
        changed: i64::from(!deltas.slots.is_empty()),
    };
    tx.run(&ADVANCE, &args).await?;
    Ok(())
}

async fn retire(tx: &mut Tx, build: i64) -> Result<(), StoreError> {
    tx.run(&RETIRE, &args! { build }).await?;
    Ok(())
}

/// Returns whether a run has ended whose as-of is later than this snapshot.
async fn is_outdated(tx: &mut Tx, set: MetricSet, seen_at: Micros) -> Result<bool, StoreError> {
    let args = args! { metric_set: set.code(), seen_at };
    let since = tx.row(&SINCE, &args, |_| Ok(())).await?;
    Ok(since.is_some())
}

/// Replaces the serving build, if this one has the cubes of that one.
async fn take_over(tx: &mut Tx, build: &Build, serving: Option<i64>) -> Result<(), StoreError> {
    if let Some(serving) = serving {
        let own = cubes::cubes_for_build(tx, build.number).await?;
        if !may_take_over(&own, &cubes::cubes_for_build(tx, serving).await?) {
            return Ok(());
        }
        retire(tx, serving).await?;
    }
    tx.run(&SERVE, &args! { build: build.number }).await?;
    Ok(())
}
