//! Stampers that look right, and the product's own, each at the moment at which it can
//! fail: of two writers the one that began first commits last, and a client reads in
//! between. In a file writers take turns, so a stamp is wrong only if it is taken
//! before or without the lock; in a database transactions overlap.

use std::sync::Arc;

use leadhost_domain::clock::Clock as _;
use leadhost_tests::postgres::Database;
use leadhost_tests::{On, Random, until};
use rusqlite::Connection;
use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use tokio::sync::Mutex;

use super::Stepping;
use super::client::{FeedClient, Feeds, StampPrecision};
use super::feed::{Feed, TABLE_PAGE};

/// The outcome for the client.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    passed_over: usize,
    faults: usize,
}

const NOTHING: Outcome = Outcome {
    passed_over: 0,
    faults: 0,
};

const A_ROW_IS_LOST: Outcome = Outcome {
    passed_over: 1,
    faults: 0,
};

/// A client that keeps the greatest stamp completely, and its feed.
struct Watch {
    client: FeedClient,
    feeds: Feeds,
}

impl Watch {
    fn over(feed: Feed) -> Self {
        Self {
            client: FeedClient::new(Random::from_seed(5, 5), StampPrecision::All),
            feeds: Feeds {
                feeds: vec![feed],
                clock: None,
            },
        }
    }

    async fn pull(&mut self) {
        self.client.catch_up(&self.feeds).await;
    }

    /// Reads the feed to its end, which has this many rows. The hybrid shows a row
    /// only after every older transaction on the whole server has ended.
    async fn outcome(mut self, rows: usize) -> Outcome {
        let truth = until("the feed shows every row", async || {
            let all = self.feeds.feeds[0].all().await;
            (all.len() == rows).then_some(all)
        })
        .await;
        self.pull().await;
        Outcome {
            passed_over: self.client.passed_over(&truth),
            faults: self.client.faults().len(),
        }
    }
}

const INSERT: &str = "
insert into feed (id, cur)
values ($1, $2)";

// ---- in a file

#[derive(Clone, Copy, Debug)]
enum InFile {
    /// Under the lock, always above the last one: the product's rule.
    UnderTheLock,
    /// The wall clock, read before the lock is taken: at the start of the transaction.
    BeforeTheLock,
    /// A number drawn when the row is made, committed when its turn comes.
    SequenceBeforeTheLock,
    /// Under the lock, but not forced above the last one when the clock jumps back.
    ClockAlone,
    /// Under the lock, in whole milliseconds: many rows share one.
    Milliseconds,
}

const FILE: &str = "
create table feed (
  id text primary key,
  cur integer not null
)";

const LAST: &str = "
select coalesce(max(cur), 0)
from feed";

struct StampedFile {
    stamper: InFile,
    connection: Connection,
    drawn: i64,
    clock: Stepping,
}

impl StampedFile {
    /// The stamp that a writer may take before its turn.
    fn early(&mut self) -> i64 {
        match self.stamper {
            InFile::SequenceBeforeTheLock => {
                self.drawn += 1;
                self.drawn
            }
            _ => self.clock.now().0,
        }
    }

    /// Its turn: a transaction of these rows.
    fn commit(&mut self, early: i64, rows: &[&str]) {
        let begun = self.connection.execute_batch("begin immediate");
        begun.expect("it begins");
        let last = self.connection.query_row(LAST, [], |row| row.get(0));
        let last: i64 = last.expect("it reads");
        let now = self.clock.now().0;
        for (row, id) in (0..).zip(rows) {
            let stamp = match self.stamper {
                InFile::UnderTheLock => now.max(last + 1) + row,
                InFile::BeforeTheLock | InFile::SequenceBeforeTheLock => early + row,
                InFile::ClockAlone => now + row,
                InFile::Milliseconds => (now.max(last) / 1_000 + 1) * 1_000,
            };
            let inserted = self.connection.execute(INSERT, (id, stamp));
            inserted.expect("it inserts");
        }
        let ended = self.connection.execute_batch("commit");
        ended.expect("it commits");
    }
}

/// The first writer's turn comes last, with a clock that jumps back and forth.
async fn in_file(stamper: InFile) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || {
        let connection = Connection::open(folder.path().join("feed.db")).expect("it opens");
        let set = "pragma journal_mode = wal; pragma synchronous = off";
        connection.execute_batch(set).expect("it is set");
        connection
    };
    let (connection, reader) = (open(), open());
    connection.execute_batch(FILE).expect("a table");
    let mut watch = Watch::over(Feed::File(Mutex::new(reader)));
    let mut file = StampedFile {
        stamper,
        connection,
        drawn: 0,
        clock: Stepping::default(),
    };
    let first = file.early();
    file.clock.step_to(2_000_000);
    let second = file.early();
    file.commit(second, &["second"]);
    watch.pull().await;
    file.clock.step_to(0);
    file.commit(first, &["first", "and another of its own"]);
    watch.outcome(3).await
}

#[tokio::test]
async fn the_stamping_of_the_service_passes_the_feed_check_in_a_file() {
    assert_eq!(in_file(InFile::UnderTheLock).await, NOTHING);
}

