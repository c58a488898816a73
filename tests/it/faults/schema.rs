//! The program is killed while it creates a store's schema: the next start finds nothing,
//! or all of it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leadhost_tests::postgres::empty_database;
use leadhost_tests::service::{SERVE, Service, command};
use leadhost_tests::{On, figures};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_schema_creation_that_is_killed_is_completed_by_the_next_start,
}

/// Starts that are killed.
fn kills(on: &On) -> u32 {
    let kills = figures::size("LEADHOST_SCHEMA_KILLS", 6, 10);
    let kills = match on {
        On::Sqlite => kills,
        // Each has its own database.
        On::Postgres(_) => kills / 2,
    };
    u32::try_from(kills).expect("not so many")
}

async fn a_schema_creation_that_is_killed_is_completed_by_the_next_start(on: On) {
    let kills = kills(&on);
    let first = store(&on).await;
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Instant::now();
    let whole = start(&first, folder.path());
    let takes = begun.elapsed();
    assert!(whole.stop());
    let expected = state(&first, folder.path()).await;

    let mut cut = 0;
    for kill in 0..kills {
        let on = store(&on).await;
        let folder = tempfile::tempdir().expect("a folder");
        let begun = begin(&on, folder.path(), takes * kill / kills);
        cut += u32::from(!begun);
        let service = start(&on, folder.path());
        assert!(service.stop());
        let found = state(&on, folder.path()).await;
        assert_eq!(found, expected, "killed at {kill} of {kills}");
    }
    assert!(cut > 0, "every start was over before it was killed");
    let what = match on {
        On::Sqlite => "a new file, its schema made",
        On::Postgres(_) => "an empty database, its schema made",
    };
    let figure = format!(
        "{what}: killed at {kills} points of a start ({cut} before it was ready), each next start makes or finds the whole schema"
    );
    figures::record("migration", Some(&on), None, &figure);
}

/// A separate store of the same kind.
async fn store(on: &On) -> On {
    match on {
        On::Sqlite => On::Sqlite,
        On::Postgres(_) => {
            let database = empty_database().await.expect("there was one before");
            On::Postgres(Arc::new(database))
        }
    }
}

/// Returns the number of columns, the version of the schema or the number of its policies, and
/// the number of rows about the store itself.
async fn state(on: &On, folder: &Path) -> (i64, i64, i64) {
    let (columns, version) = match on {
        On::Sqlite => (
            "select count(*) from sqlite_schema s, pragma_table_info(s.name) where s.type = 'table'",
            "select user_version from pragma_user_version",
        ),
        On::Postgres(_) => (
            "select count(*) from information_schema.columns where table_schema = 'leadhost'",
            "select count(*) from pg_policies where schemaname = 'leadhost'",
        ),
    };
    (
        on.count(folder, columns).await,
        on.count(folder, version).await,
        on.count(folder, "select count(*) from store").await,
    )
}

fn start(on: &On, folder: &Path) -> Service {
    tokio::task::block_in_place(|| Service::start_on(on, folder, &[]))
}

/// Starts to serve and is killed after this time. Returns whether it was ready by then.
fn begin(on: &On, folder: &Path, after: Duration) -> bool {
    let mut child = command(folder, &SERVE)
        .env("LEADHOST_STORE_URL", on.url())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    // The pause is the fault itself; nothing waits for its effect.
    tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(tokio::time::sleep(after));
    });
    child.kill().expect("it runs or has run");
    child.wait().expect("it ends");
    folder.join("service.json").exists()
}
