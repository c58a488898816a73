//! Compares the migrated schema with the descriptions of the tables, and refuses schemas
//! from before the first release.

use leadhost_store::schema::TABLES;
use leadhost_store::schema::table::{ColumnSchema, TableSchema};
use leadhost_tests::postgres::empty_database;
use sqlx::postgres::PgRow;

use super::*;

/// Tables without a description, and the reason: a SQLite file has none of them, or its
/// own.
const OWN: &[(&str, &str)] = &[
    ("acceptances", "of former releases, which may still run"),
    ("commit_markers", "finds out a commit whose answer was lost"),
    ("hosts", "of the hosts on one database"),
    ("jobs", "of the hosts on one database"),
    ("moves", "of a store that moves in"),
    ("proposals", "of the hosts on one database"),
    ("rates", "counted over all hosts, and kept by no crash"),
    ("schema_versions", "which migrations the database has had"),
    ("store", "one row, and of each database its own"),
];

/// Columns that the database fills in.
const FILLED_IN: &[&str] = &["conversations.due_at"];

const NAMES: &str = "
select c.relname::text as name
from pg_class as c
where c.relnamespace = 'leadhost'::regnamespace
and c.relkind in ('r', 'p')
order by c.relname";

const COLUMNS: &str = "
select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as kind,
  not a.attnotnull as is_nullable, a.attgenerated <> '' as is_filled_in
from pg_attribute as a
where a.attrelid = ('leadhost.' || $1)::regclass
and a.attnum > 0
and not a.attisdropped
order by a.attnum";

const KEY: &str = "
select a.attname::text as name
from pg_index as i
cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, place)
join pg_attribute as a
  on a.attrelid = i.indrelid
  and a.attnum = k.attnum
where i.indrelid = ('leadhost.' || $1)::regclass
and i.indisprimary
order by k.place";

const NO_TIMES: &str = "
select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as name
from pg_class as c
join pg_attribute as a on a.attrelid = c.oid
where c.relnamespace = 'leadhost'::regnamespace
and c.relkind in ('r', 'p')
and a.attnum > 0
and not a.attisdropped
and right(a.attname::text, 3) = '_at'
and a.atttypid <> 'timestamptz'::regtype";

async fn rows(owner: &mut PgConnection, sql: &'static str, table: Option<&str>) -> Vec<PgRow> {
    let mut query = sqlx::query(sql);
    if let Some(table) = table {
        query = query.bind(table.to_owned());
    }
    let found = query.fetch_all(owner).await;
    found.unwrap_or_else(|error| panic!("{table:?}: {error}"))
}

async fn names(owner: &mut PgConnection, sql: &'static str, table: Option<&str>) -> Vec<String> {
    let rows = rows(owner, sql, table).await;
    rows.iter().map(|row| row.get("name")).collect()
}

/// Returns each column as `name kind`, with `null` if it may be null; and those that the
/// database fills in.
async fn columns(owner: &mut PgConnection, table: &str) -> (Vec<String>, Vec<String>) {
    let (mut columns, mut filled_in) = (Vec::new(), Vec::new());
    for row in &rows(owner, COLUMNS, Some(table)).await {
        let (name, kind): (String, String) = (row.get("name"), row.get("kind"));
        if row.get("is_filled_in") {
            filled_in.push(format!("{table}.{name}"));
            continue;
        }
        let kind = match kind.as_str() {
            "bigint" | "integer" | "smallint" => "number",
            "timestamp with time zone" => "time",
            "boolean" => "truth",
            "bytea" => "bytes",
            other => other,
        };
        let null = if row.get("is_nullable") { " null" } else { "" };
        columns.push(format!("{name} {kind}{null}"));
    }
    (columns, filled_in)
}

fn described(column: &ColumnSchema) -> String {
    let kind = if column.is_jsonb {
        "jsonb"
    } else {
        column.kind.as_str()
    };
    let null = if column.is_nullable { " null" } else { "" };
    format!("{} {kind}{null}", column.name)
}

/// The primary key: of a table with a feed, only the feed's index begins with the workspace.
fn key(table: &TableSchema) -> Vec<&str> {
    let mut key = table.key.to_vec();
    if table.keyed_with_workspace {
        let place = if table.feed.is_some() { key.len() } else { 0 };
        key.insert(place, "workspace_id");
    }
    key
}

