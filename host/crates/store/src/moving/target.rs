//! The target of a move: a PostgreSQL database that no host serves yet. Rows and the
//! record of the progress commit together, so a move that is interrupted anywhere
//! continues there. Everything runs as the owner of the tables, who is exempt from the
//! policies between tenants.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::source::{Counters, MovingPage, RowKey};
use super::tables::moved;
use super::value::{self, Sum};
use crate::postgres;
use crate::postgres::run::bind_list;
use crate::prelude::*;
use crate::schema::table::{ColumnSchema, TableSchema};
use leadhost_config::StoreUrl;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MoveRecord {
    /// The counters of the source when the move began.
    pub source: Counters,
    /// By table name. A table that is missing was not begun.
    pub tables: BTreeMap<String, TableProgress>,
    /// A host has opened the store since the move was done. Hosts set this.
    #[serde(default)]
    pub served: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TableProgress {
    pub rows: u64,
    pub last: Option<RowKey>,
    /// Every row was copied.
    pub copied: bool,
    /// The sum, once both sides were found equal.
    pub checked: Option<String>,
    pub replaced: u64,
}

pub struct MoveTarget {
    connection: PgConnection,
    pub progress: MoveRecord,
}

pub enum TargetState {
    /// The move can proceed. True: it began earlier.
    Ready(MoveTarget, bool),
    /// This store has been moved here before: the time, and the progress record.
    Done(String, MoveRecord),
}

// A session lock, which ends with the connection. A run that was just interrupted may
// still be ending on the server. No other lock has this number.
const ALONE: &str = "
set lock_timeout = '15s';
select pg_advisory_lock(7809077385914543988)";
// How long a transaction waits for locks. Statements have no deadline: a batch is
// bounded, and an analyze takes its time.
const SETTINGS: &str = "
set lock_timeout = '30s';
set statement_timeout = 0;
set timezone = 'UTC';
set synchronous_commit = off";
const MOVE: &str = "select source, done_at::text, progress::text from moves";
// Hosts of earlier versions left no note, but other traces.
const SERVED: &str = "
select exists (select from hosts)
  or exists (select from commit_markers)
  or exists (select from store where server is not null)
  or exists (select from feed_clock where last_us > $1)";
const LIVE_HOSTS: &str = "
select string_agg(name, ', ')
from hosts
where seen_at > clock_timestamp() - make_interval(secs => $1)";
const BEGIN_MOVE: &str = "insert into moves (source, progress) values ($1, $2::json)";
const NOTE: &str = "update moves set progress = $1::json";
const TAKE_ID: &str = "
insert into store (id, last_agent, sealing_key)
values ($1, $2, $3)
on conflict (one) do update
set id = excluded.id, last_agent = excluded.last_agent, sealing_key = excluded.sealing_key";
const NUMBER_LEASES: &str = "select setval('leases', greatest($1, 1))";
const DONE: &str = "update moves set done_at = clock_timestamp(), progress = $1::json";

impl MoveTarget {
    /// Brings the database's schema up to date, and begins or continues the move of this
    /// store there. A database that holds anything else is refused.
    pub async fn open(
        url: &StoreUrl,
        source: Uuid,
        counters: &Counters,
        again: bool,
    ) -> Result<TargetState, StoreError> {
        let mut connection = postgres::owner(url.as_str()).await?;
        connection.execute(ALONE).await.map_err(busy)?;
        connection.execute(SETTINGS).await?;
        let found = sqlx::query(MOVE).fetch_optional(&mut connection).await?;
        let mut progress = None;
        if let Some(row) = found {
            let (id, done, text): (Uuid, Option<String>, String) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            if id != source {
                return Err(StoreError::Refused(format!(
                    "the database holds the store {id}, or part of it, but the file holds the store {source}: move it into an empty database"
                )));
            }
            let read: MoveRecord =
                serde_json::from_str(&text).map_err(|error| StoreError::Inconsistent {
                    what: format!("cannot parse the record of the move: {error}"),
                })?;
            if let Some(at) = done {
                if !again {
                    return Ok(TargetState::Done(at, read));
                }
                refuse_served(&mut connection, source, &at, &read).await?;
            }
            progress = Some(read);
        }
        let hosts: Option<String> = sqlx::query(LIVE_HOSTS)
            .bind(limits::HOST_DEAD.as_secs_f64())
            .fetch_one(&mut connection)
            .await?
            .try_get(0)?;
        if let Some(hosts) = hosts {
            return Err(StoreError::Refused(format!(
                "the database is served by {hosts}: stop all of its hosts first"
            )));
        }
        let went_on = progress.is_some();
        let stale = progress
            .as_ref()
            .is_some_and(|progress| progress.source != *counters);
        if again || stale {
            if stale {
                tracing::warn!("source was served since the move began, starting over");
            }
            if went_on {
                empty(&mut connection).await?;
            }
            progress = None;
        }
        let progress = match progress {
            Some(progress) => progress,
            None => begin(&mut connection, source, counters).await?,
        };
        // From here on, the row of the move keeps hosts from starting.
        postgres::let_others_open(&mut connection).await?;
        Ok(TargetState::Ready(
            Self {
                connection,
                progress,
            },
            went_on && !stale && !again,
        ))
    }

    /// Returns how far a table has been copied. Zero rows for a table that has not been
    /// started.
    pub fn progress(&self, table: &TableSchema) -> TableProgress {
        let known = self.progress.tables.get(table.name);
        known.cloned().unwrap_or_default()
    }

    /// Commits a page and the progress. A page without a following row completes the
    /// table.
    pub async fn put(&mut self, table: &TableSchema, page: &MovingPage) -> Result<(), StoreError> {
        let mut of = self.progress(table);
        of.rows += page.rows.len() as u64;
        of.replaced += page.replaced;
        of.last.clone_from(&page.last);
        of.copied = page.last.is_none();
        let mut progress = self.progress.clone();
        progress.tables.insert(table.name.to_owned(), of);
        let mut transaction = self.connection.begin().await?;
        if !page.rows.is_empty() {
            let mut query = sqlx::query(AssertSqlSafe(insert(table)));
            for (place, column) in table.columns.iter().enumerate() {
                let values: Vec<_> = page.rows.iter().map(|row| &row[place]).collect();
                query = bind_list(query, column.kind, &values);
            }
            query.execute(&mut *transaction).await?;
        }
        sqlx::query(NOTE)
            .bind(text_of(&progress)?)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        self.progress = progress;
        Ok(())
    }

    /// Returns the sum of a table in this database. `seen` receives the number of rows so
    /// far.
    pub async fn sum(
        &mut self,
        table: &TableSchema,
        mut seen: impl FnMut(u64),
    ) -> Result<Sum, StoreError> {
        let columns: Vec<_> = table.columns.iter().map(value::read_back).collect();
        let mut transaction = self.connection.begin().await?;
        transaction
            .execute(AssertSqlSafe(format!(
                "declare moved no scroll cursor for select {} from {}",
                columns.join(", "),
                table.name,
            )))
            .await?;
        let large = table
            .columns
            .iter()
            .any(|column| column.kind == SqlType::Bytes);
        let rows = if large { FETCHED_LARGE } else { FETCHED };
        let fetch = format!("fetch {rows} from moved");
        let mut sum = Sum::default();
        loop {
            // A prepared statement would keep the columns of the first table.
            let found = sqlx::query(AssertSqlSafe(fetch.as_str()))
                .persistent(false)
                .fetch_all(&mut *transaction)
                .await?;
            if found.is_empty() {
                break;
            }
            for row in &found {
                sum.add(&value::moved_row(table, &SqlRow::Postgres(row), &mut 0)?);
            }
            seen(sum.rows);
        }
        transaction.rollback().await?;
        Ok(sum)
    }

    pub async fn checked(&mut self, table: &TableSchema, sum: &Sum) -> Result<(), StoreError> {
        let mut of = self.progress(table);
        of.checked = Some(sum.text());
        self.progress.tables.insert(table.name.to_owned(), of);
        sqlx::query(NOTE)
            .bind(text_of(&self.progress)?)
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Completes the move: the database is the store from here on.
    pub async fn finish(
        mut self,
        id: Uuid,
        sealing_key: Option<&str>,
    ) -> Result<MoveRecord, StoreError> {
        for table in moved() {
            let sql = format!("analyze {}", table.name);
            self.connection.execute(AssertSqlSafe(sql)).await?;
        }
        // When this commit returns, it and all commits before it are on the disk.
        self.connection
            .execute("set synchronous_commit = on")
            .await?;
        let counters = &self.progress.source;
        let mut transaction = self.connection.begin().await?;
        sqlx::query(TAKE_ID)
            .bind(id)
            .bind(counters.last_agent)
            .bind(sealing_key)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(NUMBER_LEASES)
            .bind(counters.last_lease)
            .execute(&mut *transaction)
            .await?;
        for sql in moved().filter_map(number_on) {
            transaction.execute(AssertSqlSafe(sql)).await?;
        }
        sqlx::query(DONE)
            .bind(text_of(&self.progress)?)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        self.connection.close().await?;
        Ok(self.progress)
    }
}

fn busy(error: sqlx::Error) -> StoreError {
    match postgres::error::code(&error) {
        Some("55P03") => StoreError::Refused(
            "another `leadhost migrate` is moving a store into this database".to_owned(),
        ),
        _ => error.into(),
    }
}

/// Rows per fetch, and for tables whose rows may have megabytes.
const FETCHED: u32 = 2_000;
const FETCHED_LARGE: u32 = 16;

/// The first transaction of a move. The database must be empty.
async fn begin(
    connection: &mut PgConnection,
    source: Uuid,
    counters: &Counters,
) -> Result<MoveRecord, StoreError> {
    for table in moved() {
        let sql = format!("select exists (select from {})", table.name);
        let row = sqlx::query(AssertSqlSafe(sql))
            .fetch_one(&mut *connection)
            .await?;
        if row.try_get(0)? {
            return Err(StoreError::Refused(format!(
                "the database is not empty: {schema}.{} has rows. Move into an empty database; or, if the data in this one is not needed, empty it by running `drop schema {schema} cascade` as its owner",
                table.name,
                schema = postgres::SCHEMA,
            )));
        }
    }
    let progress = MoveRecord {
        source: counters.clone(),
        tables: BTreeMap::new(),
        served: false,
    };
    sqlx::query(BEGIN_MOVE)
        .bind(source)
        .bind(text_of(&progress)?)
        .execute(&mut *connection)
        .await?;
    Ok(progress)
}

/// Refuses to empty a database in which hosts may have written since the move: that data
/// exists nowhere else.
async fn refuse_served(
    connection: &mut PgConnection,
    source: Uuid,
    done_at: &str,
    progress: &MoveRecord,
) -> Result<(), StoreError> {
    let traces: bool = sqlx::query(SERVED)
        .bind(progress.source.last_stamp)
        .fetch_one(connection)
        .await?
        .try_get(0)?;
    if progress.served || traces {
        return Err(StoreError::Refused(format!(
            "the store {source} was moved into this database before (done at {done_at}), and a host was started on it since: --restart would discard what has arrived. Nothing was done now. Move into another, empty database; or, if the data in this one is not needed, empty it by running `drop schema {} cascade` as its owner",
            postgres::SCHEMA,
        )));
    }
    Ok(())
}

/// Removes what a move brought, if no host has served it.
async fn empty(connection: &mut PgConnection) -> Result<(), StoreError> {
    let tables: Vec<_> = moved().map(|table| table.name).collect();
    let mut transaction = connection.begin().await?;
    // The cascade reaches other tables, which only hold rows that the move made.
    let sql = format!(
        "truncate moves, {} restart identity cascade",
        tables.join(", ")
    );
    transaction.execute(AssertSqlSafe(sql)).await?;
    transaction.commit().await?;
    Ok(())
}

fn text_of(progress: &MoveRecord) -> Result<String, StoreError> {
    serde_json::to_string(progress).map_err(|error| StoreError::Inconsistent {
        what: format!("cannot serialise the record of the move: {error}"),
    })
}

/// For tables whose rows the database numbers: continues after the greatest number. A
/// no-op if the numbers are assigned elsewhere.
fn number_on(table: &TableSchema) -> Option<String> {
    let [key] = table.key else {
        return None;
    };
    let mut columns = table.columns.iter();
    let is_number = columns.any(|column| column.name == *key && column.kind == SqlType::Number);
    is_number.then(|| {
        format!(
            "select setval(pg_get_serial_sequence('{name}', '{key}'),
               (select coalesce(max({key}), 0) + 1 from {name}), false)",
            name = table.name,
        )
    })
}

/// One statement per page, with one parameter per column.
fn insert(table: &TableSchema) -> String {
    let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
    let values: Vec<_> = table
        .columns
        .iter()
        .map(|column| format!("n.{}{}", column.name, cast(column)))
        .collect();
    let parameters: Vec<_> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| format!("${}::{}[]", place + 1, column.kind.in_a_list()))
        .collect();
    // Generated numbers are copied as they are.
    format!(
        "insert into {} ({names}) overriding system value select {} from unnest({}) as n ({names})",
        table.name,
        values.join(", "),
        parameters.join(", "),
        names = names.join(", "),
    )
}

/// Returns the cast from the parameter's type to the column's, if it is not implicit. A
/// number too great for its column is an error.
fn cast(column: &ColumnSchema) -> &'static str {
    match (column.kind, column.is_jsonb) {
        (SqlType::Json, true) => "::jsonb",
        (SqlType::Json, false) => "::json",
        _ => "",
    }
}
