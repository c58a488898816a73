//! Properties of the store on PostgreSQL only: the isolation of tenants, the
//! plans of its statements, and its refusals to open.

mod concurrent_hosts;
mod desk;
mod dialogue;
mod isolation;
mod opening;
mod rollup;
pub mod round_trips;
mod schema;
mod statements;

use leadhost_store::open_postgres;
use leadhost_tests::postgres::{Database, database};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::two_hosts;
use super::world::*;

/// Opens the store as a host does.
async fn open(url: &str) -> Result<Arc<Store>, StoreError> {
    open_postgres(url, 4, ManualClock::at(START)).await
}

/// Returns the operator's message for a store that cannot be opened.
async fn refusal(url: &str) -> String {
    match open(url).await {
        Ok(_) => panic!("it opens"),
        Err(StoreError::Open(words)) => words,
        Err(other) => panic!("no words for the operator: {other}"),
    }
}

async fn run(connection: &mut PgConnection, sql: impl Into<String>) {
    let sql = sql.into();
    let done = connection.execute(AssertSqlSafe(sql.as_str())).await;
    assert!(done.is_ok(), "{sql}\n{:?}", done.err());
}

/// Connects as the service does: not as the owner.
async fn as_service(database: &Database) -> PgConnection {
    let mut connection = database.connect().await;
    let become_it = "set search_path = leadhost; set role leadhost_service";
    run(&mut connection, become_it).await;
    connection
}

/// Returns the number of deadlocks so far.
async fn deadlocks(world: &World) -> i64 {
    let sql = "select deadlocks from pg_stat_database where datname = current_database()";
    let mut connection = two_hosts::database(world).connect().await;
    let row = sqlx::query(sql).fetch_one(&mut connection).await;
    row.expect("it counts").get(0)
}

/// Inserts this many rows into any table, by the types of its columns. Their
/// numbers begin there, and no other rows of the table may have them.
async fn insert(
    owner: &mut PgConnection,
    table: &str,
    workspace: Uuid,
    first: usize,
    rows: usize,
) -> String {
    let columns = sqlx::query(
        "select column_name::text, data_type::text
         from information_schema.columns
         where table_schema = 'leadhost'
         and table_name = $1
         and is_nullable = 'NO'
         and column_default is null
         and is_identity = 'NO'
         order by ordinal_position",
    )
    .bind(table)
    .fetch_all(owner)
    .await
    .expect("the server lists its columns");
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for column in &columns {
        let (name, kind): (String, String) = (column.get(0), column.get(1));
        values.push(match (name.as_str(), kind.as_str()) {
            ("workspace_id", _) => format!("'{workspace}'"),
            (_, "uuid") => "gen_random_uuid()".to_owned(),
            (_, "text") => "gen_random_uuid()::text".to_owned(),
            (_, "bigint" | "integer" | "smallint") => "1000 + n".to_owned(),
            (_, "json" | "jsonb") => "'{}'".to_owned(),
            (_, "boolean") => "false".to_owned(),
            (_, "bytea") => "'\\x00'".to_owned(),
            (_, "timestamp with time zone") => "now() + n * interval '1 second'".to_owned(),
            (_, other) => panic!("{table}.{name} is {other}: say how to fill it"),
        });
        names.push(name);
    }
    let last = first + rows - 1;
    format!(
        "insert into {table} ({}) select {} from generate_series({first}, {last}) as n",
        names.join(", "),
        values.join(", ")
    )
}
