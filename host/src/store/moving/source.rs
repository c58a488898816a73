//! The store that moves: a SQLite file that nobody serves meanwhile. It is read
//! in the order of each table's key, in pages bounded in rows and in bytes, so
//! that a page can be asked for again from any row on.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::tables::{Kind, Table};
use super::value::{self, Cell};
use crate::clock::Clock;
use crate::store::StoreError;
use crate::store::sqlite;

/// The name of a row: what its key's columns hold.
pub type Key = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    Number(i64),
    Text(String),
}

pub struct Source {
    connection: SqliteConnection,
    file: PathBuf,
    pub id: Uuid,
    _lock: File,
}

/// A page of rows, as they will be.
pub struct Page {
    pub rows: Vec<Vec<Cell>>,
    /// The name of the last one.
    pub last: Option<Key>,
    /// Characters that PostgreSQL cannot hold.
    pub replaced: u64,
}

/// What the numbers of the store stand at, and by which it is seen that it was
/// served since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub last_lease: i64,
    pub last_agent: i64,
    pub last_stamp: i64,
    pub deliveries: i64,
    pub activations: i64,
}

const COUNTERS: &str = "
select
  (select last_lease from store) as last_lease,
  coalesce((select seq from sqlite_sequence where name = 'agents'), 0) as last_agent,
  coalesce((select max(last_us) from feed_clock), 0) as last_stamp,
  (select count(*) from deliveries) as deliveries,
  coalesce((select sum(generation) from activations), 0) as activations";

impl Source {
    /// Takes the store for itself. Its schema is brought up to date, and nothing
    /// else is changed in it.
    pub async fn open(file: &Path, clock: &dyn Clock) -> Result<Self, StoreError> {
        if !file.is_file() {
            return Err(StoreError::Open(format!(
                "there is no store at {}",
                file.display()
            )));
        }
        let (lock, id, connection) = sqlite::alone(file, clock).await?;
        Ok(Self {
            connection,
            file: file.to_owned(),
            id,
            _lock: lock,
        })
    }

    /// Says that the store lives elsewhere now: it is not served by mistake.
    pub fn leave(self, to: &str) -> Result<(), StoreError> {
        sqlite::leave(&self.file, to)
    }

    pub async fn counters(&mut self) -> Result<Counters, StoreError> {
        let row = sqlx::query(COUNTERS)
            .fetch_one(&mut self.connection)
            .await?;
        Ok(Counters {
            last_lease: row.try_get("last_lease")?,
            last_agent: row.try_get("last_agent")?,
            last_stamp: row.try_get("last_stamp")?,
            deliveries: row.try_get("deliveries")?,
            activations: row.try_get("activations")?,
        })
    }

    pub async fn count(&mut self, table: &Table) -> Result<u64, StoreError> {
        let only = only(table, "where");
        let sql = format!("select count(*) from {}{only}", table.from);
        let row = sqlx::query(AssertSqlSafe(sql))
            .fetch_one(&mut self.connection)
            .await?;
        let count: i64 = row.try_get(0)?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// The rows after this one, at most as many and as large as the bounds say,
    /// and one where there is one.
    pub async fn page(
        &mut self,
        table: &Table,
        after: Option<&Key>,
        rows: u32,
        bytes: u64,
    ) -> Result<Page, StoreError> {
        let fits = self.fits(table, after, rows, bytes).await?;
        let columns: Vec<_> = table.columns.iter().map(|column| column.from).collect();
        let sql = format!(
            "select {}, {} from {}{} order by {} limit {fits}",
            columns.join(", "),
            table.key.join(", "),
            table.from,
            past(table, after),
            table.key.join(", "),
        );
        let found = self.fetch(sql, after).await?;
        let mut page = Page {
            rows: Vec::with_capacity(found.len()),
            last: None,
            replaced: 0,
        };
        for row in &found {
            let row = value::of_sqlite(table, row, &mut page.replaced)?;
            page.rows.push(row);
        }
        page.last = found.last().map(|row| key_of(table, row)).transpose()?;
        Ok(page)
    }

    /// How many of the next rows stay within the bounds: at least one. Lengths
    /// are found without reading what is long.
    async fn fits(
        &mut self,
        table: &Table,
        after: Option<&Key>,
        rows: u32,
        bytes: u64,
    ) -> Result<i64, StoreError> {
        let long = table.columns.iter().filter(|column| {
            matches!(
                column.kind,
                Kind::Text | Kind::Json | Kind::Jsonb | Kind::Bytes
            )
        });
        let length: Vec<_> = long
            .map(|column| format!("coalesce(octet_length({}), 0)", column.from))
            .chain(["0".to_owned()])
            .collect();
        let key = table.key.join(", ");
        let sql = format!(
            "select count(*)
             from (
               select sum(bytes) over (order by {key} rows unbounded preceding) as so_far
               from (
                 select {key}, {} as bytes from {}{} order by {key} limit {rows}
               )
             )
             where so_far <= {bytes}",
            length.join(" + "),
            table.from,
            past(table, after),
        );
        let found = self.fetch(sql, after).await?;
        let fits: i64 = match found.first() {
            Some(row) => row.try_get(0)?,
            None => 0,
        };
        Ok(fits.max(1))
    }

    async fn fetch(
        &mut self,
        sql: String,
        after: Option<&Key>,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for part in after.into_iter().flatten() {
            query = match part {
                Part::Number(number) => query.bind(*number),
                Part::Text(text) => query.bind(text.clone()),
            };
        }
        Ok(query.fetch_all(&mut self.connection).await?)
    }
}

fn only(table: &Table, word: &str) -> String {
    table
        .only
        .map_or(String::new(), |only| format!(" {word} {only}"))
}

/// The condition on rows after the one that the parameters name.
fn past(table: &Table, after: Option<&Key>) -> String {
    if after.is_none() {
        return only(table, "where");
    }
    let places: Vec<_> = (1..=table.key.len()).map(|n| format!("?{n}")).collect();
    format!(
        " where ({}) > ({}){}",
        table.key.join(", "),
        places.join(", "),
        only(table, "and"),
    )
}

fn key_of(table: &Table, row: &SqliteRow) -> Result<Key, StoreError> {
    (0..table.key.len())
        .map(|part| {
            let place = table.columns.len() + part;
            match row.try_get::<i64, _>(place) {
                Ok(number) => Ok(Part::Number(number)),
                Err(_) => Ok(Part::Text(row.try_get(place)?)),
            }
        })
        .collect()
}