#[tokio::test]
async fn the_feed_check_detects_wrong_stamping_in_a_file() {
    for stamper in [
        InFile::BeforeTheLock,
        InFile::SequenceBeforeTheLock,
        InFile::ClockAlone,
    ] {
        let outcome = in_file(stamper).await;
        assert!(outcome.passed_over > 0, "{stamper:?}: nothing was noticed");
    }
    let outcome = in_file(InFile::Milliseconds).await;
    assert!(outcome.faults > 0, "ties went unnoticed");
}

// ---- in a database

#[derive(Clone, Copy, Debug)]
enum InDatabase {
    /// From a row that stays locked until the commit: the product's rule.
    ClockRow,
    /// The wall clock when the row is made.
    InsertTime,
    /// The wall clock when the transaction began.
    TransactionStart,
    /// The next number when the row is made.
    Sequence,
    /// The next number, and readers see only rows older than every running
    /// transaction. The number is drawn before the transaction has an id.
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

const WAITS: &str = "
select cardinality(pg_blocking_pids($1::int)) > 0";

/// A transaction that writes one row.
struct TransactionWriter {
    stamper: InDatabase,
    connection: PgConnection,
    id: &'static str,
}

impl TransactionWriter {
    async fn begin(&mut self) -> i64 {
        let sql = match self.stamper {
            InDatabase::ClockRow => TAKE,
            InDatabase::InsertTime => INSERT_TIME,
            InDatabase::TransactionStart => TRANSACTION_START,
            InDatabase::Sequence => NEXT,
            // Before the start: one draw in some dozens writes the sequence, and would
            // give the transaction its id.
            InDatabase::Hybrid => {
                let stamp = self.number(NEXT).await;
                self.start().await;
                return stamp;
            }
        };
        self.start().await;
        self.number(sql).await
    }

    async fn start(&mut self) {
        let begun = self.connection.execute("begin").await;
        begun.expect("it begins");
    }

    async fn number(&mut self, sql: &'static str) -> i64 {
        let number = sqlx::query(sql).fetch_one(&mut self.connection).await;
        number.expect("a number").get(0)
    }

    async fn commit(&mut self, stamp: i64) {
        let inserted = sqlx::query(INSERT)
            .bind(self.id)
            .bind(stamp)
            .execute(&mut self.connection)
            .await;
        inserted.expect("it inserts");
        let ended = self.connection.execute("commit").await;
        ended.expect("it commits");
    }

    async fn pid(&mut self) -> i64 {
        self.number("select pg_backend_pid()::bigint").await
    }
}

/// A reader and two writers.
struct Stage {
    watch: Watch,
    first: TransactionWriter,
    second: TransactionWriter,
    database: Arc<Database>,
}

/// `None` if no server is available.
async fn in_database(stamper: InDatabase) -> Option<Stage> {
    let On::Postgres(database) = On::postgres().await? else {
        unreachable!("it is one on a server");
    };
    let mut reader = database.connect().await;
    reader.execute(DATABASE).await.expect("tables");
    let page = match stamper {
        InDatabase::Hybrid => OLDER_PAGE,
        _ => TABLE_PAGE,
    };
    let mut writers = Vec::new();
    for id in ["first", "second"] {
        writers.push(TransactionWriter {
            stamper,
            connection: database.connect().await,
            id,
        });
    }
    let [first, second] = writers.try_into().ok().expect("two writers");
    Some(Stage {
        watch: Watch::over(Feed::Database(Mutex::new(reader), page)),
        first,
        second,
        database,
    })
}

#[tokio::test]
async fn the_stamping_of_the_service_passes_the_feed_check_in_a_database() {
    let Some(stage) = in_database(InDatabase::ClockRow).await else {
        return;
    };
    let (mut watch, mut first, mut second) = (stage.watch, stage.first, stage.second);
    let mut aside = stage.database.connect().await;
    let stamp = first.begin().await;
    let pid = second.pid().await;
    let waiting = tokio::spawn(async move {
        let stamp = second.begin().await;
        second.commit(stamp).await;
    });
    until("the second writer waits for the first", async || {
        let waits = sqlx::query(WAITS).bind(pid).fetch_one(&mut aside).await;
        waits.expect("it reads").get::<bool, _>(0).then_some(())
    })
    .await;
    watch.pull().await;
    first.commit(stamp).await;
    waiting.await.expect("the second writer ends");
    assert!(!watch.client.knows("first"), "the client looked too late");
    assert_eq!(watch.outcome(2).await, NOTHING);
}

#[tokio::test]
async fn the_feed_check_detects_wrong_stamping_in_a_database() {
    for stamper in [
        InDatabase::InsertTime,
        InDatabase::TransactionStart,
        InDatabase::Sequence,
        InDatabase::Hybrid,
    ] {
        let Some(stage) = in_database(stamper).await else {
            return;
        };
        let (mut watch, mut first, mut second) = (stage.watch, stage.first, stage.second);
        let stamp = first.begin().await;
        let later = second.begin().await;
        second.commit(later).await;
        until("the client sees the second row", async || {
            watch.pull().await;
            watch.client.knows("second").then_some(())
        })
        .await;
        first.commit(stamp).await;
        assert_eq!(watch.outcome(2).await, A_ROW_IS_LOST, "{stamper:?}");
    }
}