#[tokio::test]
async fn the_database_has_the_described_tables_columns_and_keys_and_few_more() {
    let database = available!(database());
    open(database.url()).await.expect("it opens");
    let mut known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    known.extend(OWN.iter().map(|(table, _)| *table));
    known.sort_unstable();
    let mut owner = database.connect().await;
    assert_eq!(names(&mut owner, NAMES, None).await, known);
    let mut filled_in = Vec::new();
    for table in TABLES {
        let expected: Vec<String> = table.columns.iter().map(described).collect();
        let (found, generated) = columns(&mut owner, table.name).await;
        assert_eq!(found, expected, "{}", table.name);
        let found = names(&mut owner, KEY, Some(table.name)).await;
        assert_eq!(found, key(table), "{}", table.name);
        filled_in.extend(generated);
    }
    assert_eq!(filled_in, FILLED_IN);
    // A column that is named as a time holds one.
    let wrong = names(&mut owner, NO_TIMES, None).await;
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn a_schema_from_before_the_first_release_is_refused() {
    let database = available!(empty_database());
    let mut owner = database.connect().await;
    run(
        &mut owner,
        "create schema leadhost;
         create table leadhost.schema_versions (
           version integer primary key,
           at timestamptz not null default clock_timestamp()
         );
         insert into leadhost.schema_versions (version) select generate_series(1, 14)",
    )
    .await;
    let words = refusal(database.url()).await;
    for part in [
        "before the first release",
        "schema version 14",
        "another database",
        "drop schema leadhost cascade",
    ] {
        assert!(words.contains(part), "no `{part}` in: {words}");
    }
    assert_eq!(
        names(&mut owner, NAMES, None).await,
        ["schema_versions"],
        "it is left as it was"
    );
}

/// Match keys as a host of the former release left them, and what the migration adds.
#[tokio::test]
async fn former_keys_of_marked_mobiles_are_found_by_the_new_ones() {
    const SQLITE: &str = include_str!(
        "../../../../host/crates/store/migrations/sqlite/0011_keys_without_mobile_marks.sql"
    );
    const POSTGRES: &str = include_str!(
        "../../../../host/crates/store/migrations/postgres/0011_keys_without_mobile_marks.sql"
    );
    const BEFORE: &str = "
create temporary table contact_keys (workspace_id text, key text, contact_id text,
  primary key (workspace_id, key));
create temporary table shared_keys (workspace_id text, key text, contact_id text,
  primary key (workspace_id, key, contact_id));
insert into contact_keys values
  ('w', 'phone:+5215512345678', 'luz'), ('w', 'phone:+5491123456789', 'rosa'),
  ('w', 'phone:+541123456789', 'beto'), ('v', 'phone:+5491123456789', 'ines'),
  ('w', 'phone:+5215512345', 'short'), ('w', 'phone:+5511987654321', 'ana'),
  ('w', 'email:phone:+5215512345678', 'mail');
insert into shared_keys values
  ('w', 'phone:+5215512345678', 'caio'), ('w', 'phone:+5491123456789', 'beto')";
    const ALL: &str = "
select workspace_id || ' ' || key || ' ' || contact_id as line from contact_keys
union all
select workspace_id || ' ' || key || ' ' || contact_id || ' shares' from shared_keys
order by 1";
    let expect = [
        "v phone:+541123456789 ines",
        "v phone:+5491123456789 ines",
        "w email:phone:+5215512345678 mail",
        "w phone:+5215512345 short",
        "w phone:+5215512345678 caio shares",
        "w phone:+5215512345678 luz",
        "w phone:+525512345678 caio shares",
        "w phone:+525512345678 luz",
        "w phone:+541123456789 beto",
        "w phone:+541123456789 rosa shares",
        "w phone:+5491123456789 beto shares",
        "w phone:+5491123456789 rosa",
        "w phone:+5511987654321 ana",
    ]
    .map(str::to_owned);
    let sqlite = rusqlite::Connection::open_in_memory().expect("SQLite");
    for sql in [BEFORE, SQLITE] {
        sqlite.execute_batch(sql).expect("valid SQL");
    }
    let mut all = sqlite.prepare(ALL).expect("valid SQL");
    let lines = all
        .query_map([], |row| row.get::<_, String>(0))
        .expect("rows");
    let mut lines: Vec<String> = lines.map(|line| line.expect("a text")).collect();
    lines.sort();
    assert_eq!(lines, expect);
    let database = available!(database());
    let mut postgres = database.connect_as_admin().await;
    for sql in [BEFORE, POSTGRES] {
        run(&mut postgres, sql).await;
    }
    let rows = sqlx::query(ALL).fetch_all(&mut postgres).await.unwrap();
    let mut lines: Vec<String> = rows.iter().map(|row| row.get("line")).collect();
    lines.sort();
    assert_eq!(lines, expect);
}
