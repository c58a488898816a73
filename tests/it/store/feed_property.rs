//! No row is ever missed: writers change rows, some batches roll back, the wall
//! clock steps to and fro, and a reader polls all the while with nothing but the
//! greatest stamp that it has seen. In the end it must know every row as it is.
//!
//! The same reader is let loose on tables that are stamped wrongly, each in a
//! way that looks right: it must find what they lose, else it proves nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use leadhost::clock::{Clock, SystemClock};
use leadhost::domain::id::DeliveryId;
use leadhost::domain::lead::Action;
use leadhost::domain::row::Entity;
use leadhost::domain::time::Micros;
use leadhost::store::*;
use leadhost_tests::On;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Row as _};
use tokio::sync::Mutex;

use super::world::{self, World};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    no_row_is_ever_missed,
}

/// Row changes of the run on the store, contacts and deals together: as many as
/// take about as long on each.
fn changes_of(on: &On) -> usize {
    match on {
        On::Sqlite => 200_000,
        On::Postgres(_) => 100_000,
    }
}

const WRITERS: usize = 4;
const ITEMS: usize = 500;

/// A small generator, so that a run can be had again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The machine's clock, moved.
#[derive(Default)]
struct Stepping(AtomicI64);

impl Clock for Stepping {
    fn now(&self) -> Micros {
        SystemClock.now().plus(self.0.load(Ordering::SeqCst))
    }
}

// ---- the reader

struct Row {
    stamp: i64,
    id: String,
    text: String,
}

struct Page {
    rows: Vec<Row>,
    more: bool,
    upper: i64,
}

/// Where rows are read from.
enum Feed {
    Store {
        store: Arc<dyn Store>,
        scope: Scope,
        entity: Entity,
    },
    Table(Mutex<SqliteConnection>),
}

const TABLE_PAGE: &str = "
select cur, id, text, (select coalesce(max(cur), 0) from feed) as clock
from feed
where cur > ?1
and cur <= coalesce(?2, (select max(cur) from feed))
order by cur, id
limit ?3";

impl Feed {
    async fn page(&self, after: i64, upper: Option<i64>, limit: u32) -> Page {
        match self {
            Self::Store {
                store,
                scope,
                entity,
            } => {
                let page = store.export(scope, *entity, after, upper, limit).await;
                let page = page.expect("it exports");
                assert!(page.clock >= page.upper, "the clock is past every bound");
                let rows = page.rows.into_iter().map(|row| Row {
                    stamp: row.stamp,
                    id: row.id,
                    text: row.json,
                });
                Page {
                    rows: rows.collect(),
                    more: page.more,
                    upper: page.upper,
                }
            }
            Self::Table(connection) => {
                let found = sqlx::query(TABLE_PAGE)
                    .bind(after)
                    .bind(upper)
                    .bind(i64::from(limit) + 1)
                    .fetch_all(&mut *connection.lock().await)
                    .await
                    .expect("it reads");
                let limit = usize::try_from(limit).unwrap();
                let clock = found.first().map_or(after, |row| row.get("clock"));
                let rows = found.iter().take(limit).map(|row| Row {
                    stamp: row.get("cur"),
                    id: row.get("id"),
                    text: row.get("text"),
                });
                Page {
                    rows: rows.collect(),
                    more: found.len() > limit,
                    upper: upper.unwrap_or(clock),
                }
            }
        }
    }
}

/// What a client knows that keeps the last form of each row.
#[derive(Default)]
struct Client {
    rows: HashMap<String, (i64, String)>,
    greatest: i64,
    faults: Vec<String>,
}

impl Client {
    /// One pull: from the greatest stamp seen, inclusive, page by page to its bound.
    async fn pull(&mut self, feed: &Feed, limit: u32) {
        // A page shows stamps above this one: the bound of a client is inclusive.
        let mut after = self.greatest - 1;
        let mut upper = None;
        let mut last = i64::MIN;
        loop {
            let page = feed.page(after, upper, limit).await;
            for row in page.rows {
                if row.stamp <= last {
                    self.faults.push(format!("{} does not ascend", row.stamp));
                }
                last = row.stamp;
                after = row.stamp;
                self.greatest = self.greatest.max(row.stamp);
                self.rows.insert(row.id, (row.stamp, row.text));
            }
            upper = Some(page.upper);
            if !page.more {
                break;
            }
        }
    }

    /// Rows that are not as the client knows them.
    async fn missed(&mut self, feed: &Feed) -> usize {
        let mut truth = Client::default();
        truth.pull(feed, 1_000_000).await;
        let stamps: std::collections::HashSet<_> =
            truth.rows.values().map(|(stamp, _)| *stamp).collect();
        if stamps.len() != truth.rows.len() {
            self.faults.push("two rows share a stamp".to_owned());
        }
        self.faults.append(&mut truth.faults);
        truth
            .rows
            .iter()
            .filter(|(id, row)| self.rows.get(*id) != Some(*row))
            .count()
    }
}

