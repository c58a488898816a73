//! The connections to one PostgreSQL database, and transactions that name the
//! workspaces whose rows they may see.
//!
//! Every connection serves as [`ROLE`], which owns nothing and cannot pass the
//! policies, with timeouts of its own, so that a server-side wait ends by itself.
//! A connection goes back to the pool only after a clean end of its transaction:
//! one that failed, or whose future was dropped, is closed, so that nothing half
//! done leaks into the next.

use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Postgres, Row as _};
use uuid::Uuid;

use super::error;
use super::reach::Reach;
use super::server;
use crate::domain::id::WorkspaceId;
use crate::limits;
use crate::store::seen::Seen;
use crate::store::{Pool, StoreError};

/// Whose rights the service has: it owns no table and cannot bypass a policy.
pub const ROLE: &str = "leadhost_service";

/// Where the tables are, so that the database may hold other things too.
pub const SCHEMA: &str = "leadhost";

/// What each connection says first. The role last: it may change no setting of the others.
///
/// Every query here is led by what is asked for, and an index answers, in its own
/// order. A plan that reads a table from end to end, or all that an index leads to
/// before it sorts, looks cheap while the table is small, is kept for as long as
/// the connection, and is a disaster when the table has grown. A plan is one for any
/// parameters, from the first time on: what tests have seen is what serves.
#[doc(hidden)]
pub const HELLO: &str = "
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set plan_cache_mode = force_generic_plan;
set jit = off;
set search_path = leadhost;
set timezone = 'UTC';
set synchronous_commit = on;
set lock_timeout = '2s';
set statement_timeout = '5s';
set idle_in_transaction_session_timeout = '5s';
set role leadhost_service";

/// Connections beside the pool: hosts say seldom and little.
const ASIDE: u32 = 2;

pub struct Db {
    options: PgConnectOptions,
    pool: PgPool,
    /// For batches of leads alone.
    writers: PgPool,
    /// What keeps a host among the others does not wait behind requests.
    aside: PgPool,
    connections: u32,
    reach: Arc<Reach>,
    seen: Arc<Seen>,
}

/// How a transaction is found again when the answer to its commit was lost.
#[derive(Clone, Debug)]
pub struct Trace {
    pub batch: Uuid,
    /// The server's process that has it, and the number that it gave to it.
    pub backend: i32,
    pub number: String,
}

/// What each connection for batches says beside [`HELLO`]: the mark of a batch is planned
/// once, and goes out with the words that begin it. It is named after its table, so that
/// the words of a batch tell it from other transactions.
const PREPARE_MARK: &str = "
prepare mark_in_commit_markers (uuid) as
insert into commit_markers (batch_id) values ($1)
returning pg_backend_pid() as backend, pg_current_xact_id()::xid::text as number";

/// The workspaces whose rows a transaction may see.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    /// None: only what belongs to no tenant.
    Exempt,
    Of(&'a [WorkspaceId]),
    /// For operators' verbs and periodic work.
    All,
}

