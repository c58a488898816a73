//! Rollups with several hosts on one database: they step the same builds at the
//! same time, are cut in the middle, and meet batches of leads. Everything is
//! counted once, the same in every table, and for its own workspace only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leadhost_domain::analytics::{CountKey, MeasureCounts, MetricSet, TimeSlot, add};
use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_domain::id::AgentId;
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;
use leadhost_domain::zone::{self, Zone};
use leadhost_store::*;
use leadhost_tests::postgres::Database;
use leadhost_tests::{On, until};
use sqlx::{Executor as _, Row as _};

use super::super::messages::{accepted, line, notified, sent, stored, urgent};
use super::super::two_hosts::{rows, two_hosts};
use super::super::world::World;
use super::{deadlocks, run};

const SET: MetricSet = MetricSet::Conversations;

/// The changes of one step: so few that there are many steps.
const STEP: u32 = 7;

/// Begins conversations of new people: one batch for the conversations and one
/// for their first messages.
async fn talk(world: &World, host: &Store, round: usize, many: usize) {
    let new = |number: usize| {
        let to = format!("+55119{round:04}{number:04}");
        let mut new = urgent(world, &to);
        new.details.source = Some(format!("source {}", number % 3));
        Write::Notify(Box::new(new))
    };
    let new: Vec<Write> = (0..many).map(new).collect();
    let written = host.commit(&new).await.expect("it commits");
    let settle = |(number, written): (usize, WriteOutcome)| {
        let message = stored(notified(written)).message;
        let outcome = accepted(world, &format!("{round}-{number}"));
        sent(line(world), message, 0, outcome)
    };
    let settled: Vec<Write> = written.into_iter().enumerate().map(settle).collect();
    host.commit(&settled).await.expect("it commits");
}

/// Counts a whole run, as the job does.
async fn count(host: &Store, limit: u32) -> Result<(), StoreError> {
    let run = host.rollup_begin(SET).await?;
    let mut changes = 0;
    for build in &run.builds {
        loop {
            match host.rollup_step(build, limit).await? {
                Stepped::More(read) => changes += read,
                Stepped::Done(read) => {
                    changes += read;
                    break;
                }
                Stepped::Passed => {}
            }
        }
    }
    host.rollup_end(SET, &run, &[], changes).await
}

/// Fills the cubes.
async fn fill(host: &Store) -> Result<(), StoreError> {
    for cube in host.cubes_due(zone::tzdata(), SystemClock.now()).await? {
        while host.cube_step(&cube).await? {}
    }
    Ok(())
}

/// The counts by key, from the cube or from slots.
async fn counted(world: &World, of_cube: bool) -> BTreeMap<CountKey, MeasureCounts> {
    let zone = Zone::named(zone::DEFAULT).expect("a zone");
    let today = zone.day_of(SystemClock.now());
    let days = (today.plus(-3), today.plus(3));
    let all = Slots {
        from: TimeSlot::from(zone.start_of(days.0)),
        to: TimeSlot::from(zone.start_of(days.1)),
    };
    let query = CellQuery {
        set: SET,
        zone: zone::DEFAULT,
        tzdata: if of_cube { zone::tzdata() } else { "none" },
        days,
        edges: Vec::new(),
        buckets: vec![(days.0, all)],
    };
    let found = world.rollup_cells(&world.scope, &query).await.unwrap();
    assert_eq!(found.of_cube, of_cube);
    let keys: BTreeMap<i64, CountKey> = found.keys.into_iter().collect();
    let mut sums = BTreeMap::<CountKey, MeasureCounts>::new();
    for cell in found.cells {
        assert!(cell.day < days.1 && cell.day >= days.0, "{cell:?}");
        add(
            sums.entry(keys[&cell.key].clone()).or_default(),
            &cell.counts,
            1,
        );
    }
    sums
}

/// The same from the export.
async fn expected(world: &World) -> BTreeMap<CountKey, MeasureCounts> {
    let mut sums = BTreeMap::<CountKey, MeasureCounts>::new();
    for row in rows(world, Entity::Conversations).await {
        let has = |field: &str| i64::from(!row[field].is_null());
        if has("first_message_at") == 0 {
            continue;
        }
        let key = CountKey {
            agent_type: row["agent_type"].as_str().map(str::to_owned),
            agent: row["agent_id"].as_i64().map(AgentId),
            source: row["source"].as_str().map(str::to_owned),
        };
        let counts = [
            1,
            has("answered_at"),
            has("no_response_at"),
            has("appointment_at"),
            has("transferred_at"),
        ];
        add(sums.entry(key).or_default(), &counts, 1);
    }
    sums
}

async fn all_is_counted(world: &World) {
    let expected = expected(world).await;
    assert_eq!(counted(world, false).await, expected);
    assert_eq!(counted(world, true).await, expected);
    let sum = |place: usize| expected.values().map(|counts| counts[place]).sum::<i64>();
    let mut owner = database(world).connect().await;
    let facts = "select count(*) from leadhost.rollup_facts as f
      join leadhost.rollup_builds as b on b.build = f.build
      where b.state = 'serving'
      and b.metric_set = 1";
    let facts = sqlx::query(facts).fetch_one(&mut owner).await;
    assert_eq!(facts.expect("it counts").get::<i64, _>(0), sum(0));
}