/// Polls until the writers are done and once more.
async fn poll(feed: Arc<Feed>, done: Arc<AtomicBool>, seed: u64) -> Client {
    let mut client = Client::default();
    let mut chance = Chance(seed);
    loop {
        let last = done.load(Ordering::SeqCst);
        let limit = u32::try_from(1 + chance.below(1_000)).unwrap();
        client.pull(&feed, limit).await;
        if last {
            return client;
        }
        tokio::task::yield_now().await;
    }
}

// ---- the store

/// Batches of one writer that may be refused for want of time.
const REFUSALS: usize = 20;

/// Writes batches until its share is done; the deals and contacts that were acknowledged.
async fn write(
    world: Arc<World>,
    store: Arc<dyn Store>,
    clock: Arc<Stepping>,
    writer: usize,
) -> Vec<String> {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (u64::try_from(writer).unwrap() + 1));
    let mut acknowledged = Vec::new();
    let mut made = 0usize;
    let mut refused = 0;
    let mut changes = 0;
    while changes < changes_of(&world.on) / WRITERS {
        let delivery = || NewDelivery {
            id: DeliveryId::new(clock.now()),
            received_at: clock.now(),
            body: Vec::new(),
            ..world.delivery()
        };
        let mut items = Vec::new();
        let new = 1 + usize::try_from(chance.below(u64::try_from(ITEMS).unwrap())).unwrap();
        for number in made..made + new {
            items.push(world::lead(world.known_as(&format!("{writer}-{number}"))));
        }
        // Some known leads change.
        for _ in 0..new / 10 {
            let number = chance.below(u64::try_from(made.max(1)).unwrap());
            let mut lead = world.known_as(&format!("{writer}-{number}"));
            lead.action = Action::Update;
            lead.title = Some(format!("title {}", chance.below(1_000_000)));
            items.push(world::lead(lead));
        }
        let first = delivery();
        let mut writes = vec![world.accept_as(first.clone(), items)];
        if chance.below(20) == 0 {
            // The same delivery again: the batch fails and leaves nothing.
            writes.push(world.accept_as(first, Vec::new()));
            assert!(store.commit(&writes).await.is_err());
            continue;
        }
        if chance.below(10) == 0 {
            let step = [-2, 0, 2][usize::try_from(chance.below(3)).unwrap()];
            let step = step * Micros::SECOND;
            clock.0.store(step, Ordering::SeqCst);
            world.on.shift_clock(step).await;
        }
        let written = match store.commit(&writes).await {
            Ok(written) => written,
            // On a machine that is too busy for a batch's deadline nothing is
            // acknowledged, and the same leads come again, as a sender's would.
            Err(StoreError::Unavailable(_) | StoreError::Contended) if refused < REFUSALS => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("it commits: {error}"),
        };
        for written in written {
            for item in world::done(written).items {
                acknowledged.push(item.deal_id.expect("a deal").to_string());
                acknowledged.push(item.contact_id.expect("a contact").to_string());
            }
        }
        made += new;
        changes += 2 * new + new / 10;
    }
    acknowledged
}

async fn no_row_is_ever_missed(on: On) {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(Stepping::default());
    let mut hosts = Vec::new();
    for _ in 0..hosts_of(&on) {
        let store = open(&on.location(folder.path()), Arc::clone(&clock) as _).await;
        hosts.push(store.expect("it opens"));
    }
    on.shift_clock(0).await;
    let standing = leadhost::clock::ManualClock::at(world::START);
    let mut world = World::of(Arc::clone(&hosts[0]), standing, Box::new(folder)).await;
    world.on = on;
    let world = Arc::new(world);
    let done = Arc::new(AtomicBool::new(false));
    let feeds = [Entity::Deals, Entity::Contacts].map(|entity| {
        Arc::new(Feed::Store {
            store: Arc::clone(&hosts[hosts.len() - 1]),
            scope: world.scope,
            entity,
        })
    });
    let readers: Vec<_> = feeds
        .iter()
        .zip(1..)
        .map(|(feed, seed)| tokio::spawn(poll(Arc::clone(feed), Arc::clone(&done), seed)))
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (world, clock) = (Arc::clone(&world), Arc::clone(&clock));
            let host = Arc::clone(&hosts[writer % hosts.len()]);
            tokio::spawn(write(world, host, clock, writer))
        })
        .collect();
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.expect("a writer ends"));
    }
    done.store(true, Ordering::SeqCst);
    let mut known = HashMap::new();
    for (reader, feed) in readers.into_iter().zip(&feeds) {
        let mut client = reader.await.expect("a reader ends");
        assert_eq!(client.missed(feed).await, 0);
        assert_eq!(client.faults, Vec::<String>::new());
        known.extend(client.rows);
    }
    let lost = acknowledged.iter().filter(|id| !known.contains_key(*id));
    assert_eq!(lost.count(), 0, "every acknowledged row was exported");
    assert!(known.len() > changes_of(&world.on) / 2);
}