impl Db {
    /// Does not connect yet.
    pub fn new(url: &str, connections: u32, seen: Arc<Seen>) -> Result<Self, StoreError> {
        check_parameters(url)?;
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| StoreError::Open(format!("store.url is not understood: {error}")))?
            .application_name("leadhost")
            .statement_cache_capacity(200)
            .disable_statement_logging();
        // Of a few connections one writes; somebody has to read.
        let writers = limits::STORE_WRITERS.min(connections / 2).max(1);
        let readers = connections.saturating_sub(writers).max(1);
        let most = limits::STORE_ASKED_PER_CONNECTION.saturating_mul(readers as usize);
        let reach = Arc::new(Reach::new(most));
        let pool_of = |most: u32, more: Option<&'static str>| {
            let known = Arc::clone(&reach);
            let kept = Arc::clone(&reach);
            let connected = Arc::clone(&seen);
            PgPoolOptions::new()
                .max_connections(most)
                .acquire_timeout(Duration::from_secs(limits::STORE_ACQUIRE_SECONDS))
                .test_before_acquire(false)
                .before_acquire(move |_, connection| {
                    let usable = !known.is_of_before(connection.age);
                    Box::pin(std::future::ready(Ok(usable)))
                })
                .after_release(move |_, connection| {
                    // An error closes it without a word, which it may not hear.
                    let kept = kept.may_be_kept(connection.age);
                    let kept = kept.then_some(true).ok_or(sqlx::Error::PoolClosed);
                    Box::pin(std::future::ready(kept))
                })
                .after_connect(move |connection, _| {
                    let seen = Arc::clone(&connected);
                    Box::pin(async move {
                        connection.execute(HELLO).await?;
                        if let Some(more) = more {
                            connection.execute(more).await?;
                        }
                        if let Some(server) = server::of(connection).await? {
                            seen.connected(&server);
                        }
                        Ok(())
                    })
                })
                .connect_lazy_with(options.clone())
        };
        Ok(Self {
            pool: pool_of(readers, None),
            writers: pool_of(writers, Some(PREPARE_MARK)),
            aside: pool_of(ASIDE, None),
            options,
            connections,
            reach,
            seen,
        })
    }

    /// For statements that stand alone and touch only exempt tables.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// The same, for what tells that this host lives: also while the pool is exhausted.
    pub fn aside(&self) -> &PgPool {
        &self.aside
    }

    /// A connection of its own as the login role, without the timeouts: for migrations.
    pub async fn owner(&self) -> Result<PgConnection, sqlx::Error> {
        self.options.connect().await
    }

    /// How to reach the database, for a connection of another kind.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// What was seen of the store before.
    pub fn seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// Whether the database can be reached.
    pub fn reach(&self) -> &Arc<Reach> {
        &self.reach
    }

    pub fn use_of_pool(&self) -> Pool {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Pool {
            open: self.pool.size() + self.writers.size(),
            idle: number(self.pool.num_idle() + self.writers.num_idle()),
            most: self.connections,
            asked: number(self.reach.asked()),
        }
    }

    /// A connection for statements that stand alone and touch only exempt tables.
    pub async fn alone(&self) -> Result<Transaction, StoreError> {
        Ok(Transaction {
            connection: self.pool.acquire().await?,
            ended: true,
            unread: false,
        })
    }

    /// The same beside the pool.
    pub async fn alone_aside(&self) -> Result<Transaction, StoreError> {
        Ok(Transaction {
            connection: self.aside.acquire().await?,
            ended: true,
            unread: false,
        })
    }

    /// A transaction that writes; what it reads and locks is the newest.
    pub async fn begin(&self, rows: Rows<'_>) -> Result<Transaction, StoreError> {
        Box::pin(self.start(&self.pool, "begin", rows, true)).await
    }

    /// A transaction for a batch of leads, on a connection that nobody reads with. It
    /// leaves this mark, by which its outcome is found out if the answer to its commit
    /// is lost.
    pub async fn begin_batch(
        &self,
        rows: Rows<'_>,
        mark: Uuid,
    ) -> Result<(Transaction, Trace), StoreError> {
        let mut sql = String::from("begin");
        rows.name(&mut sql);
        write!(sql, "; execute mark_in_commit_markers ('{mark}')").expect("a string takes all");
        let (transaction, row) = Box::pin(self.begun(&self.writers, &sql, true)).await?;
        let row = row.ok_or_else(|| StoreError::Inconsistent {
            what: "a batch without its mark".to_owned(),
        })?;
        let trace = Trace {
            batch: mark,
            backend: row.try_get("backend")?,
            number: row.try_get("number")?,
        };
        Ok((transaction, trace))
    }

    /// A transaction that reads, all of it from one snapshot.
    pub async fn snapshot(&self, rows: Rows<'_>) -> Result<Transaction, StoreError> {
        let begin = "begin isolation level repeatable read read only";
        Box::pin(self.start(&self.pool, begin, rows, false)).await
    }

    /// After a restart of the server every pooled connection is dead, which shows
    /// at its first word: nothing was done yet, so the next one is tried.
    ///
    /// Boxed by its callers: it is large, and part of every verb.
    async fn start(
        &self,
        pool: &PgPool,
        begin: &str,
        rows: Rows<'_>,
        writes: bool,
    ) -> Result<Transaction, StoreError> {
        let mut sql = String::from(begin);
        rows.name(&mut sql);
        Ok(self.begun(pool, &sql, writes).await?.0)
    }

    /// The transaction, and the last row that its first words gave.
    async fn begun(
        &self,
        pool: &PgPool,
        sql: &str,
        writes: bool,
    ) -> Result<(Transaction, Option<PgRow>), StoreError> {
        let mut dead = 0;
        loop {
            if writes {
                self.seen.opens().await;
            }
            let connection = pool.acquire().await?;
            // A new one may be the first to another server.
            if writes && !self.seen.is_open() {
                continue;
            }
            let mut transaction = Transaction {
                connection,
                ended: false,
                unread: false,
            };
            // One round trip. What is put in are ids of ours: digits and hyphens.
            let begun = transaction.fetch_all(AssertSqlSafe(sql)).await;
            match begun {
                Ok(rows) => return Ok((transaction, rows.into_iter().next_back())),
                Err(error) if dead <= self.connections && error::is_connection_lost(&error) => {
                    dead += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What a URL may say beside user, host and database. The driver passes over
/// what it does not know, and a misspelt `sslmode` would be no encryption.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

fn check_parameters(url: &str) -> Result<(), StoreError> {
    let Ok(url) = url::Url::parse(url) else {
        // The driver says what is wrong.
        return Ok(());
    };
    for (name, _) in url.query_pairs() {
        if !PARAMETERS.contains(&&*name) && !name.starts_with("options[") {
            return Err(StoreError::Open(format!(
                "store.url has a parameter `{name}`, which there is not; there are {}",
                PARAMETERS.join(", ")
            )));
        }
    }
    Ok(())
}

impl Rows<'_> {
    fn name(self, sql: &mut String) {
        match self {
            Self::Exempt => {}
            Self::Of(workspaces) => {
                sql.push_str("; set local app.ws = '{");
                for (at, workspace) in workspaces.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(sql, "{comma}{workspace}").expect("a string takes all");
                }
                sql.push_str("}'");
            }
            Self::All => sql.push_str(
                "; select set_config('app.ws', coalesce((select array_agg(id) from workspaces), '{}')::text, true)",
            ),
        }
    }
}

/// A transaction: committed, or as if it had never been. It is the connection.
pub struct Transaction {
    connection: PoolConnection<Postgres>,
    ended: bool,
    /// An answer was not read to its end.
    unread: bool,
}

impl Transaction {
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.end("commit").await?)
    }

    /// Undoes all of it, on purpose; also how a snapshot ends.
    pub async fn rollback(self) -> Result<(), StoreError> {
        if self.unread {
            return Ok(());
        }
        Ok(self.end("rollback").await?)
    }

    /// The rest of an answer is not wanted: the connection is closed with it.
    pub(super) fn leave_unread(&mut self) {
        self.ended = false;
        self.unread = true;
    }

    /// Names more workspaces than the beginning knew of; those of before are forgotten.
    pub async fn name(&mut self, workspaces: &[WorkspaceId]) -> Result<(), StoreError> {
        let mut sql = String::from("select 1");
        Rows::Of(workspaces).name(&mut sql);
        self.execute(AssertSqlSafe(sql)).await?;
        Ok(())
    }

    pub(super) async fn end(mut self, how: &'static str) -> Result<(), sqlx::Error> {
        self.execute(how).await?;
        self.ended = true;
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended {
            self.connection.close_on_drop();
        }
    }
}
