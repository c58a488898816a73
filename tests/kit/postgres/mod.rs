//! PostgreSQL for tests. They use the server that `LEADHOST_TEST_POSTGRES_URL`
//! names; otherwise a server on the local default port that lets them create
//! databases; otherwise a private one, which is started from the installed
//! programs and ends with this process.
//!
//! A test gets its own database and touches no other. Only a [`Server`] may be
//! stopped or broken: it is always private to one test. If no server is
//! available, a test that needs one is skipped with a message on the terminal,
//! or fails if `LEADHOST_REQUIRE_POSTGRES` is 1.

mod database;
mod server;
mod shared;

use std::io::Write as _;
use std::sync::Once;

pub use database::{Database, connect};
pub use server::{Server, Shutdown, signal};
pub use shared::{how, sweep};

/// The variable with the URL of the server that the tests use.
pub const URL: &str = "LEADHOST_TEST_POSTGRES_URL";

/// Set to 1: tests that need PostgreSQL fail if there is none.
pub const REQUIRE: &str = "LEADHOST_REQUIRE_POSTGRES";

/// Creates a database for the test, as the service leaves it at its first
/// start.
/// `None`, after printing the reason, if no server is available.
pub async fn database() -> Option<Database> {
    match shared::shared().await {
        Ok(shared) => Some(shared.database().await),
        Err(reason) => left_out(reason),
    }
}

/// Creates an empty database for the test. `None`, after printing the reason,
/// if no server is available.
pub async fn empty_database() -> Option<Database> {
    match shared::shared().await {
        Ok(shared) => Some(shared.empty_database().await),
        Err(reason) => left_out(reason),
    }
}

/// Starts a server for the test, which may stop and break it. `None`, after
/// printing the reason, if none can be started.
pub async fn private() -> Option<Server> {
    match Server::start() {
        Ok(server) => Some(server),
        Err(reason) => left_out(&reason),
    }
}

#[track_caller]
fn left_out<T>(reason: &str) -> Option<T> {
    let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
    assert!(
        !required,
        "{REQUIRE}=1, and no PostgreSQL can be had: {reason}"
    );
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        // Not through `eprintln!`, which the test harness captures.
        let _ = writeln!(
            std::io::stderr(),
            "\nLEFT OUT: every test that needs PostgreSQL, for none can be had: {reason}\n"
        );
    });
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::{Executor as _, Row as _};

    #[tokio::test]
    async fn a_database_is_empty_and_its_owner_is_an_ordinary_role() {
        let (Some(one), Some(other)) = (empty_database().await, empty_database().await) else {
            return;
        };
        assert_ne!(one.name(), other.name());
        let mut connection = one.connect().await;
        connection.execute("create table t (id int)").await.unwrap();
        let row = connection
            .fetch_one(
                "select (select count(*) from pg_tables where schemaname = 'public'),
                        rolsuper, rolbypassrls, rolcreaterole
                 from pg_roles where rolname = current_user",
            )
            .await
            .unwrap();
        let (tables, superuser): (i64, bool) = (row.get(0), row.get(1));
        assert_eq!(
            (tables, superuser, row.get(2), row.get(3)),
            (1, false, false, true)
        );
        let mut connection = other.connect().await;
        assert!(connection.execute("select * from t").await.is_err());
    }

    #[tokio::test]
    async fn a_private_server_restarts_at_its_address_after_a_crash_and_leaves_nothing() {
        let Some(server) = private().await else {
            return;
        };
        let database = server.database().await;
        let mut connection = database.connect().await;
        connection
            .execute("create table t as select 1 as id")
            .await
            .unwrap();
        assert_eq!(server.backends().await.len(), 1);
        server.stop();
        assert!(connection.execute("select * from t").await.is_err());
        server.run();
        let mut connection = database.connect().await;
        connection.execute("select * from t").await.unwrap();
        // A frozen server ends all the same.
        server.freeze();
        assert!(server.processes().len() > 3);
        let (port, folder) = (server.url().port().unwrap(), server.folder().to_owned());
        drop(server);
        let refused = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        assert!(refused.is_err() && !folder.exists());
    }
}
