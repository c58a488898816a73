//! The contents of a database after a run: counts its rows and looks up every answered
//! delivery. All sides of a comparison have tables and columns of the same names, so
//! the same queries run on all. Only the format of ids differs: bytes, text, or
//! PostgreSQL's type; the queries convert each to text.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};

use crate::Failure;
use crate::load::Answer;
use crate::postgres::Database;

pub enum StoredRows {
    Sqlite(PathBuf),
    /// Connects as the owner of the tables, to whom no policy applies.
    Postgres(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub deliveries: u64,
    pub items: u64,
    pub dedupe: u64,
    pub contacts: u64,
    pub contact_keys: u64,
    pub deals: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    Bytes,
    Text,
}

impl Ids {
    /// Reads the format from the declared type of a column of ids.
    pub fn read(connection: &Connection) -> Result<Self, Failure> {
        let kind: String = connection.query_row(
            "select lower(type) from pragma_table_info('feed_clock') where name = 'workspace_id'",
            [],
            |row| row.get(0),
        )?;
        match kind.as_str() {
            "blob" => Ok(Self::Bytes),
            "text" => Ok(Self::Text),
            other => Err(format!("ids are kept as `{other}`").into()),
        }
    }

    /// Returns an expression's id as text, from the file's format.
    pub fn sql(self, text: &str) -> String {
        match self {
            Self::Bytes => format!("unhex({text}, '-')"),
            Self::Text => text.to_owned(),
        }
    }
}

/// Writes made-up rows, numbered `n`, in the words of the database.
pub enum Seeds<'a> {
    File(Connection, Ids),
    Server(&'a Database<'a>),
}

impl Seeds<'_> {
    pub fn file(database: &Path) -> Result<Self, Failure> {
        let connection = open(database)?;
        let ids = Ids::read(&connection)?;
        Ok(Self::File(connection, ids))
    }

    /// The table `n` of the numbers from 1 to this one.
    pub fn numbers(&self, last: u64) -> String {
        match self {
            Self::File(..) => format!(
                "with recursive n (n) as (select 1 union all select n + 1 from n where n < {last})"
            ),
            Self::Server(_) => {
                format!("with n as (select n from generate_series(1::bigint, {last}) as n)")
            }
        }
    }

    /// A given id.
    pub fn id(&self, id: &str) -> String {
        match self {
            Self::File(_, ids) => ids.sql(&format!("'{id}'")),
            Self::Server(_) => format!("'{id}'::uuid"),
        }
    }

    /// The id that ends with this number, in twelve hexadecimal digits.
    pub fn numbered_id(&self, begin: &str, number: &str) -> String {
        match self {
            Self::File(_, ids) => ids.sql(&format!("printf('{begin}-%012x', {number})")),
            Self::Server(_) => {
                format!("('{begin}-' || lpad(to_hex({number}), 12, '0'))::uuid")
            }
        }
    }

    /// A text that ends with this number, in seven digits.
    pub fn numbered(&self, begin: &str, number: &str) -> String {
        match self {
            Self::File(..) => format!("printf('{begin}%07d', {number})"),
            Self::Server(_) => format!("'{begin}' || lpad(({number})::text, 7, '0')"),
        }
    }

    /// A time in microseconds since 1970.
    pub fn time(&self, micros: &str) -> String {
        match self {
            Self::File(..) => micros.to_owned(),
            Self::Server(_) => {
                format!("to_timestamp(0) + ({micros}) * interval '1 microsecond'")
            }
        }
    }

    pub fn json(&self, text: &str) -> String {
        match self {
            Self::File(..) => text.to_owned(),
            Self::Server(_) => format!("({text})::json"),
        }
    }

    /// Runs the statements, which fill these tables.
    pub fn write(self, tables: &[&str], statements: &[String]) -> Result<(), Failure> {
        match self {
            Self::File(connection, _) => {
                for statement in statements {
                    connection.execute_batch(statement)?;
                }
                checkpoint(&connection)
            }
            Self::Server(database) => {
                let analyze = tables.iter().map(|table| format!("vacuum analyze {table}"));
                let analyze: Vec<_> = analyze.collect();
                let mut all = vec!["set search_path = leadhost"];
                all.extend(statements.iter().chain(&analyze).map(String::as_str));
                all.push("checkpoint");
                database.say(&all)
            }
        }
    }
}

/// Sets the last stamp of feeds, by their numbers in the feed clock.
pub fn stamp(workspace: &str, feeds: &[u8], last: i64) -> String {
    let rows = feeds
        .iter()
        .map(|feed| format!("({workspace}, {feed}, {last})"));
    format!(
        "insert into feed_clock (workspace_id, entity, last_us) values {}
         on conflict (workspace_id, entity) do update set last_us = excluded.last_us",
        rows.collect::<Vec<_>>().join(", ")
    )
}

pub fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

