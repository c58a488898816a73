//! Rollups with several hosts on one database: they step the same builds at the
//! same time, are cut in the middle, and meet batches of leads. Everything is
//! counted once, the same in every table, and for its own workspace only.

use std::sync::atomic::{AtomicBool, Ordering};

use leadhost_domain::zone;
use sqlx::Executor as _;

use super::super::messages::{accepted, line, notify_write, sent, stored, urgent};
use super::super::rollup::{TALKS, assert_begun, cells, is_right, state, try_count};
use super::super::two_hosts::{CUT, database, two_hosts};
use super::*;

/// The changes of one step: so few that there are many steps.
const STEP: u32 = 7;

/// Begins conversations of new people: one batch for the conversations and one
/// for their first messages.
async fn talk(world: &World, host: &Store, round: usize, many: usize) {
    let new = |number: usize| {
        let to = format!("+55119{round:04}{number:04}");
        let mut new = urgent(world, &to);
        new.details.source = Some(format!("source {}", number % 3));
        notify_write(new)
    };
    let new: Vec<Write> = (0..many).map(new).collect();
    let written = host.commit(&new).await.expect("it commits");
    let settle = |(number, written): (usize, WriteOutcome)| {
        let message = stored(written).message;
        let outcome = accepted(world, &format!("{round}-{number}"));
        sent(line(world), message, 0, outcome)
    };
    let settled: Vec<Write> = written.into_iter().enumerate().map(settle).collect();
    host.commit(&settled).await.expect("it commits");
}

async fn count(host: &Store, limit: u32) -> Result<(), StoreError> {
    try_count(host, TALKS, limit).await.map(drop)
}

/// Fills the cubes.
async fn fill(host: &Store) -> Result<(), StoreError> {
    for cube in host.cubes_due(zone::tzdata(), SystemClock.now()).await? {
        while host.cube_step(&cube).await? {}
    }
    Ok(())
}

/// Checks that everything is counted, also in the cube.
async fn all_is_counted(world: &World, talks: i64) {
    is_right(world).await;
    assert_begun(world, talks).await;
    let of_cube = cells(world, TALKS, zone::DEFAULT, zone::tzdata())
        .await
        .of_cube;
    assert!(of_cube);
    let facts = "select count(*) from rollup_facts as f
      join rollup_builds as b on b.build = f.build
      where b.state = 'serving'
      and b.metric_set = 1";
    assert_eq!(world.rows(facts).await, talks);
}

async fn as_of(world: &World) -> Option<Micros> {
    state(world, TALKS).await.as_of
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_step_at_once_count_everything_once() {
    let (world, hosts) = available!(two_hosts());
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
                        host.rollup_rebuild(TALKS, None).await.expect("it begins");
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
    all_is_counted(&world, i64::try_from(ROUNDS * MANY).expect("few")).await;
    assert_eq!(deadlocks(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_whose_connection_is_cut_is_committed_completely_or_not_at_all() {
    let (world, hosts) = available!(two_hosts());
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
        hosts[0].rollup_rebuild(TALKS, None).await.ok();
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
    let cuts = cutting.await.expect("it ends");
    assert!(cuts > 20, "{whole} runs were whole");
    until("the database is reached again", async || {
        count(&hosts[1], STEP).await.ok()?;
        fill(&hosts[1]).await.ok()
    })
    .await;
    // The build in progress takes over, and retired ones are removed.
    until("only the serving build is left", async || {
        count(&hosts[1], 100).await.ok()?;
        fill(&hosts[1]).await.ok()?;
        let others = "select count(*) from rollup_builds where state <> 'serving'";
        (world.rows(others).await == 0).then_some(())
    })
    .await;
    all_is_counted(&world, 8 * 25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_and_steps_do_not_wait_for_each_other() {
    let (world, hosts) = available!(two_hosts());
    talk(&world, &hosts[0], 0, 5).await;
    let mut owner = database(&world).connect().await;
    // A running batch holds the clocks of its feeds.
    let lock = "begin; select 1 from leadhost.feed_clock for update";
    run(&mut owner, lock).await;
    let counted_meanwhile = count(&hosts[0], STEP).await;
    counted_meanwhile.expect("a run waits for no batch");
    run(&mut owner, "rollback").await;
    is_right(&world).await;
    // A running step holds the builds.
    let lock = "begin; select 1 from leadhost.rollup_builds for update";
    run(&mut owner, lock).await;
    talk(&world, &hosts[1], 1, 5).await;
    run(&mut owner, "rollback").await;
    count(&hosts[1], STEP).await.expect("it counts");
    is_right(&world).await;
}
