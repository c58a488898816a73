//! Two hosts write to one database at the same time: batches that touch the same keys
//! in opposite orders, work that both want, connections that are cut. Each host is a
//! separate store, as in two processes. In the end every acknowledged lead is there
//! once, and no batch has failed.

use std::sync::atomic::{AtomicUsize, Ordering};

use leadhost_tests::postgres::Database;
use leadhost_tests::proxy::Cut;
use sqlx::Executor as _;
use tokio::sync::Barrier;

use super::postgres::round_trips::through_proxy;
use super::world::*;

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
    let standing = ManualClock::at(SystemClock.now());
    let mut world = World::with_store(Arc::clone(&one), standing, Box::new(())).await;
    world.on = on;
    Some((Arc::new(world), [one, other]))
}

pub fn database(world: &World) -> &Database {
    match &world.on {
        On::Postgres(database) => database,
        On::Sqlite => unreachable!("two hosts are on PostgreSQL"),
    }
}

/// Runs each writer's batch, every second one backwards, all at once and on both hosts in turn.
pub async fn at_once(hosts: &[Arc<Store>; 2], batches: Vec<Vec<Write>>) -> Vec<WriteOutcome> {
    let barrier = Arc::new(Barrier::new(batches.len()));
    let mut writers = Vec::new();
    for (writer, mut batch) in batches.into_iter().enumerate() {
        if writer % 2 == 1 {
            batch.reverse();
        }
        let (barrier, host) = (Arc::clone(&barrier), Arc::clone(&hosts[writer % 2]));
        writers.push(tokio::spawn(async move {
            barrier.wait().await;
            host.commit(&batch).await
        }));
    }
    let mut all = Vec::new();
    for writer in writers {
        let written = writer.await.expect("a writer ends");
        all.extend(written.expect("no batch ends badly"));
    }
    all
}

/// In each round all writers write the same new leads of the same new people, half of
/// the writers backwards, and change some leads of the previous round.
fn opposing(world: &World, round: usize, writer: usize) -> Vec<Write> {
    let item = |round: usize, key: u64, action: Action| {
        // Each person is in two leads of a round.
        let number = format!("+55119{round:05}{:03}", key / 2);
        let new = world.known_as(&format!("{round}-{key}"));
        let mut new = titled(new, &format!("said by {writer} in round {round}"));
        new.action = action;
        lead(with_phone(new, &number))
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
        rows.extend(json_of(&page));
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
    let (world, hosts) = available!(two_hosts());
    let results = opposing_batches(&world, &hosts, BATCHES, &Arc::default()).await;
    let mut made = BTreeMap::new();
    for result in results {
        for written in result.expect("no batch ends badly") {
            for item in done(written).items {
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
    let (world, hosts) = available!(two_hosts());
    const WAITING: usize = 200;
    let now = world.now();
    let queued = |_| {
        let result = ConversionResult {
            next_attempt_at: Some(now),
            ..ended(DeliveryStatus::Queued)
        };
        accept(world.delivery(), result)
    };
    let writes: Vec<Write> = (0..WAITING).map(queued).collect();
    world.commit(&writes).await;
    let until = now.plus(Duration::from_mins(1));
    let tasks: Vec<_> = (0..4)
        .map(|taker| {
            let host = Arc::clone(&hosts[taker % 2]);
            tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let jobs = host.claim(&ClaimTurns::new(7), now, until).await;
                    let jobs = jobs.expect("it claims");
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
        let held = [one, other].into_iter();
        let held: Vec<_> = held.filter_map(|held| held.expect("it claims")).collect();
        assert_eq!(held.len(), 1, "one of them has it");
        let of = |who| vec![lead(titled(world.known_as(&id.to_string()), who))];
        let late = [convert(stalled, Mode::Retry, of("stalled"))];
        let now = [convert(&held[0], Mode::Retry, of("awake"))];
        let (late, now) = tokio::join!(hosts[0].commit(&late), hosts[1].commit(&now));
        assert!(matches!(late.unwrap()[..], [WriteOutcome::Stale]));
        let outcome = done(now.unwrap().remove(0));
        assert_eq!(outcome.status, DeliveryStatus::Converted);
    }
    let deals = rows(&world, Entity::Deals).await;
    assert_eq!(deals.len(), 20);
    assert!(deals.iter().all(|deal| deal["title"] == "awake"));
}

/// Cuts a connection in the middle of a transaction, of this database alone.
pub const CUT: &str = "
select pg_terminate_backend(pid)
from pg_stat_activity
where datname = current_database()
and application_name = 'leadhost'
and state <> 'idle'
order by random()
limit 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_no_write_and_repeat_none() {
    let (world, hosts) = available!(two_hosts());
    let mut knife = database(&world).connect_as_admin().await;
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
    let is_reached = async || world.ping().await.ok();
    until("the database is reached again", is_reached).await;
    let deals = rows(&world, Entity::Deals).await;
    let by_id = counted(&deals, "external_id");
    assert!(
        by_id.values().all(|times| *times == 1),
        "a lead was made twice"
    );
    let mut acknowledged = 0;
    for written in results.into_iter().flatten().flatten() {
        for item in done(written).items {
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
    let (world, host, proxy) = available!(through_proxy());
    let late = Duration::from_millis(100);
    for (number, cut) in (0..).zip([Cut::Before, Cut::After, Cut::Late(late)]) {
        let cuts = proxy.cuts();
        proxy.cut_commits(cut, 2);
        for batch in 0..10 {
            let new = lead(world.known_as(&format!("{number}-{batch}")));
            let written = host.commit(&[world.accept(vec![new])]).await;
            let outcome = done(written.expect("it is found out").remove(0));
            assert_eq!(outcome.status, DeliveryStatus::Converted);
        }
        assert!(proxy.cuts() >= cuts + 5, "the half of them was cut");
    }
    let deals = rows(&world, Entity::Deals).await;
    let by_id = counted(&deals, "external_id");
    assert_eq!((by_id.len(), deals.len()), (30, 30));
}
