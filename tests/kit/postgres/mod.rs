//! PostgreSQL for tests, found by themselves: the server that
//! `LEADHOST_TEST_POSTGRES_URL` names; else one on the local default port that
//! lets us make databases; else a private one, started from the programs that
//! are installed here and gone with this process.
//!
//! A test gets a database of its own and touches no other. Only a [`Server`]
//! may be stopped or broken: it is always private, and its test's alone. Where
//! no server can be had, a test that needs one is left out, which is said
//! aloud, or fails when `LEADHOST_REQUIRE_POSTGRES` is 1.

mod database;
mod found;
mod server;

use std::io::Write as _;
use std::sync::Once;

pub use database::{Database, connect};
pub use found::{how, sweep};
pub use server::{Server, Shutdown, signal};

/// Names the server that the tests shall use, by a URL.
pub const URL: &str = "LEADHOST_TEST_POSTGRES_URL";

/// Set to 1: tests that need PostgreSQL fail where there is none.
pub const REQUIRE: &str = "LEADHOST_REQUIRE_POSTGRES";

/// A database of the test's own, as the service leaves it at its first start.
/// None, after saying so, where no server can be had.
///
/// # Panics
/// As [`empty_database`] does.
pub async fn database() -> Option<Database> {
    match found::shared().await {
        Ok(shared) => Some(shared.database().await),
        Err(reason) => left_out(reason),
    }
}

/// A database of the test's own, with nothing in it. None, after saying so,
/// where no server can be had.
///
/// # Panics
/// When none can be had and `LEADHOST_REQUIRE_POSTGRES` is 1, or when the
/// server that `LEADHOST_TEST_POSTGRES_URL` names cannot be used.
pub async fn empty_database() -> Option<Database> {
    match found::shared().await {
        Ok(shared) => Some(shared.empty_database().await),
        Err(reason) => left_out(reason),
    }
}

/// A server of the test's own, that it may stop and break. None, after saying
/// so, where none can be started.
///
/// # Panics
/// When none can be started and `LEADHOST_REQUIRE_POSTGRES` is 1.
pub async fn private() -> Option<Server> {
    match Server::start() {
        Ok(server) => Some(server),
        Err(reason) => left_out(&reason),
    }
}

fn left_out<T>(reason: &str) -> Option<T> {
    let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
    assert!(
        !required,
        "{REQUIRE}=1, and no PostgreSQL can be had: {reason}"
    );
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        // Not through `eprintln!`, which is swallowed while tests run.
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
    async fn a_database_is_empty_and_its_owner_is_nobody_special() {
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
    async fn a_private_server_comes_back_where_it_was_after_a_crash_and_goes_whole() {
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
        // Standing still does not save it from its end.
        server.freeze();
        assert!(server.processes().len() > 3);
        let (port, folder) = (server.url().port().unwrap(), server.folder().to_owned());
        drop(server);
        let refused = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        assert!(refused.is_err() && !folder.exists());
    }
}
