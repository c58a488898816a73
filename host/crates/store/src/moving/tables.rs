//! The tables that are moved: all but those that stay, with the reason.

use super::super::schema::{TABLES, table::TableSchema};

const REBUILT: &str = "analytics follows the feeds, which arrive with their stamps: \
    the first run counts them from their beginning";

/// The tables that are not moved, and why.
const STAY: [(&str, &str); 8] = [
    ("rollup_runs", REBUILT),
    ("rollup_builds", REBUILT),
    ("rollup_keys", REBUILT),
    ("rollup_facts", REBUILT),
    ("rollup_slots", REBUILT),
    ("rollup_cubes", REBUILT),
    ("rollup_days", REBUILT),
    ("rollup_zones", "three requests for a zone bring it back"),
];

/// Returns the tables that are moved, in the order of the schema, in which referenced tables come
/// first. The row of `store` is no table of the schema: the database has its own, written at the end.
pub fn moved() -> impl Iterator<Item = &'static TableSchema> {
    let stays = |table: &TableSchema| STAY.iter().any(|(name, _)| *name == table.name);
    TABLES.into_iter().filter(move |table| !stays(table))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::migrations;

    #[test]
    fn every_table_moves_after_those_that_it_refers_to_or_has_its_reason_to_stay() {
        let database = Connection::open_in_memory().expect("a database in memory");
        for migration in &migrations::SQLITE.texts {
            database.execute_batch(migration).expect("it is applied");
        }
        assert_eq!(
            moved().count(),
            TABLES.len() - STAY.len(),
            "a table stays that is none"
        );
        let mut before: Vec<&str> = Vec::new();
        for table in moved() {
            let sql = "select distinct \"table\" from pragma_foreign_key_list(?1)";
            let mut statement = database.prepare(sql).expect(sql);
            let rows = statement.query_map([table.name], |row| row.get::<_, String>(0));
            for named in rows.expect(sql).map(|name| name.expect("a name")) {
                let is_there = named == table.name || before.contains(&named.as_str());
                assert!(is_there, "{} comes before {named}", table.name);
            }
            before.push(table.name);
        }
    }
}
