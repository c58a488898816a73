//! The connections to one PostgreSQL database, and transactions that name the workspaces
//! whose rows they may see.
//!
//! Every connection works as [`ROLE`], which owns no tables and cannot bypass the
//! policies, and has its own timeouts, so that a wait on the server ends by itself. A
//! connection returns to the pool only after its transaction has ended cleanly. If the
//! transaction failed or its future was dropped, the connection is closed, so that nothing
//! half done leaks into the next transaction.

use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::str::FromStr as _;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Postgres, Row as _};

use super::error;
use super::health::Health;
use super::server;
use crate::PoolUsage;
use crate::high_water_mark::HighWaterMark;
use crate::prelude::*;

/// The role of the service. It owns no table and cannot bypass a policy.
pub const ROLE: &str = "leadhost_service";

/// The schema of the tables, so that the database may contain other things too.
pub const SCHEMA: &str = "leadhost";

/// The first statements of each connection. The role comes last, because it may not change
/// the other settings.
///
/// Every query here starts from its parameters, and an index answers it in the order of
/// that index. A plan that scans a whole table, or that sorts everything an index leads
/// to, looks cheap while the table is small, is cached for as long as the connection
/// lives, and is a disaster once the table has grown. Plans are generic from the first
/// execution on, so the plans that the tests check are those that run in production.
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

/// Connections beside the pool, for the rare and small statements of a host.
const ASIDE: u32 = 2;

/// The connections to one PostgreSQL database. In a file, `sqlite::Db` takes their place, and
/// `Database` is either of them.
pub struct Db {
    options: PgConnectOptions,
    pool: PgPool,
    /// Only for batches of leads.
    writers: PgPool,
    /// For the statements that keep a host in the fleet, so that they do not wait behind
    /// requests.
    aside: PgPool,
    connections: u32,
    health: Arc<Health>,
    high_water_mark: Arc<HighWaterMark>,
}

/// Identifies a transaction whose commit status must be looked up because the answer to
/// its commit was lost.
#[derive(Clone, Debug)]
pub struct Trace {
    pub batch: Uuid,
    /// The server process that runs it, and its transaction number.
    pub backend: i32,
    pub number: String,
}

/// The statement that each connection for batches runs beside [`HELLO`]. The insert of a batch's mark is
/// planned once, and is sent together with the statements that begin the batch. It is
/// named after its table, so that its text distinguishes batches from other transactions.
const PREPARE_MARK: &str = "
prepare mark_in_commit_markers (uuid) as
insert into commit_markers (batch_id) values ($1)
returning pg_backend_pid() as backend, pg_current_xact_id()::xid::text as number";

/// The workspaces whose rows a transaction may see.
#[derive(Clone, Copy)]
pub enum VisibleRows<'a> {
    /// None: only rows that belong to no tenant.
    Exempt,
    Of(&'a [WorkspaceId]),
    /// All: for operations of operators and for periodic work.
    All,
}

