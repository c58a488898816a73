//! Two hosts write to one database at the same time: batches that touch the same keys
//! in opposite orders, work that both want, connections that are cut. Each host is a
//! separate store, as in two processes. In the end every acknowledged lead is there
//! once, and no batch has failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leadhost_config::StoreUrl;
use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::id::DeliveryId;
use leadhost_domain::lead::Action;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::proxy::{Cut, Proxy};
use leadhost_tests::{On, until};
use serde_json::Value;
use sqlx::Executor as _;

use super::world::{self, World};

/// Batches that each writer commits.
const BATCHES: usize = 250;
const WRITERS_PER_HOST: usize = 2;

/// New keys that all writers write in the same round.
const KEYS: u64 = 6;

/// A world on its own database, and the stores of its two hosts.
pub async fn two_hosts() -> Option<(Arc<World>, [Arc<Store>; 2])> {
    let on = On::postgres().await?;
    let clock = || Arc::new(SystemClock) as _;
    let location = on.location(std::path::Path::new("unused"));
    let one = open(&location, clock()).await.expect("it opens");
    let other = open(&location, clock()).await.expect("it opens again");
    let standing = leadhost_domain::clock::ManualClock::at(SystemClock.now());
    let mut world = World::with_store(Arc::clone(&one), standing, Box::new(())).await;
    world.on = on;
    Some((Arc::new(world), [one, other]))
}

/// In each round all writers write the same new leads of the same new people, half of
/// the writers backwards, and change some leads of the previous round.
fn opposing(world: &World, round: usize, writer: usize) -> Vec<Write> {
    let item = |round: usize, key: u64, action: Action| {
        // Each person is in two leads of a round.
        let number = format!("+55119{round:05}{:03}", key / 2);
        let mut lead = world::with_phone(world.known_as(&format!("{round}-{key}")), &number);
        lead.action = action;
        lead.title = Some(format!("said by {writer} in round {round}"));
        world::lead(lead)
    };
    let mut keys: Vec<u64> = (0..KEYS).collect();
    if writer % 2 == 1 {
        keys.reverse();
    }
    let mut writes = Vec::new();
    for key in keys {
        let mut items = vec![item(round, key, Action::Create)];
        if round > 0 {
            items.push(item(round - 1, KEYS - 1 - key, Action::Update));
        }
        let delivery = NewDelivery {
            id: DeliveryId::new(SystemClock.now()),
            received_at: SystemClock.now(),
            connection: world.site.clone(),
            ..world.delivery()
        };
        writes.push(world.accept_as(delivery, items));
    }
    writes
}

/// The writers wait for each other before each round, so that they collide.
async fn opposing_batches(
    world: &Arc<World>,
    hosts: &[Arc<Store>; 2],
    rounds: usize,
    ended: &Arc<AtomicUsize>,
) -> Vec<Result<Vec<WriteOutcome>, StoreError>> {
    let writers = hosts.len() * WRITERS_PER_HOST;
    let barrier = Arc::new(tokio::sync::Barrier::new(writers));
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (world, barrier) = (Arc::clone(world), Arc::clone(&barrier));
            let ended = Arc::clone(ended);
            let host = Arc::clone(&hosts[writer % hosts.len()]);
            tokio::spawn(async move {
                let mut results = Vec::new();
                for round in 0..rounds {
                    barrier.wait().await;
                    results.push(host.commit(&opposing(&world, round, writer)).await);
                    ended.fetch_add(1, Ordering::SeqCst);
                }
                results
            })
        })
        .collect();
    let mut results = Vec::new();
    for task in tasks {
        results.extend(task.await.expect("a writer ends"));
    }
    results
}

/// Returns all rows of a feed.
pub async fn rows(world: &World, entity: Entity) -> Vec<Value> {
    let mut rows = Vec::new();
    let (mut after, mut upper) = (0, None);
    loop {
        let page = world.page(entity, after, upper, 1_000).await;
        rows.extend(world::json_of(&page));
        upper = Some(page.upper);
        match page.rows.last() {
            Some(last) if page.more => after = last.stamp,
            _ => return rows,
        }
    }
}