pub fn open(database: &Path) -> Result<Connection, Failure> {
    open_with(database, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Like [`open`], but read-only, and with as many cached pages as a thread of the service
/// has.
pub fn open_to_read(database: &Path) -> Result<Connection, Failure> {
    let connection = open_with(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.execute_batch("pragma cache_size = -16000")?;
    Ok(connection)
}

pub fn make(database: &Path, schema: &Path) -> Result<(), Failure> {
    let create = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = open_with(database, create)?;
    connection.execute_batch("pragma journal_mode = wal")?;
    connection.execute_batch(&std::fs::read_to_string(schema)?)?;
    Ok(())
}

fn open_with(database: &Path, flags: OpenFlags) -> Result<Connection, Failure> {
    Connection::open_with_flags(database, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| format!("{}: {error}", database.display()).into())
}

pub fn checkpoint(connection: &Connection) -> Result<(), Failure> {
    let busy: i64 =
        connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
    match busy {
        0 => Ok(()),
        _ => Err("the log cannot be checkpointed".into()),
    }
}

pub async fn open_postgres(url: &str) -> Result<PgConnection, Failure> {
    let options: PgConnectOptions = url.parse()?;
    let options = options
        .options([("search_path", "leadhost")])
        .disable_statement_logging();
    Ok(options.connect().await?)
}

/// SQLite's column `id` as text with hyphens, in any format.
const SQLITE_ID: &str = "case typeof(id) when 'blob' then lower(
    substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4)
      || '-' || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21)
  ) else id end";
const POSTGRES_ID: &str = "cast(id as text)";

impl StoredRows {
    /// Checks that every answered delivery is stored, with exactly these rows.
    pub fn check<'a>(
        &self,
        expected: &Counted,
        answers: impl Iterator<Item = &'a Answer>,
    ) -> Result<(), Failure> {
        let counted = self.count()?;
        if counted != *expected {
            return Err(format!("{counted:?} were stored, {expected:?} were answered").into());
        }
        let stored: HashSet<_> = self
            .deliveries("'', ''")?
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
    }

    pub fn ran_with(&self) -> Result<HashMap<[u8; 36], (String, String)>, Failure> {
        let rows = self.deliveries("status, coalesce(ran ->> 'digest', '')")?;
        Ok(rows
            .into_iter()
            .map(|(id, status, digest)| (id, (status, digest)))
            .collect())
    }

    pub fn rows(&self, table: &'static str) -> Result<u64, Failure> {
        let sql = format!("select count(*) from {table}");
        let count: i64 = match self {
            Self::Sqlite(file) => open(file)?.query_row(&sql, [], |row| row.get(0))?,
            Self::Postgres(url) => block_on(async {
                let mut connection = open_postgres(url).await?;
                let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut connection);
                Ok(row.await?.try_get(0)?)
            })?,
        };
        Ok(u64::try_from(count)?)
    }

    fn count(&self) -> Result<Counted, Failure> {
        Ok(Counted {
            deliveries: self.rows("deliveries")?,
            items: self.rows("items")?,
            dedupe: self.rows("dedupe")?,
            contacts: self.rows("contacts")?,
            contact_keys: self.rows("contact_keys")?,
            deals: self.rows("deals")?,
        })
    }

    /// Returns the id and two other texts of each delivery.
    fn deliveries(&self, texts: &str) -> Result<Vec<([u8; 36], String, String)>, Failure> {
        let rows: Vec<(String, String, String)> = match self {
            Self::Sqlite(file) => {
                let connection = open(file)?;
                let sql = format!("select {SQLITE_ID}, {texts} from deliveries");
                let mut statement = connection.prepare(&sql)?;
                statement
                    .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                    .collect::<Result<Vec<_>, _>>()?
            }
            Self::Postgres(url) => block_on(async {
                let mut connection = open_postgres(url).await?;
                let sql = format!("select {POSTGRES_ID}, {texts} from deliveries");
                let rows = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut connection);
                Ok(rows.await?)
            })?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_same_in_every_format() {
        const ID: &str = "018bcfe5-0001-7002-8003-00000000000f";
        let connection = Connection::open_in_memory().expect("memory");
        for (kind, ids) in [("blob", Ids::Bytes), ("text", Ids::Text)] {
            connection
                .execute_batch(&format!(
                    "drop table if exists feed_clock;
                     drop table if exists deliveries;
                     create table feed_clock (workspace_id {kind} not null) strict;
                     create table deliveries (id {kind} not null) strict;
                     insert into deliveries values ({})",
                    ids.sql(&format!("'{ID}'"))
                ))
                .expect("it is written");
            assert_eq!(Ids::read(&connection).expect("a kind"), ids);
            let sql = format!("select {SQLITE_ID} from deliveries");
            let read: String = connection
                .query_row(&sql, [], |row| row.get(0))
                .expect("an id");
            assert_eq!(read, ID);
        }
    }
}