impl Db {
    /// Creates the pools without connecting yet.
    pub fn new(
        url: &str,
        connections: u32,
        high_water_mark: Arc<HighWaterMark>,
    ) -> Result<Self, StoreError> {
        let options = read_url(url)?
            .application_name("leadhost")
            .statement_cache_capacity(200)
            .disable_statement_logging();
        // Even with few connections, one writes and at least one reads.
        let writers = limits::STORE_WRITERS.min(connections / 2).max(1);
        let readers = connections.saturating_sub(writers).max(1);
        let most = limits::STORE_ASKED_PER_CONNECTION.saturating_mul(readers as usize);
        let health = Arc::new(Health::new(most));
        let pool_of = |most: u32, more: Option<&'static str>| {
            let known = Arc::clone(&health);
            let kept = Arc::clone(&health);
            let connected = Arc::clone(&high_water_mark);
            PgPoolOptions::new()
                .max_connections(most)
                .acquire_timeout(limits::STORE_ACQUIRE_PATIENCE)
                .test_before_acquire(false)
                .before_acquire(move |_, connection| {
                    let usable = !known.is_of_before(connection.age);
                    Box::pin(std::future::ready(Ok(usable)))
                })
                .after_release(move |_, connection| {
                    // An error closes the connection without a goodbye message, which a
                    // dead server would not receive.
                    let kept = kept.may_be_reused(connection.age);
                    let kept = kept.then_some(true).ok_or(sqlx::Error::PoolClosed);
                    Box::pin(std::future::ready(kept))
                })
                .after_connect(move |connection, _| {
                    let high_water_mark = Arc::clone(&connected);
                    Box::pin(async move {
                        connection.execute(HELLO).await?;
                        if let Some(more) = more {
                            connection.execute(more).await?;
                        }
                        if let Some(server) = server::identity(connection).await? {
                            high_water_mark.connected(&server);
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
            health,
            high_water_mark,
        })
    }

    /// Returns the pool, for statements that stand alone and touch only exempt tables.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Returns the pool for statements that show that this host is alive. It works even
    /// while the main pool is exhausted.
    pub fn aside(&self) -> &PgPool {
        &self.aside
    }

    /// Opens a separate connection as the login role, without the timeouts: for
    /// migrations.
    pub async fn owner(&self) -> Result<PgConnection, sqlx::Error> {
        self.options.connect().await
    }

    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    pub fn high_water_mark(&self) -> &Arc<HighWaterMark> {
        &self.high_water_mark
    }

    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Returns the number of open and idle connections, of requests and of batches together,
    /// and the number of operations under way.
    pub fn use_of_pool(&self) -> PoolUsage {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        PoolUsage {
            open: self.pool.size() + self.writers.size(),
            idle: number(self.pool.num_idle() + self.writers.num_idle()),
            most: self.connections,
            asked: number(self.health.asked()),
        }
    }

    /// Returns a connection for statements that stand alone and touch only exempt tables.
    pub async fn alone(&self) -> Result<Transaction, StoreError> {
        Ok(Transaction {
            connection: self.pool.acquire().await?,
            ended: true,
            unread: false,
        })
    }

    /// Like [`Self::alone`], from the pool beside the main one.
    pub async fn alone_aside(&self) -> Result<Transaction, StoreError> {
        Ok(Transaction {
            connection: self.aside.acquire().await?,
            ended: true,
            unread: false,
        })
    }

    /// Begins a transaction that writes. It reads and locks the newest rows.
    pub async fn begin(&self, rows: VisibleRows<'_>) -> Result<Transaction, StoreError> {
        Box::pin(self.start(&self.pool, "begin", rows, true)).await
    }

    /// Begins a transaction for a batch of leads, on a connection that is not used for
    /// reads. It leaves this mark, by which its commit status is looked up if the answer
    /// to its commit is lost.
    pub async fn begin_batch(
        &self,
        rows: VisibleRows<'_>,
        mark: Uuid,
    ) -> Result<(Transaction, Trace), StoreError> {
        let mut sql = String::from("begin");
        rows.name(&mut sql);
        write!(sql, "; execute mark_in_commit_markers ('{mark}')").expect("a string takes all");
        let (transaction, row) = Box::pin(self.begun(&self.writers, &sql, true)).await?;
        let row = row.ok_or_else(|| StoreError::Inconsistent {
            what: "the mark of a batch was not returned".to_owned(),
        })?;
        let trace = Trace {
            batch: mark,
            backend: row.try_get("backend")?,
            number: row.try_get("number")?,
        };
        Ok((transaction, trace))
    }

    /// Begins a transaction that reads everything from one snapshot.
    pub async fn snapshot(&self, rows: VisibleRows<'_>) -> Result<Transaction, StoreError> {
        let begin = "begin isolation level repeatable read read only";
        Box::pin(self.start(&self.pool, begin, rows, false)).await
    }

    /// After a restart of the server every pooled connection is dead, which only its first
    /// statement shows. Nothing has been done by then, so the next connection is tried.
    ///
    /// The callers box this future: it is large and part of every operation.
    async fn start(
        &self,
        pool: &PgPool,
        begin: &str,
        rows: VisibleRows<'_>,
        writes: bool,
    ) -> Result<Transaction, StoreError> {
        let mut sql = String::from(begin);
        rows.name(&mut sql);
        Ok(self.begun(pool, &sql, writes).await?.0)
    }

    /// Returns the transaction, and the last row of its first statements.
    async fn begun(
        &self,
        pool: &PgPool,
        sql: &str,
        writes: bool,
    ) -> Result<(Transaction, Option<PgRow>), StoreError> {
        let mut dead = 0;
        loop {
            if writes {
                self.high_water_mark.opens().await;
            }
            let connection = pool.acquire().await?;
            // A new connection may be the first one to another server.
            if writes && !self.high_water_mark.is_open() {
                continue;
            }
            let mut transaction = Transaction {
                connection,
                ended: false,
                unread: false,
            };
            // One round trip. The inserted ids are our own: digits and hyphens.
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

/// The parameters that a URL may have beside user, host and database. The driver ignores
/// unknown ones, and a misspelt `sslmode` would silently disable encryption.
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

/// Reads a URL. The error does not repeat it: it may contain a password.
pub fn read_url(url: &str) -> Result<PgConnectOptions, StoreError> {
    check_parameters(url)?;
    PgConnectOptions::from_str(url).map_err(|error| {
        StoreError::Open(format!("store.url is not a valid PostgreSQL URL: {error}"))
    })
}

fn check_parameters(url: &str) -> Result<(), StoreError> {
    let Ok(url) = url::Url::parse(url) else {
        // The driver reports what is wrong.
        return Ok(());
    };
    for (name, _) in url.query_pairs() {
        if !PARAMETERS.contains(&&*name) && !name.starts_with("options[") {
            return Err(StoreError::Open(format!(
                "store.url has an unknown parameter `{name}`; the known parameters are {}",
                PARAMETERS.join(", ")
            )));
        }
    }
    Ok(())
}

impl VisibleRows<'_> {
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

/// A transaction, together with its connection. It commits completely or not at all.
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

    /// Rolls back on purpose. A snapshot ends in this way too.
    pub async fn rollback(self) -> Result<(), StoreError> {
        if self.unread {
            return Ok(());
        }
        Ok(self.end("rollback").await?)
    }

    /// Skips the rest of an answer. The connection is closed with it.
    pub(super) fn leave_unread(&mut self) {
        self.ended = false;
        self.unread = true;
    }

    /// Names further workspaces, which were not known at the beginning. The earlier ones
    /// are forgotten.
    pub async fn name(&mut self, workspaces: &[WorkspaceId]) -> Result<(), StoreError> {
        let mut sql = String::from("select 1");
        VisibleRows::Of(workspaces).name(&mut sql);
        self.execute(AssertSqlSafe(sql)).await?;
        Ok(())
    }

    /// Ends the transaction with this statement, `commit` or `rollback`.
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
