//! The contents of a database after a run: counts its rows and looks up every answered
//! delivery. All sides of a comparison have tables and columns of the same names, so
//! the same queries run on all. Only the format of ids differs: bytes, text, or
//! PostgreSQL's type; the queries convert each to text.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};

use crate::Failure;
use crate::load::{Answer, LoadBody};
use crate::postgres::Database;

pub enum StoredRows {
    Sqlite(PathBuf),
    /// Connects as the owner of the tables, to whom no policy applies.
    Postgres(String),
}

/// The rows of one answered lead, by table. A body without a lead makes only the first.
const ROWS_OF_LEAD: [(&str, u64); 6] = [
    ("deliveries", 1),
    ("items", 1),
    ("dedupe", 1),
    ("contacts", 1),
    ("contact_keys", 2),
    ("deals", 1),
];

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

    /// The id that this text shows.
    pub fn id(&self, text: &str) -> String {
        match self {
            Self::File(_, ids) => ids.sql(text),
            Self::Server(_) => format!("({text})::uuid"),
        }
    }

    pub fn given_id(&self, id: &str) -> String {
        self.id(&format!("'{id}'"))
    }

    /// The id that ends with this number, in twelve hexadecimal digits.
    pub fn numbered_id(&self, begin: &str, number: &str) -> String {
        self.id(&match self {
            Self::File(..) => format!("printf('{begin}-%012x', {number})"),
            Self::Server(_) => format!("'{begin}-' || lpad(to_hex({number}), 12, '0')"),
        })
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

fn checkpoint(connection: &Connection) -> Result<(), Failure> {
    let busy: i64 =
        connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
    match busy {
        0 => Ok(()),
        _ => Err("the log cannot be checkpointed".into()),
    }
}

pub async fn open_postgres(url: &str, schema: &str) -> Result<PgConnection, Failure> {
    let options: PgConnectOptions = url.parse()?;
    let options = options
        .options([("search_path", schema)])
        .disable_statement_logging();
    Ok(options.connect().await?)
}

/// Returns the number that a query finds on PostgreSQL.
pub fn number(url: &str, sql: String) -> Result<i64, Failure> {
    block_on(async {
        let mut connection = open_postgres(url, SCHEMA).await?;
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut connection);
        Ok(row.await?.try_get(0)?)
    })
}

/// Of the service's tables on PostgreSQL.
const SCHEMA: &str = "leadhost";

/// SQLite's column `id` as text with hyphens, in any format.
const SQLITE_ID: &str = "case typeof(id) when 'blob' then lower(
    substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4)
      || '-' || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21)
  ) else id end";
const POSTGRES_ID: &str = "cast(id as text)";

impl StoredRows {
    /// Checks that every answered delivery is stored, with exactly the rows of its body.
    pub fn check(&self, body: LoadBody, answers: &[&Answer]) -> Result<(), Failure> {
        for (table, rows) in ROWS_OF_LEAD {
            let is_made = body == LoadBody::Lead || table == "deliveries";
            let expected = if is_made {
                rows * answers.len() as u64
            } else {
                0
            };
            let counted = self.rows(table)?;
            if counted != expected {
                return Err(format!("{table}: {counted} rows, {expected} were answered").into());
            }
        }
        let stored = self.ran_with()?;
        let is_missing = |answer: &&&Answer| !stored.contains_key(&answer.delivery);
        match answers.iter().filter(is_missing).count() {
            0 => Ok(()),
            missing => Err(format!("{missing} answered deliveries are not stored").into()),
        }
    }

    pub fn rows(&self, table: &str) -> Result<u64, Failure> {
        let sql = format!("select count(*) from {table}");
        let count: i64 = match self {
            Self::Sqlite(file) => open(file)?.query_row(&sql, [], |row| row.get(0))?,
            Self::Postgres(url) => number(url, sql)?,
        };
        Ok(u64::try_from(count)?)
    }

    /// Returns the status of each delivery, and the digest of the version that converted it.
    pub fn ran_with(&self) -> Result<HashMap<[u8; 36], (String, String)>, Failure> {
        let sql =
            |id| format!("select {id}, status, coalesce(ran ->> 'digest', '') from deliveries");
        let rows: Vec<(String, String, String)> = match self {
            Self::Sqlite(file) => {
                let connection = open(file)?;
                let mut statement = connection.prepare(&sql(SQLITE_ID))?;
                statement
                    .query_map([], |row| row.try_into())?
                    .collect::<Result<_, _>>()?
            }
            Self::Postgres(url) => block_on(async {
                let mut connection = open_postgres(url, SCHEMA).await?;
                let sql = AssertSqlSafe(sql(POSTGRES_ID));
                Ok(sqlx::query_as(sql).fetch_all(&mut connection).await?)
            })?,
        };
        let by_id = rows.into_iter().map(|(id, status, digest)| {
            let id = id.as_bytes().try_into();
            let id = id.map_err(|_| "an id of a wrong length")?;
            Ok((id, (status, digest)))
        });
        by_id.collect()
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