/// A file has one; on a database two write, and stamps are of one order all the same.
fn hosts_of(on: &On) -> usize {
    match on {
        On::Sqlite => 1,
        On::Postgres(_) => 2,
    }
}

// ---- stampers that look right

#[derive(Clone, Copy, Debug)]
enum Stamper {
    /// Under the lock, never at or below the last: the rule of the product.
    UnderTheLock,
    /// The wall clock, read before the lock is held: the start of the transaction.
    BeforeTheLock,
    /// A number drawn when the row is made, committed when its turn comes.
    SequenceBeforeTheLock,
    /// Under the lock, but nothing keeps it above the last when the clock steps back.
    ClockAlone,
    /// Under the lock, in whole milliseconds: many rows share one.
    Milliseconds,
}

const TABLE: &str = "
create table feed (
  id text primary key,
  cur integer not null,
  text text not null
)";

const INSERT: &str = "
insert into feed (id, cur, text)
values (?1, ?2, '')";

const LAST: &str = "
select coalesce(max(cur), 0)
from feed";

struct Table {
    connection: Mutex<SqliteConnection>,
    sequence: AtomicI64,
    clock: Stepping,
}

impl Table {
    async fn write(&self, stamper: Stamper, writer: usize, batches: usize) {
        let mut chance = Chance(77 + u64::try_from(writer).unwrap());
        for batch in 0..batches {
            let rows = 1 + i64::try_from(chance.below(5)).unwrap();
            let early = match stamper {
                Stamper::SequenceBeforeTheLock => {
                    self.sequence.fetch_add(rows, Ordering::SeqCst) + 1
                }
                _ => self.clock.now().0,
            };
            // What a request does between its stamp and its turn.
            for _ in 0..chance.below(8) {
                tokio::task::yield_now().await;
            }
            let mut connection = self.connection.lock().await;
            sqlx::query("begin immediate")
                .execute(&mut *connection)
                .await
                .expect("it begins");
            let last: i64 = sqlx::query(LAST)
                .fetch_one(&mut *connection)
                .await
                .expect("it reads")
                .get(0);
            let now = self.clock.now().0;
            let first = match stamper {
                Stamper::UnderTheLock => (last + rows).max(now) - rows + 1,
                Stamper::BeforeTheLock | Stamper::SequenceBeforeTheLock => early,
                Stamper::ClockAlone => now - rows + 1,
                Stamper::Milliseconds => (last + 1).max(now) / 1_000 * 1_000,
            };
            for row in 0..rows {
                let stamp = match stamper {
                    Stamper::Milliseconds => first,
                    _ => first + row,
                };
                sqlx::query(INSERT)
                    .bind(format!("{writer}-{batch}-{row}"))
                    .bind(stamp)
                    .execute(&mut *connection)
                    .await
                    .expect("it inserts");
            }
            sqlx::query("commit")
                .execute(&mut *connection)
                .await
                .expect("it commits");
            if chance.below(10) == 0 {
                let step = [-2, 0, 2][usize::try_from(chance.below(3)).unwrap()];
                let step = match stamper {
                    Stamper::UnderTheLock | Stamper::ClockAlone => step,
                    _ => 0,
                };
                self.clock.0.store(step * Micros::SECOND, Ordering::SeqCst);
            }
        }
    }
}

/// Rows missed and other faults, of a table stamped so.
async fn try_stamper(stamper: Stamper) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("feed.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(sqlx::sqlite::SqliteSynchronous::Off);
    let mut writer = options.connect().await.expect("it opens");
    sqlx::query(TABLE)
        .execute(&mut writer)
        .await
        .expect("a table");
    let reader = options.connect().await.expect("it opens again");
    let table = Arc::new(Table {
        connection: Mutex::new(writer),
        sequence: AtomicI64::new(0),
        clock: Stepping::default(),
    });
    let feed = Arc::new(Feed::Table(Mutex::new(reader)));
    let done = Arc::new(AtomicBool::new(false));
    let client = tokio::spawn(poll(Arc::clone(&feed), Arc::clone(&done), 5));
    let writers: Vec<_> = (0..6)
        .map(|writer| {
            let table = Arc::clone(&table);
            tokio::spawn(async move { table.write(stamper, writer, 150).await })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer ends");
    }
    done.store(true, Ordering::SeqCst);
    let mut client = client.await.expect("the reader ends");
    let missed = client.missed(&feed).await;
    (missed, client.faults.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reader_finds_nothing_wrong_with_the_right_stamper() {
    assert_eq!(try_stamper(Stamper::UnderTheLock).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reader_catches_stampers_that_only_look_right() {
    for stamper in [
        Stamper::BeforeTheLock,
        Stamper::SequenceBeforeTheLock,
        Stamper::ClockAlone,
    ] {
        let (missed, _) = try_stamper(stamper).await;
        assert!(missed > 0, "{stamper:?} lost nothing that was noticed");
    }
    // Ties lose rows only at the edge of a page; that they are ties is seen always.
    let (_, faults) = try_stamper(Stamper::Milliseconds).await;
    assert!(faults > 0, "ties went unnoticed");
}
