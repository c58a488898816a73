//! Stampers that look right, and the rule of the product among them. In a file
//! writers take turns, so a stamp goes wrong before or without the lock; in a
//! database transactions overlap, and those that were stamped first commit last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use leadhost::clock::Clock as _;
use leadhost::domain::time::Micros;
use leadhost_tests::On;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Executor as _, Row as _};
use tokio::sync::Mutex;

use super::client::{Client, Feeds, Keeps};
use super::feed::{Feed, TABLE_PAGE};
use super::{Chance, Stepping};

/// What came of it for the client.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    passed_over: usize,
    faults: usize,
}

const NOTHING: Outcome = Outcome {
    passed_over: 0,
    faults: 0,
};

const WRITERS: usize = 6;

/// Runs in which something has to be noticed: on a busy machine a client may
/// sleep through one.
const RUNS: usize = 10;

/// A client polls until the writers are done; what it passed over then.
async fn watch(feed: Feed, writers: Vec<tokio::task::JoinHandle<()>>) -> Outcome {
    let feeds = Arc::new(Feeds {
        feeds: vec![feed],
        clock: None,
    });
    let done = Arc::new(AtomicBool::new(false));
    let polling = tokio::spawn({
        let (feeds, done) = (Arc::clone(&feeds), Arc::clone(&done));
        async move {
            let mut client = Client::new(Chance::of(5, 5), Keeps::All);
            client.poll(&feeds, &done, true).await;
            client
        }
    });
    for writer in writers {
        writer.await.expect("a writer ends");
    }
    done.store(true, Ordering::SeqCst);
    let client = polling.await.expect("the client ends");
    let truth = feeds.feeds[0].all().await;
    Outcome {
        passed_over: client.passed_over(&truth),
        faults: client.faults().len(),
    }
}

// ---- in a file

