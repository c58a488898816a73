//! No row is ever missed. Writers on each host of a store change rows by one and by the hundred; some
//! batches roll back, some are cut off, transactions pause at their worst places, and the clock jumps back
//! and forth. Meanwhile clients read pages of any size, abandon some pulls, and keep nothing but the
//! greatest stamp that they have seen. In the end each of them knows every row as it is, and the rows are
//! those that were acknowledged, each once.
//!
//! `LEADHOST_FEED_CHANGES` sets the number of row changes, `LEADHOST_FEED_SEED` the random seed.

use std::sync::atomic::{AtomicBool, Ordering};

use leadhost_tests::size::given;
use leadhost_tests::{Random, sized};
use rusqlite::Connection;
use sqlx::Executor as _;

use super::world::*;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    no_row_is_ever_missed,
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const WRITERS: usize = 4;
const CLIENTS: usize = 4;
const FEEDS: [Entity; 2] = [Entity::Deals, Entity::Contacts];

/// A writer is cut off within this time, in microseconds: at any point of a commit.
const LONGEST_CUT: u64 = 40_000;

/// Inside the store, transactions pause now and then: before they take the feed's clock, while they hold it,
/// and just before the commit. A file cannot sleep, but making random bytes takes as long.
const PAUSES_OF_A_FILE: &str = "
create trigger pause_before before insert on feed_clock
when abs(random()) % 20 = 0
begin select length(randomblob(abs(random()) % 3000000)); end;
create trigger pause_after after update on feed_clock
when abs(random()) % 20 = 0
begin select length(randomblob(abs(random()) % 3000000)); end";

const PAUSES_OF_A_DATABASE: &str = "
create function test_clock.pause() returns trigger language plpgsql as $$
begin
  if random() < 0.05 then
    perform pg_sleep(random() * 0.05);
  end if;
  return null;
end $$;
create trigger pause_before before insert on leadhost.feed_clock
for each statement execute function test_clock.pause();
create trigger pause_after after insert on leadhost.feed_clock
for each statement execute function test_clock.pause();
create constraint trigger pause_at_commit after insert or update on leadhost.feed_clock
deferrable initially deferred
for each row execute function test_clock.pause()";

/// Cuts connections in the middle of a transaction.
const CUT: &str = "
select count(pg_terminate_backend(pid))
from pg_stat_activity
where datname = current_database()
and application_name = 'leadhost'
and state <> 'idle'";

/// What each lead's title has to be, by its external id.
type Titles = BTreeMap<String, Option<String>>;

