//! The list of every table, and what removes rows of all of them. A test compares the descriptions
//! with the tables that the migrations create.

use super::declared::*;
use super::feeds::*;
use super::leads::*;
use super::messages::*;
use super::rollups::*;
use super::table::{Ends, TableSchema};
pub use crate::fed::{CONTACTS, CONVERSATIONS, DEALS, MESSAGE_ERRORS, MESSAGES, TICKETS};
use crate::sql::Sql;

/// Every table that both databases have.
pub static TABLES: [&TableSchema; 51] = [
    &WORKSPACES,
    &PARTNERS,
    &AGENTS,
    &OWNERS,
    &PRODUCTS,
    &CONNECTIONS,
    &CONNECTION_SKETCHES,
    &KEYS,
    &PLUGINS,
    &ACTIVATIONS,
    &REFUSALS,
    &AUDIT,
    &AUDIT_CHECKPOINT,
    &ROLLOUTS,
    &ROLLOUT_REPORTS,
    &REPAIRS,
    &FEED_CLOCK,
    &QUEUE,
    &DELIVERIES,
    &ITEMS,
    &DELIVERY_KEYS,
    &FETCHES,
    &ANSWERS,
    &DEDUPE,
    &CONTACTS,
    &CONTACT_KEYS,
    &SHARED_KEYS,
    &DEALS,
    &DEAL_HISTORY,
    &DEAL_LOGS,
    &REPAIR_CHANGES,
    &CONVERSATIONS,
    &MESSAGES,
    &SENDS,
    &KEPT_SENDS,
    &CHANNEL_REFS,
    &HOLDS,
    &MESSAGE_ERRORS,
    &TEMPLATE_LISTS,
    &IDEMPOTENCY,
    &TICKETS,
    &TOMBSTONES,
    &ERASURES,
    &ROLLUP_RUNS,
    &ROLLUP_BUILDS,
    &ROLLUP_KEYS,
    &ROLLUP_FACTS,
    &ROLLUP_SLOTS,
    &ROLLUP_CUBES,
    &ROLLUP_DAYS,
    &ROLLUP_ZONES,
];

/// Returns the statements that remove the rows that end together with the row that this column
/// names.
pub fn removed_with(column: &'static str) -> Vec<Sql> {
    let tables = TABLES
        .iter()
        .filter(|table| table.ends.contains(&Ends::With(column)));
    tables
        .map(|table| Sql::from_text(table.remove_with(column)))
        .collect()
}

pub fn removed_past() -> Vec<Sql> {
    let times = TABLES.iter().flat_map(|table| {
        let times = table.ends.iter().filter_map(|ends| match ends {
            Ends::At(column) => Some(*column),
            Ends::With(_) => None,
        });
        times.map(|column| Sql::from_text(table.remove_past(column)))
    });
    times.collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, Params};

    use super::*;
    use crate::migrations;
    use crate::schema::table::{ColumnSchema, WORKSPACE};
    use crate::sql::{Dialect, SqlType};

    /// Tables of a SQLite file that are not described, and why.
    const OWN: [(&str, &str); 2] = [
        ("acceptances", "of former releases, which may still run"),
        (
            "store",
            "one row, with columns that differ between the databases",
        ),
    ];

    /// Columns that the database fills in.
    const FILLED_IN: [&str; 1] = ["conversations.due_at"];

    fn migrated() -> Connection {
        let database = Connection::open_in_memory().expect("a database in memory");
        for migration in &migrations::SQLITE.texts {
            database
                .execute_batch(migration)
                .expect("the migration is applied");
        }
        database
    }

    /// Returns the first column of each row.
    fn texts(database: &Connection, sql: &str, parameters: impl Params) -> Vec<String> {
        let mut statement = database.prepare(sql).expect(sql);
        let rows = statement.query_map(parameters, |row| row.get(0));
        let rows = rows.expect(sql).map(|text| text.expect(sql));
        rows.collect()
    }

    fn tables(database: &Connection) -> Vec<String> {
        let sql = "
select name
from sqlite_schema
where type = 'table'
and name not like 'sqlite%'
order by name";
        texts(database, sql, [])
    }

    /// Returns each column as `name type`, with `null` if it may be null.
    fn columns(database: &Connection, table: &str, filled_in: bool) -> Vec<String> {
        let sql = "
select name || ' ' || lower(type) || iif(\"notnull\" or pk > 0, '', ' null')
from pragma_table_xinfo(?1)
where (hidden > 0) = ?2
order by cid";
        texts(database, sql, (table, filled_in))
    }

    fn described(column: &ColumnSchema) -> String {
        let kind = column.kind.in_a_table(Dialect::Sqlite);
        let null = if column.is_nullable { " null" } else { "" };
        format!("{} {kind}{null}", column.name)
    }

    /// Returns the primary key and the unique keys.
    fn keys(database: &Connection, table: &str) -> Vec<Vec<String>> {
        let primary = "select name from pragma_table_xinfo(?1) where pk > 0 order by pk";
        let unique = "
select name
from pragma_index_list(?1)
where \"unique\"
and not partial";
        let of_index = "select name from pragma_index_info(?1) order by seqno";
        let mut keys = vec![texts(database, primary, [table])];
        for index in texts(database, unique, [table]) {
            keys.push(texts(database, of_index, [index]));
        }
        keys
    }

    #[test]
    fn a_sqlite_file_has_the_described_tables_and_few_more() {
        let mut known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        known.extend(OWN.iter().map(|(table, _)| *table));
        known.sort_unstable();
        assert_eq!(tables(&migrated()), known);
    }

    #[test]
    fn a_sqlite_file_has_the_described_columns_and_keys() {
        let database = migrated();
        let mut filled_in = Vec::new();
        for table in TABLES {
            let expected: Vec<String> = table.columns.iter().map(described).collect();
            let found = columns(&database, table.name, false);
            assert_eq!(found, expected, "{}", table.name);
            let keys = keys(&database, table.name);
            let is_one = keys.iter().any(|key| key == table.key);
            assert!(is_one, "{}: {keys:?}", table.name);
            for column in columns(&database, table.name, true) {
                let name = column.split(' ').next().unwrap_or_default();
                filled_in.push(format!("{}.{name}", table.name));
            }
        }
        assert_eq!(filled_in, FILLED_IN);
    }

    #[test]
    fn a_column_named_as_a_time_holds_a_time() {
        let database = migrated();
        for table in tables(&database) {
            for filled_in in [false, true] {
                for column in columns(&database, &table, filled_in) {
                    let mut words = column.split(' ');
                    let (name, kind) = (words.next(), words.next());
                    if name.is_some_and(|name| name.ends_with("_at")) {
                        assert_eq!(kind, Some("integer"), "{table}.{column}");
                    }
                }
            }
        }
        for table in TABLES {
            for column in table.columns {
                if column.name.ends_with("_at") {
                    assert_eq!(column.kind, SqlType::Time, "{}.{}", table.name, column.name);
                }
            }
        }
    }

    #[test]
    fn feed_tables_have_a_stamp_and_keys_have_columns() {
        for table in TABLES {
            let has = |name: &str| table.columns.iter().any(|column| column.name == name);
            assert!(table.key.iter().all(|name| has(name)), "{}", table.name);
            assert!(!table.key.is_empty(), "{}", table.name);
            if table.feed.is_some() {
                assert!(has("cursor_us") && has(WORKSPACE), "{}", table.name);
            }
        }
    }
}
