//! The store that a test runs on. A test that holds on every store is a function of
//! an [`On`], and [`on_every_store!`](crate::on_every_store) makes two tests of it,
//! with the store in their names.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leadhost_config::StoreUrl;
use leadhost_domain::time::Micros;
use leadhost_store::StoreLocation;
use rusqlite::{Connection, OpenFlags};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::postgres::{self, Database};

/// Connections of one host in a test: enough for concurrent requests, few enough
/// that many tests share a server.
pub const CONNECTIONS: u32 = 8;

#[derive(Clone)]
pub enum On {
    /// A file in the service's own folder.
    Sqlite,
    /// A database, which several services may share. It is dropped with the last
    /// reference.
    Postgres(Arc<Database>),
}

impl On {
    /// Creates a database for the test. `None`, after printing the reason, if no
    /// server is available.
    pub async fn postgres() -> Option<Self> {
        let database = postgres::database().await?;
        Some(Self::Postgres(Arc::new(database)))
    }

    /// The location, for a test that opens the store itself.
    pub fn location(&self, folder: &Path) -> StoreLocation {
        match self {
            Self::Sqlite => StoreLocation::File(folder.join("leadhost.db")),
            Self::Postgres(database) => StoreLocation::Postgres {
                url: StoreUrl::new(database.url()),
                connections: CONNECTIONS,
            },
        }
    }

    /// As the setting `store.url` has it.
    pub fn url(&self) -> &str {
        match self {
            Self::Sqlite => "",
            Self::Postgres(database) => database.url(),
        }
    }

    /// Runs a query of one number directly on the store.
    pub async fn count(&self, folder: &Path, query: &'static str) -> i64 {
        match self {
            Self::Sqlite => {
                let file = folder.join("leadhost.db");
                let connection =
                    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
                        .expect("the file is there");
                let found = connection.query_row(query, [], |row| row.get(0));
                found.expect("a query of one number")
            }
            Self::Postgres(database) => {
                let mut connection = database.connect().await;
                let there = connection.execute("set search_path = leadhost").await;
                there.expect("the server answers");
                let found = sqlx::query_scalar(query).fetch_one(&mut connection).await;
                found.expect("a query of one number")
            }
        }
    }

    /// Changes the store directly with statements that every store understands. All
    /// of them run, or none.
    pub async fn change(&self, folder: &Path, sql: &str) {
        match self {
            Self::Sqlite => {
                let connection = Connection::open(folder.join("leadhost.db"));
                let connection = connection.expect("the file is there");
                let patient = connection.busy_timeout(Duration::from_secs(10));
                patient.expect("it waits");
                let done = connection.execute_batch(&format!("begin immediate; {sql}; commit"));
                done.expect("it changes");
            }
            Self::Postgres(database) => {
                let mut connection = database.connect().await;
                let whole = AssertSqlSafe(format!("set search_path = leadhost; {sql}"));
                let done = sqlx::raw_sql(whole).execute(&mut connection).await;
                done.expect("it changes");
            }
        }
    }

    /// Formats an id for a statement of [`On::change`].
    pub fn id(&self, id: impl Into<Uuid>) -> String {
        let id = id.into();
        match self {
            Self::Sqlite => format!("x'{}'", id.simple()),
            Self::Postgres(_) => format!("'{id}'"),
        }
    }

    /// Sets the time that the store itself reads to this moment, and stops it there.
    /// On SQLite that is the clock that the store was opened with.
    pub async fn turn_clock(&self, now: Micros) {
        if let Self::Postgres(database) = self {
            database.turn_clock(now).await;
        }
    }

    /// Lets the time that the store itself reads run, this many microseconds ahead
    /// of the machine's clock.
    pub async fn shift_clock(&self, shift: i64) {
        if let Self::Postgres(database) = self {
            database.shift_clock(shift).await;
        }
    }
}

/// Makes a test of each listed function for each store, in the modules `on_sqlite`
/// and `on_postgres`. The list may start with another attribute instead of
/// `#[tokio::test]`. A function that is not listed is dead code, which the lints
/// refuse.
#[macro_export]
macro_rules! on_every_store {
    (#[$attribute:meta] $($test:ident),+ $(,)?) => {
        mod on_sqlite { $(
            #[$attribute]
            async fn $test() {
                super::$test($crate::On::Sqlite).await;
            }
        )+ }
        mod on_postgres { $(
            #[$attribute]
            async fn $test() {
                if let Some(on) = $crate::On::postgres().await {
                    super::$test(on).await;
                }
            }
        )+ }
    };
    ($($test:ident),+ $(,)?) => {
        $crate::on_every_store! { #[tokio::test] $($test),+ }
    };
}