async fn no_row_is_ever_missed(on: On) {
    let seed = given("LEADHOST_FEED_SEED", SEED);
    let world = Arc::new(World::start(on).await);
    let hosts = hosts(&world).await;
    let done = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|at| {
            let mut client = FeedClient {
                world: Arc::clone(&world),
                host: Arc::clone(&hosts[at % hosts.len()]),
                entity: FEEDS[at / 2],
                random: Random::from_seed(!seed, at),
                greatest: 0,
                rows: BTreeMap::new(),
                stamps: BTreeMap::new(),
            };
            let done = Arc::clone(&done);
            tokio::spawn(async move {
                let mut pulls = 0;
                while !done.load(Ordering::SeqCst) {
                    let pages = 1 + client.random.count(30);
                    client.pull(pages).await;
                    pulls += 1;
                    tokio::task::yield_now().await;
                }
                client.pull(usize::MAX).await;
                assert!(pulls > 5, "the client hardly pulled: {pulls}");
                client
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (world, host) = (Arc::clone(&world), Arc::clone(&hosts[number % hosts.len()]));
            tokio::spawn(async move { write(&world, &host, seed, number).await })
        })
        .collect();
    let mut titles = Titles::new();
    for writer in writers {
        titles.extend(writer.await.expect("a writer ends"));
    }
    done.store(true, Ordering::SeqCst);
    for client in clients {
        let client = client.await.expect("a client ends");
        let truth = super::two_hosts::rows(&world, client.entity).await;
        let entity = client.entity;
        assert_eq!(truth.len(), titles.len(), "{entity:?}, seed {seed}");
        assert_eq!(client.rows.len(), truth.len(), "seed {seed}");
        for row in truth {
            let known = client.rows.get(row["id"].text());
            assert_eq!(known.map(|(_, row)| row), Some(&row), "seed {seed}");
            if client.entity == Entity::Deals {
                let title = &titles[row["external_id"].text()];
                let shown = row["title"].as_str();
                assert_eq!(shown, title.as_deref(), "{row}, seed {seed}");
            }
        }
    }
}

/// A file has one host. On a database two write, and their stamps still have one order.
async fn hosts(world: &World) -> Vec<Arc<Store>> {
    match &world.on {
        On::Sqlite => {
            let file = world.folder().join("leadhost.db");
            let connection = Connection::open(file).expect("the file is there");
            let made = connection.execute_batch(PAUSES_OF_A_FILE);
            made.expect("triggers");
            vec![Arc::clone(&world.store)]
        }
        On::Postgres(database) => {
            let made = database.connect().await.execute(PAUSES_OF_A_DATABASE).await;
            made.expect("triggers");
            let other = open(&world.on.location(world.folder()), ManualClock::at(START)).await;
            vec![Arc::clone(&world.store), other.expect("it opens")]
        }
    }
}

struct FeedClient {
    world: Arc<World>,
    host: Arc<Store>,
    entity: Entity,
    random: Random,
    /// All of it: a late row is lost to the client for ever.
    greatest: i64,
    /// The stamp and the row, by id.
    rows: BTreeMap<String, (i64, Value)>,
    /// The row of each stamp.
    stamps: BTreeMap<i64, String>,
}

impl FeedClient {
    /// Reads from the greatest stamp to the end, or abandons the pull after so many pages.
    async fn pull(&mut self, pages: usize) {
        let most = *self.random.choose(&[40, 1_000]);
        let limit = 1 + self.random.count(most);
        let (mut after, mut upper, mut read) = (self.greatest, None, 0);
        while read < pages {
            let rows = u32::try_from(limit).expect("a page");
            let scope = &self.world.scope;
            let page = self.host.export(scope, self.entity, after, upper, rows);
            let page = match page.await {
                Ok(page) => page,
                Err(StoreError::Unavailable(_) | StoreError::Contended) => {
                    tokio::task::yield_now().await;
                    continue;
                }
                Err(error) => panic!("it exports: {error}"),
            };
            read += 1;
            assert!(page.rows.len() == limit || !page.more && page.rows.len() < limit);
            for (row, text) in page.rows.iter().zip(json_of(&page)) {
                assert!(row.stamp > after, "{} comes after {after}", row.stamp);
                after = row.stamp;
                let id = text["id"].text().to_owned();
                let other = self.stamps.insert(row.stamp, id.clone());
                assert!(
                    other.is_none_or(|other| other == id),
                    "two rows have a stamp"
                );
                let before = self.rows.insert(id, (row.stamp, text));
                assert!(before.is_none_or(|(stamp, _)| stamp < row.stamp));
            }
            self.greatest = after;
            upper = Some(page.upper);
            if !page.more {
                return;
            }
        }
    }
}

/// Changes rows by a plan that follows from the seed. Each step is repeated until it is acknowledged.
async fn write(world: &World, host: &Store, seed: u64, number: usize) -> Titles {
    let mut random = Random::from_seed(seed, number);
    let changes = given("LEADHOST_FEED_CHANGES", sized(8_000, 100_000));
    let mut left = changes / WRITERS as u64;
    let mut titles = Vec::<Option<String>>::new();
    let name = |lead: usize| format!("{number}-{lead}");
    while left > 0 {
        let known = titles.len();
        let (new, old) = match random.below(40) {
            0 if known > 0 => (0, 1 + random.count(1_000)),
            0..=4 => (1 + random.count(300), random.count(50)),
            _ => (1 + random.count(30), random.count(10)),
        };
        let changed: Vec<_> = (0..if known > 0 { old } else { 0 })
            .map(|_| (random.count(known), random.below(1_000_000).to_string()))
            .collect();
        let made = (known..known + new).map(|lead| world.known_as(&name(lead)));
        let updated = changed.iter().map(|(lead, title)| NewLead {
            action: Action::Update,
            title: Some(title.clone()),
            ..world.known_as(&name(*lead))
        });
        let items: Vec<_> = made.chain(updated).map(lead).collect();
        if number == 0 && random.one_in(10) {
            world.advance([-2, 1, 2][random.count(3)]).await;
        }
        match random.below(20) {
            // Its last write is invalid: it leaves nothing.
            0 => {
                let delivery = world.delivery();
                let again = world.accept_as(delivery.clone(), Vec::new());
                let writes = [world.accept_as(delivery, items), again];
                assert!(host.commit(&writes).await.is_err());
                continue;
            }
            1 => cut_off(world, host, &mut random, world.accept(items.clone())).await,
            _ => {}
        }
        commit(host, &world.accept(items)).await;
        titles.resize(known + new, None);
        left = left.saturating_sub((2 * new + changed.len()) as u64);
        for (lead, title) in changed {
            titles[lead] = Some(title);
        }
    }
    (0..).map(name).zip(titles).collect()
}

/// Commits as a sender does that gets no acknowledgement: a machine was too busy, or the connection was cut.
async fn commit(host: &Store, write: &Write) {
    loop {
        match host.commit(std::slice::from_ref(write)).await {
            Ok(_) => return,
            Err(StoreError::Unavailable(_) | StoreError::Contended) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("it commits: {error}"),
        }
    }
}

/// Ends somewhere in a commit: the writer, or its connection.
async fn cut_off(world: &World, host: &Store, random: &mut Random, write: Write) {
    let moment = Duration::from_micros(random.below(LONGEST_CUT));
    let writes = [write];
    let commit = host.commit(&writes);
    match &world.on {
        On::Postgres(database) if random.one_in(2) => {
            let cut = async {
                tokio::time::sleep(moment).await;
                let cut = database.connect().await.execute(CUT).await;
                cut.expect("the connections are the owner's own");
            };
            let _ = tokio::join!(commit, cut);
        }
        _ => drop(tokio::time::timeout(moment, commit).await),
    }
}