fn database(world: &World) -> &Database {
    match &world.on {
        On::Postgres(database) => database,
        _ => unreachable!("these are on PostgreSQL"),
    }
}

async fn as_of(world: &World) -> Option<Micros> {
    let state = world.rollup_state(&world.scope, SET).await;
    state.expect("it reads").as_of
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_step_at_once_count_everything_once() {
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    const ROUNDS: usize = 12;
    const MANY: usize = 20;
    let is_over = Arc::new(AtomicBool::new(false));
    let counters: Vec<_> = hosts
        .iter()
        .enumerate()
        .map(|(number, host)| {
            let (host, is_over) = (Arc::clone(host), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut runs = 0;
                while !is_over.load(Ordering::SeqCst) {
                    if runs % 5 == 4 {
                        host.rollup_rebuild(SET, None).await.expect("it begins");
                    }
                    let limit = STEP + u32::try_from(number).expect("few");
                    count(&host, limit).await.expect("no run ends badly");
                    fill(&host).await.expect("no cube ends badly");
                    runs += 1;
                }
                runs
            })
        })
        .collect();
    let watching = tokio::spawn({
        let (world, is_over) = (Arc::clone(&world), Arc::clone(&is_over));
        async move {
            let mut last = None;
            while !is_over.load(Ordering::SeqCst) {
                let now = as_of(&world).await;
                assert!(now >= last, "{now:?} after {last:?}");
                last = now;
                tokio::task::yield_now().await;
            }
        }
    });
    for round in 0..ROUNDS {
        talk(&world, &hosts[round % 2], round, MANY).await;
    }
    is_over.store(true, Ordering::SeqCst);
    for counter in counters {
        assert!(counter.await.expect("it ends") > 0);
    }
    watching.await.expect("it never goes back");
    let before = SystemClock.now();
    count(&hosts[0], 1_000).await.expect("it counts");
    fill(&hosts[0]).await.expect("it fills");
    assert!(as_of(&world).await.is_some_and(|as_of| as_of >= before));
    let all: i64 = expected(&world)
        .await
        .values()
        .map(|counts| counts[0])
        .sum();
    assert_eq!(all, i64::try_from(ROUNDS * MANY).expect("few"));
    all_is_counted(&world).await;
    assert_eq!(deadlocks(&world).await, 0);
}

// Only of this database: hosts of other tests are left alone.
const CUT: &str = "
select pg_terminate_backend(pid)
from pg_stat_activity
where datname = current_database()
and application_name = 'leadhost'
and state <> 'idle'
order by random()
limit 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_whose_connection_is_cut_is_committed_completely_or_not_at_all() {
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    for round in 0..8 {
        talk(&world, &hosts[0], round, 25).await;
    }
    let mut knife = database(&world).connect_as_admin().await;
    let is_over = Arc::new(AtomicBool::new(false));
    let cutting = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            let mut cuts = 0;
            while !is_over.load(Ordering::SeqCst) {
                cuts += knife.execute(CUT).await.expect("it may").rows_affected();
                tokio::task::yield_now().await;
            }
            cuts
        }
    });
    let (mut whole, mut cut) = (0, 0);
    while cut < 60 {
        hosts[0].rollup_rebuild(SET, None).await.ok();
        for host in &hosts {
            for done in [count(host, STEP).await, fill(host).await] {
                match done {
                    Ok(()) => whole += 1,
                    Err(_) => cut += 1,
                }
            }
        }
    }
    is_over.store(true, Ordering::SeqCst);
    assert!(
        cutting.await.expect("it ends") > 20,
        "{whole} runs were whole"
    );
    until("the database is reached again", async || {
        count(&hosts[1], STEP).await.ok()?;
        fill(&hosts[1]).await.ok()
    })
    .await;
    // The build in progress takes over, and retired ones are removed.
    until("only the serving build is left", async || {
        count(&hosts[1], 100).await.ok()?;
        fill(&hosts[1]).await.ok()?;
        let mut owner = database(&world).connect().await;
        let others = "select count(*) from leadhost.rollup_builds where state <> 'serving'";
        let others = sqlx::query(others).fetch_one(&mut owner).await.ok()?;
        (others.get::<i64, _>(0) == 0).then_some(())
    })
    .await;
    all_is_counted(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_and_steps_do_not_wait_for_each_other() {
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    talk(&world, &hosts[0], 0, 5).await;
    let mut owner = database(&world).connect().await;
    // A running batch holds the clocks of its feeds.
    run(
        &mut owner,
        "begin; select 1 from leadhost.feed_clock for update",
    )
    .await;
    count(&hosts[0], STEP)
        .await
        .expect("a run waits for no batch");
    run(&mut owner, "rollback").await;
    assert_eq!(counted(&world, false).await, expected(&world).await);
    // A running step holds the builds.
    run(
        &mut owner,
        "begin; select 1 from leadhost.rollup_builds for update",
    )
    .await;
    talk(&world, &hosts[1], 1, 5).await;
    run(&mut owner, "rollback").await;
    count(&hosts[1], STEP).await.expect("it counts");
    assert_eq!(counted(&world, false).await, expected(&world).await);
}
