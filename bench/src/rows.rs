//! What a database holds after a run: counted, and searched for every delivery
//! that was answered. Both sides of a comparison have the same schema, so the
//! same questions are put to both.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};

use crate::Failure;
use crate::load::Answer;

/// Where the rows are.
pub enum Database {
    Sqlite(PathBuf),
    /// As the owner of the tables, whom no policy binds.
    Postgres(String),
}

enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// Rows of the tables that a lead is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub deliveries: u64,
    pub items: u64,
    pub dedupe: u64,
    pub contacts: u64,
    pub contact_keys: u64,
    pub deals: u64,
}

/// A runtime for the few questions.
pub fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

pub async fn open(database: &Path) -> Result<SqliteConnection, Failure> {
    let options = SqliteConnectOptions::new()
        .filename(database)
        .disable_statement_logging();
    options
        .connect()
        .await
        .map_err(|error| format!("{}: {error}", database.display()).into())
}

pub async fn open_postgres(url: &str) -> Result<PgConnection, Failure> {
    let options: PgConnectOptions = url.parse()?;
    let options = options
        .options([("search_path", "leadhost")])
        .disable_statement_logging();
    Ok(options.connect().await?)
}

impl Database {
    /// Every answered delivery is there, and exactly these rows.
    pub fn check<'a>(
        &self,
        expected: &Counted,
        answers: impl Iterator<Item = &'a Answer>,
    ) -> Result<(), Failure> {
        block_on(async {
            let mut connection = self.connect().await?;
            let counted = connection.count().await?;
            if counted != *expected {
                return Err(format!("{counted:?} were stored, {expected:?} were answered").into());
            }
            let stored: HashSet<_> = connection
                .texts("select cast(id as text), '', '' from deliveries")
                .await?
                .into_iter()
                .map(|(id, _, _)| id)
                .collect();
            match answers
                .filter(|answer| !stored.contains(&answer.delivery))
                .count()
            {
                0 => Ok(()),
                missing => Err(format!("{missing} answered deliveries are not stored").into()),
            }
        })
    }

    /// Status and converter's digest of each delivery, by the delivery's id.
    pub fn ran_with(&self) -> Result<HashMap<[u8; 36], (String, String)>, Failure> {
        block_on(async {
            let sql =
                "select cast(id as text), status, coalesce(ran ->> 'digest', '') from deliveries";
            let rows = self.connect().await?.texts(sql).await?;
            Ok(rows
                .into_iter()
                .map(|(id, status, digest)| (id, (status, digest)))
                .collect())
        })
    }

    pub fn rows(&self, table: &'static str) -> Result<u64, Failure> {
        block_on(async { self.connect().await?.rows(table).await })
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        Ok(match self {
            Self::Sqlite(file) => Connection::Sqlite(open(file).await?),
            Self::Postgres(url) => Connection::Postgres(open_postgres(url).await?),
        })
    }
}

impl Connection {
    async fn count(&mut self) -> Result<Counted, Failure> {
        Ok(Counted {
            deliveries: self.rows("deliveries").await?,
            items: self.rows("items").await?,
            dedupe: self.rows("dedupe").await?,
            contacts: self.rows("contacts").await?,
            contact_keys: self.rows("contact_keys").await?,
            deals: self.rows("deals").await?,
        })
    }

    async fn rows(&mut self, table: &'static str) -> Result<u64, Failure> {
        let sql = AssertSqlSafe(format!("select count(*) from {table}"));
        let count: i64 = match self {
            Self::Sqlite(connection) => sqlx::query(sql).fetch_one(connection).await?.try_get(0)?,
            Self::Postgres(connection) => {
                sqlx::query(sql).fetch_one(connection).await?.try_get(0)?
            }
        };
        Ok(u64::try_from(count)?)
    }

    /// An id and two other texts of each row.
    async fn texts(
        &mut self,
        sql: &'static str,
    ) -> Result<Vec<([u8; 36], String, String)>, Failure> {
        let rows: Vec<(String, String, String)> = match self {
            Self::Sqlite(connection) => sqlx::query_as(sql).fetch_all(connection).await?,
            Self::Postgres(connection) => sqlx::query_as(sql).fetch_all(connection).await?,
        };
        rows.into_iter()
            .map(|(id, one, other)| {
                let id = id
                    .as_bytes()
                    .try_into()
                    .map_err(|_| "an id of a wrong length")?;
                Ok((id, one, other))
            })
            .collect()
    }
}
