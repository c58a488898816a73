//! The parts of the store that only SQLite has: one file, one process. Connections and
//! their threads, the log and its checkpoints, backup, and opening. The operations are in
//! `operations`.

pub(super) mod backup;
pub(super) mod checkpoint;
mod commits;
mod connections;
pub(super) mod db;
pub(super) mod error;
pub(super) mod examine;
mod open;
mod reserve;
pub(super) mod run;
mod single_host;
pub(super) mod threads;

pub(super) use self::db::Db;
pub(super) use self::open::{alone, leave, note_newest};

use self::reserve::Reserve;
use super::high_water_mark::{HighWaterMark, Mark};
use crate::prelude::*;
use leadhost_domain::clock::SharedClock;

/// Opens the store in this file, and creates it if it does not exist. Compares it with the
/// high-water mark of its last known state. `has_reserve`: a file beside it keeps room on the disk. Returns
/// the database and the store's id.
pub(super) async fn open(
    path: &Path,
    clock: &SharedClock,
    high_water_mark: Arc<HighWaterMark>,
    has_reserve: bool,
) -> Result<(Arc<Db>, Uuid), StoreError> {
    let lock = open::lock(path)?;
    open::refuse_foreign_log(path)?;
    open::refuse_moved(path)?;
    open::refuse_other_version(path)?;
    let reserve = has_reserve.then(|| Reserve::beside(path));
    // On a full disk not even a reader could open the file.
    reserve.iter().for_each(Reserve::release);
    let db = Arc::new(Db::open(
        path,
        lock,
        Arc::clone(clock),
        Arc::clone(&high_water_mark),
    ));
    let id = open::prepare(&db, clock.as_ref())
        .await
        .map_err(|error| open::for_file(path, error))?;
    reserve
        .iter()
        .for_each(|reserve| reserve.renew(db.counted()));
    let sight = Mark {
        store: id,
        server: String::new(),
        newest: open::newest(&db).await?,
    };
    high_water_mark.meets(sight, None, clock.now());
    tokio::spawn(open::keep_noting(Arc::downgrade(&db), high_water_mark));
    checkpoint::start(&db, reserve);
    Ok((db, id))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::connections::SqliteOptions;
    use super::*;
    use crate::operations;
    use crate::sql::Dialect;
    use leadhost_domain::clock::SystemClock;

    /// Opens a connection to a new file, as the writer thread has it.
    async fn connection() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let clock: SharedClock = Arc::new(SystemClock);
        let opened = open(&file, &clock, HighWaterMark::in_memory(), false).await;
        drop(opened.expect("a new store opens"));
        let connection = SqliteOptions::to_write(file, clock).open();
        (folder, connection.expect("it opens again"))
    }

    #[tokio::test]
    async fn every_sql_text_prepares_against_the_schema() {
        let (_folder, connection) = connection().await;
        for (_, sql) in operations::statements(Dialect::Sqlite) {
            let prepared = connection.prepare(sql);
            assert!(prepared.is_ok(), "{sql}\n{:?}", prepared.err());
        }
    }

    /// Tables with few rows per workspace, as a plan names them: connections, agents, partners, and
    /// the builds and zones of rollups.
    const FEW_OF_A_WORKSPACE: [&str; 5] = [
        "INDEX rollup_builds",
        "sqlite_autoindex_connections",
        "sqlite_autoindex_agents",
        "sqlite_autoindex_partners",
        "SEARCH z USING PRIMARY KEY",
    ];

    /// A growing table is never scanned from end to end: every query starts from its
    /// parameters, and an index answers it.
    #[tokio::test]
    async fn no_query_for_a_lead_scans_a_whole_table() {
        let (_folder, connection) = connection().await;
        // Workspaces, their builds, and tables with a few rows for each of these.
        let small = [
            "connections",
            "store",
            "CONSTANT ROW",
            "rollup_builds",
            "rollup_cubes",
            "rollup_zones",
        ];
        let listed = [
            "json_each",
            "jsonb_each",
            "wanted",
            "used",
            "w",
            "b",
            "one",
            "found",
            "own",
            "page",
            "clock",
            "waiting",
            "sizes",
            "totals",
            "seen",
            "each",
            "made",
            "gone",
            "fits",
        ];
        let all = operations::statements(Dialect::Sqlite).map(|(_, sql)| sql);
        for sql in all.filter(|sql| !operations::is_of_few(sql)) {
            let explain = format!("explain query plan {sql}");
            let mut plan = connection.prepare(&explain).expect("it prepares");
            let mut rows = plan.raw_query();
            while let Some(row) = rows.next().expect("it explains") {
                let detail: String = row.get("detail").expect("text");
                let scanned = detail.strip_prefix("SCAN ");
                let table = scanned.and_then(|rest| rest.split(' ').next());
                let fine = table.is_none_or(|table| {
                    // A list in the query. The reads inside it have their own lines.
                    table.starts_with("(subquery-")
                        || listed.contains(&table)
                        || small.iter().any(|small| small.starts_with(table))
                });
                assert!(fine, "{detail}\n{sql}");
                // An index that leads to all rows of a workspace is no better, and neither
                // is an automatic index.
                let is_led = !detail.ends_with("(workspace_id=?)") && !detail.contains("AUTOMATIC");
                let of_few = FEW_OF_A_WORKSPACE.iter().any(|few| detail.contains(few));
                assert!(is_led || of_few, "{detail}\n{sql}");
            }
        }
    }

    #[tokio::test]
    async fn a_commit_is_synced_before_it_is_answered() {
        let (_folder, connection) = connection().await;
        for (pragma, expect) in [
            ("synchronous", "2"),
            ("journal_mode", "wal"),
            ("foreign_keys", "1"),
            ("wal_autocheckpoint", "0"),
        ] {
            let found = connection
                .pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0));
            let found = match found.expect(pragma) {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => text,
                other => panic!("{pragma} is {other:?}"),
            };
            assert_eq!(found, expect, "{pragma}");
        }
    }
}
