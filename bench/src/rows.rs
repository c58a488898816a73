//! What a database holds after a run: counted, and searched for every delivery
//! that was answered. Both sides have the same schema, so the same questions
//! are put to both.

use std::collections::HashSet;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};

use crate::Failure;
use crate::load::Answer;

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

pub async fn count(connection: &mut SqliteConnection) -> Result<Counted, Failure> {
    Ok(Counted {
        deliveries: rows(connection, "deliveries").await?,
        items: rows(connection, "items").await?,
        dedupe: rows(connection, "dedupe").await?,
        contacts: rows(connection, "contacts").await?,
        contact_keys: rows(connection, "contact_keys").await?,
        deals: rows(connection, "deals").await?,
    })
}

async fn rows(connection: &mut SqliteConnection, table: &'static str) -> Result<u64, Failure> {
    let sql = AssertSqlSafe(format!("select count(*) from {table}"));
    let count: i64 = sqlx::query(sql).fetch_one(connection).await?.try_get(0)?;
    Ok(u64::try_from(count)?)
}

/// How many of the answered deliveries are not there, as text of their ids.
pub async fn missing(
    connection: &mut SqliteConnection,
    answers: impl Iterator<Item = &Answer>,
) -> Result<u64, Failure> {
    let stored: HashSet<[u8; 36]> = sqlx::query("select id from deliveries")
        .fetch_all(connection)
        .await?
        .iter()
        .filter_map(|row| {
            let id: &str = row.try_get(0).ok()?;
            id.as_bytes().try_into().ok()
        })
        .collect();
    let missing = answers.filter(|answer| !stored.contains(&answer.delivery));
    Ok(u64::try_from(missing.count())?)
}