fn counted<'a>(rows: &'a [Value], field: &str) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row[field].as_str().expect(field)).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposing_batches_all_commit_and_no_lead_is_duplicated() {
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    let results = opposing_batches(&world, &hosts, BATCHES, &Arc::default()).await;
    let mut made = BTreeMap::new();
    for result in results {
        for written in result.expect("no batch ends badly") {
            for item in world::done(written).items {
                let id = item.external_id.expect("it has one");
                assert!(item.deal_id.is_some(), "{id} is {:?}", item.status);
                if item.status == ItemStatus::Converted {
                    *made.entry(id).or_insert(0) += 1;
                }
            }
        }
    }
    let leads = BATCHES * usize::try_from(KEYS).unwrap();
    assert_eq!(made.len(), leads);
    assert!(
        made.values().all(|times| *times == 1),
        "a lead was made twice"
    );
    let deals = rows(&world, Entity::Deals).await;
    let contacts = rows(&world, Entity::Contacts).await;
    let by_id = counted(&deals, "external_id");
    assert_eq!((by_id.len(), deals.len()), (leads, leads));
    let by_phone = counted(&contacts, "phone_number");
    assert_eq!((by_phone.len(), contacts.len()), (leads / 2, leads / 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_piece_of_work_is_held_by_one_host_at_a_time() {
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    const WAITING: usize = 200;
    let now = world.now();
    let writes: Vec<Write> = (0..WAITING)
        .map(|_| {
            let result = ConversionResult {
                status: Some(DeliveryStatus::Queued),
                next_attempt_at: Some(now),
                ..world::converted(Vec::new())
            };
            let delivery = world.delivery();
            Write::Accept(Box::new(Acceptance {
                keys: Vec::new(),
                delivery,
                peer: None,
                result,
            }))
        })
        .collect();
    world.commit(&writes).await;
    let until = now.plus(Duration::from_mins(1));
    let tasks: Vec<_> = (0..4)
        .map(|taker| {
            let host = Arc::clone(&hosts[taker % 2]);
            tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let jobs = host
                        .claim(&leadhost_store::ClaimTurns::new(7), now, until)
                        .await
                        .expect("it claims");
                    if jobs.is_empty() {
                        return taken;
                    }
                    taken.extend(jobs.into_iter().map(|job| match job {
                        Job::Convert(held) => *held,
                        Job::Fetch(_) | Job::Send(_) => panic!("only deliveries wait"),
                    }));
                }
            })
        })
        .collect();
    let mut taken = Vec::new();
    for task in tasks {
        taken.extend(task.await.expect("a taker ends"));
    }
    let ids: BTreeSet<_> = taken.iter().map(|held| held.delivery.id).collect();
    assert_eq!((ids.len(), taken.len()), (WAITING, WAITING));
    // Both want each of them, now that the leases have expired.
    let later = until.plus(Duration::from_secs(1));
    let again = later.plus(Duration::from_mins(1));
    for stalled in taken.iter().take(20) {
        let id = stalled.delivery.id;
        let (one, other) = tokio::join!(
            hosts[0].claim_delivery(id, later, again),
            hosts[1].claim_delivery(id, later, again),
        );
        let held: Vec<_> = [one, other]
            .into_iter()
            .filter_map(|held| held.expect("it claims"))
            .collect();
        assert_eq!(held.len(), 1, "one of them has it");
        let lead = |who: &str| {
            let mut lead = world.known_as(&id.to_string());
            lead.title = Some(who.to_owned());
            vec![world::lead(lead)]
        };
        let late = [world::convert(stalled, Mode::Retry, lead("stalled"))];
        let now = [world::convert(&held[0], Mode::Retry, lead("awake"))];
        let (late, now) = tokio::join!(hosts[0].commit(&late), hosts[1].commit(&now));
        assert!(matches!(late.unwrap()[..], [WriteOutcome::Stale]));
        let outcome = world::done(now.unwrap().remove(0));
        assert_eq!(outcome.status, DeliveryStatus::Converted);
    }
    let deals = rows(&world, Entity::Deals).await;
    assert_eq!(deals.len(), 20);
    assert!(deals.iter().all(|deal| deal["title"] == "awake"));
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
async fn cut_connections_lose_no_write_and_repeat_none() {
    let Some(on) = On::postgres().await else {
        return;
    };
    let On::Postgres(database) = &on else {
        unreachable!("it was asked for");
    };
    let mut knife = database.connect_as_admin().await;
    let location = on.location(std::path::Path::new("unused"));
    let clock = || Arc::new(SystemClock) as _;
    let one = open(&location, clock()).await.expect("it opens");
    let other = open(&location, clock()).await.expect("it opens again");
    let standing = leadhost_domain::clock::ManualClock::at(SystemClock.now());
    let world = World::with_store(Arc::clone(&one), standing, Box::new(on.clone())).await;
    let (world, hosts) = (Arc::new(world), [one, other]);
    let ended = Arc::new(AtomicUsize::new(0));
    let rounds = BATCHES / 2;
    let batches = rounds * hosts.len() * WRITERS_PER_HOST;
    let cutting = tokio::spawn({
        let ended = Arc::clone(&ended);
        async move {
            let (mut cuts, mut next) = (0, 0);
            loop {
                let now = ended.load(Ordering::SeqCst);
                if now >= batches {
                    return cuts;
                }
                if now >= next {
                    let cut = knife.execute(CUT).await.expect("it may").rows_affected();
                    cuts += cut;
                    // However slow the machine is, some commits succeed between two
                    // cuts.
                    next = now + 2 * usize::try_from(cut).unwrap();
                }
                tokio::task::yield_now().await;
            }
        }
    });
    let results = opposing_batches(&world, &hosts, rounds, &ended).await;
    let cuts = cutting.await.expect("it ends");
    assert!(cuts > 20, "{cuts} cuts are no trial");
    until("the database is reached again", async || {
        world.ping().await.ok()
    })
    .await;
    let deals = rows(&world, Entity::Deals).await;
    let by_id = counted(&deals, "external_id");
    assert!(
        by_id.values().all(|times| *times == 1),
        "a lead was made twice"
    );
    let mut acknowledged = 0;
    for written in results.into_iter().flatten().flatten() {
        for item in world::done(written).items {
            let id = item.external_id.expect("it has one");
            assert!(by_id.contains_key(id.as_str()), "{id} is lost");
            acknowledged += 1;
        }
    }
    let most = batches * usize::try_from(KEYS).unwrap();
    assert!(acknowledged > most, "{acknowledged} items got through");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_a_commit_whose_answer_is_lost_is_looked_up() {
    let Some(on) = On::postgres().await else {
        return;
    };
    let On::Postgres(database) = &on else {
        unreachable!("it was asked for");
    };
    let proxy = Proxy::before(database.url()).await;
    let through = StoreLocation::Postgres {
        url: StoreUrl::new(proxy.url(database.url())),
        connections: 4,
    };
    let clock = || Arc::new(SystemClock) as _;
    let direct = open(&on.location(std::path::Path::new("unused")), clock()).await;
    let standing = leadhost_domain::clock::ManualClock::at(SystemClock.now());
    let keep = Box::new(on.clone());
    let world = World::with_store(direct.expect("it opens"), standing, keep).await;
    let host = open(&through, clock()).await.expect("it opens");
    let late = std::time::Duration::from_millis(100);
    for (number, cut) in (0..).zip([Cut::Before, Cut::After, Cut::Late(late)]) {
        let cuts = proxy.cuts();
        proxy.cut_commits(cut, 2);
        for batch in 0..10 {
            let lead = world::lead(world.known_as(&format!("{number}-{batch}")));
            let written = host.commit(&[world.accept(vec![lead])]).await;
            let outcome = world::done(written.expect("it is found out").remove(0));
            assert_eq!(outcome.status, DeliveryStatus::Converted);
        }
        assert!(proxy.cuts() >= cuts + 5, "the half of them was cut");
    }
    let deals = rows(&world, Entity::Deals).await;
    assert_eq!(
        (counted(&deals, "external_id").len(), deals.len()),
        (30, 30)
    );
}