#[derive(Clone, Copy, Debug)]
enum InFile {
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

const FILE: &str = "
create table feed (
  id text primary key,
  cur integer not null
)";

const INSERT: &str = "
insert into feed (id, cur)
values ($1, $2)";

const LAST: &str = "
select coalesce(max(cur), 0)
from feed";

struct File {
    connection: Mutex<SqliteConnection>,
    sequence: AtomicI64,
    clock: Stepping,
}

impl File {
    async fn write(&self, stamper: InFile, writer: usize, batches: usize) {
        let mut chance = Chance::of(77, writer);
        for batch in 0..batches {
            let rows = 1 + i64::try_from(chance.below(5)).unwrap();
            let early = match stamper {
                InFile::SequenceBeforeTheLock => {
                    self.sequence.fetch_add(rows, Ordering::SeqCst) + 1
                }
                _ => self.clock.now().0,
            };
            // What a request does between its stamp and its turn.
            for _ in 0..chance.below(8) {
                tokio::task::yield_now().await;
            }
            let mut connection = self.connection.lock().await;
            let begun = connection.execute("begin immediate").await;
            begun.expect("it begins");
            let last = sqlx::query(LAST).fetch_one(&mut *connection).await;
            let last: i64 = last.expect("it reads").get(0);
            let now = self.clock.now().0;
            let first = match stamper {
                InFile::UnderTheLock => (last + rows).max(now) - rows + 1,
                InFile::BeforeTheLock | InFile::SequenceBeforeTheLock => early,
                InFile::ClockAlone => now - rows + 1,
                InFile::Milliseconds => (last + 1).max(now) / 1_000 * 1_000,
            };
            for row in 0..rows {
                let stamp = match stamper {
                    InFile::Milliseconds => first,
                    _ => first + row,
                };
                let inserted = sqlx::query(INSERT)
                    .bind(format!("{writer}-{batch}-{row}"))
                    .bind(stamp)
                    .execute(&mut *connection)
                    .await;
                inserted.expect("it inserts");
            }
            let ended = connection.execute("commit").await;
            ended.expect("it commits");
            if chance.one_in(10) {
                let step = [-2, 0, 2][chance.count(3)];
                let step = match stamper {
                    InFile::UnderTheLock | InFile::ClockAlone => step,
                    _ => 0,
                };
                self.clock.step_to(step * Micros::SECOND);
            }
        }
    }
}

async fn in_file(stamper: InFile) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("feed.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(sqlx::sqlite::SqliteSynchronous::Off);
    let mut writer = options.connect().await.expect("it opens");
    writer.execute(FILE).await.expect("a table");
    let reader = options.connect().await.expect("it opens again");
    let file = Arc::new(File {
        connection: Mutex::new(writer),
        sequence: AtomicI64::new(0),
        clock: Stepping::default(),
    });
    let writers = (0..WRITERS).map(|writer| {
        let file = Arc::clone(&file);
        tokio::spawn(async move { file.write(stamper, writer, 150).await })
    });
    watch(Feed::File(Mutex::new(reader)), writers.collect()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_finds_nothing_wrong_with_the_right_stamper() {
    assert_eq!(in_file(InFile::UnderTheLock).await, NOTHING);
    if let Some(outcome) = in_database(InDatabase::ClockRow).await {
        assert_eq!(outcome, NOTHING);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_catches_stampers_in_a_file_that_only_look_right() {
    for stamper in [
        InFile::BeforeTheLock,
        InFile::SequenceBeforeTheLock,
        InFile::ClockAlone,
    ] {
        let mut passed_over = 0;
        for _ in 0..RUNS {
            passed_over += in_file(stamper).await.passed_over;
            if passed_over > 0 {
                break;
            }
        }
        assert!(passed_over > 0, "{stamper:?}: nothing was noticed");
    }
    // Ties lose rows only at the edge of a page; that they are ties is seen always.
    let outcome = in_file(InFile::Milliseconds).await;
    assert!(outcome.faults > 0, "ties went unnoticed");
}

// ---- in a database

#[derive(Clone, Copy, Debug)]
enum InDatabase {
    /// From a row that stays locked until the commit: the rule of the product.
    ClockRow,
    /// The wall clock when the row is made.
    InsertTime,
    /// The wall clock when the transaction began.
    TransactionStart,
    /// The next number when the row is made.
    Sequence,
    /// That, and readers see only what is older than every transaction under way.
    /// The number is drawn before the transaction has one of its own.
    Hybrid,
}

const DATABASE: &str = "
create table feed (
  id text primary key,
  cur bigint not null,
  transaction xid8 not null default pg_current_xact_id()
);
create sequence turn;
create table clock (last bigint not null);
insert into clock values (0)";

const OLDER_PAGE: &str = "
with seen as (
  select cur, id
  from feed
  where transaction < pg_snapshot_xmin(pg_current_snapshot())
)
select cur, id, (select coalesce(max(cur), 0) from seen) as clock
from seen
where cur > $1
and cur <= coalesce($2, (select max(cur) from seen))
order by cur, id
limit $3";

const INSERT_TIME: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
const TRANSACTION_START: &str = "select (extract(epoch from now()) * 1000000)::bigint";
const NEXT: &str = "select nextval('turn')";
const TAKE: &str = "
update clock
set last = greatest(last + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
returning last";

impl InDatabase {
    fn stamp(self) -> &'static str {
        match self {
            Self::ClockRow => TAKE,
            Self::InsertTime => INSERT_TIME,
            Self::TransactionStart => TRANSACTION_START,
            Self::Sequence | Self::Hybrid => NEXT,
        }
    }

    fn page(self) -> &'static str {
        match self {
            Self::Hybrid => OLDER_PAGE,
            _ => TABLE_PAGE,
        }
    }

    async fn write(self, mut connection: PgConnection, writer: usize, batches: usize) {
        let mut chance = Chance::of(78, writer);
        for batch in 0..batches {
            let begun = connection.execute("begin").await;
            begun.expect("it begins");
            let stamp = sqlx::query(self.stamp()).fetch_one(&mut connection).await;
            let stamp: i64 = stamp.expect("a stamp").get(0);
            pause(&mut connection, chance.below(3)).await;
            let inserted = sqlx::query(INSERT)
                .bind(format!("{writer}-{batch}"))
                .bind(stamp)
                .execute(&mut connection)
                .await;
            inserted.expect("it inserts");
            pause(&mut connection, chance.below(3)).await;
            let ended = connection.execute("commit").await;
            ended.expect("it commits");
        }
    }
}

/// What else a transaction does.
async fn pause(connection: &mut PgConnection, milliseconds: u64) {
    let slept = sqlx::query("select pg_sleep($1::bigint / 1000.0)")
        .bind(i64::try_from(milliseconds).unwrap())
        .execute(connection)
        .await;
    slept.expect("it sleeps");
}

/// None where no server can be had.
async fn in_database(stamper: InDatabase) -> Option<Outcome> {
    let On::Postgres(database) = On::postgres().await? else {
        unreachable!("it is one on a server");
    };
    let mut reader = database.connect().await;
    reader.execute(DATABASE).await.expect("tables");
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let connection = database.connect().await;
        writers.push(tokio::spawn(stamper.write(connection, writer, 100)));
    }
    Some(watch(Feed::Database(Mutex::new(reader), stamper.page()), writers).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_catches_stampers_in_a_database_that_only_look_right() {
    for stamper in [
        InDatabase::InsertTime,
        InDatabase::TransactionStart,
        InDatabase::Sequence,
        InDatabase::Hybrid,
    ] {
        let mut passed_over = 0;
        for _ in 0..RUNS {
            let Some(outcome) = in_database(stamper).await else {
                return;
            };
            passed_over += outcome.passed_over;
            if passed_over > 0 {
                break;
            }
        }
        assert!(passed_over > 0, "{stamper:?}: nothing was noticed");
    }
}
