//! Databases that the store refuses to open, with a message that says what to do.
//! Roles belong to a whole server, so tests that change them use their own server.

use std::sync::Arc;

use leadhost_tests::postgres::{connect, database, empty_database, private};
use url::Url;

use super::{open, refusal, run};

/// The URL with another name and password, or another database.
fn with(url: &str, change: impl FnOnce(&mut Url)) -> String {
    let mut url = Url::parse(url).unwrap();
    change(&mut url);
    url.to_string()
}

fn check(words: &str, expect: &[&str]) {
    for part in expect {
        assert!(words.contains(part), "no `{part}` in: {words}");
    }
}

#[tokio::test]
async fn hosts_that_open_an_empty_database_at_once_find_one_store() {
    let Some(database) = empty_database().await else {
        return;
    };
    let url: Arc<str> = database.url().into();
    let hosts: Vec<_> = (0..8)
        .map(|_| {
            let url = Arc::clone(&url);
            tokio::spawn(async move { open(&url).await.map(|store| store.id()) })
        })
        .collect();
    let mut ids = Vec::new();
    for host in hosts {
        ids.push(host.await.unwrap().expect("it opens"));
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let again = open(database.url()).await.expect("it opens again");
    assert_eq!(again.id(), ids[0]);
}

#[tokio::test]
async fn an_address_that_leads_nowhere_is_refused() {
    check(
        &refusal("postgres://user@host:port/database").await,
        &["store.url is not a valid PostgreSQL URL"],
    );
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    check(
        &refusal(&format!("postgres://user@127.0.0.1:{port}/database")).await,
        &[&format!("store.url cannot be reached at 127.0.0.1:{port}")],
    );
}

#[tokio::test]
async fn a_database_that_is_not_there_is_refused() {
    let Some(database) = empty_database().await else {
        return;
    };
    let url = with(database.url(), |url| url.set_path("/leadhost_not_there"));
    check(&refusal(&url).await, &["does not exist", "createdb"]);
}

#[tokio::test]
async fn a_schema_of_a_newer_version_is_refused() {
    let Some(database) = database().await else {
        return;
    };
    open(database.url()).await.expect("it opens");
    let mut owner = database.connect().await;
    run(
        &mut owner,
        "insert into leadhost.schema_versions (version) values (9999)",
    )
    .await;
    check(
        &refusal(database.url()).await,
        &["schema version 9999", "start the newer version"],
    );
}

#[tokio::test]
async fn a_wrong_password_and_a_database_that_cannot_hold_every_name_are_refused() {
    let Some(server) = private().await else {
        return;
    };
    let database = server.database().await;
    let mut admin = database.connect_as_admin().await;
    let make = "create database narrow template template0 encoding 'LATIN1' locale 'C'";
    run(&mut admin, make).await;
    check(
        &refusal(&with(database.url(), |url| url.set_path("/narrow"))).await,
        &["LATIN1", "--encoding UTF8"],
    );
    let wrong = with(database.url(), |url| {
        url.set_password(Some("not-this-one")).unwrap();
    });
    check(&refusal(&wrong).await, &["the user or the password"]);
    let unknown_user = with(database.url(), |url| url.set_username("nobody").unwrap());
    check(&refusal(&unknown_user).await, &["the user or the password"]);
}

#[tokio::test]
async fn a_login_that_may_not_make_the_role_gets_the_statement_to_run() {
    let Some(server) = private().await else {
        return;
    };
    let mut admin = connect(&server.url()).await;
    run(
        &mut admin,
        "create role plain login password 'plain-password'",
    )
    .await;
    run(&mut admin, "create database plain owner plain").await;
    let url = with(server.url().as_str(), |url| {
        url.set_username("plain").unwrap();
        url.set_password(Some("plain-password")).unwrap();
        url.set_path("/plain");
    });
    let both = "`create role leadhost_service nologin; grant leadhost_service to <";
    check(&refusal(&url).await, &[both]);
    run(&mut admin, "create role leadhost_service nologin").await;
    // The role exists, and this login may not become it.
    check(&refusal(&url).await, &["`grant leadhost_service to <"]);
    run(&mut admin, "grant leadhost_service to plain").await;
    open(&url).await.expect("it opens");
}

#[tokio::test]
async fn a_role_that_could_pass_the_policies_is_refused() {
    let Some(server) = private().await else {
        return;
    };
    let database = server.database().await;
    drop(open(database.url()).await.expect("it opens"));
    let mut admin = connect(&server.url()).await;
    for (given, taken) in [
        (
            "alter role leadhost_service bypassrls",
            "alter role leadhost_service nobypassrls",
        ),
        (
            "alter role leadhost_service superuser",
            "alter role leadhost_service nosuperuser",
        ),
    ] {
        run(&mut admin, given).await;
        for url in [database.url(), database.admin_url()] {
            check(
                &refusal(url).await,
                &["alter role leadhost_service nosuperuser nobypassrls"],
            );
        }
        run(&mut admin, taken).await;
        drop(open(database.url()).await.expect("it opens again"));
    }
    // Nor may the role own the tables that the policies protect from it.
    let mut inside = database.connect_as_admin().await;
    run(
        &mut inside,
        "alter table leadhost.deals owner to leadhost_service",
    )
    .await;
    check(&refusal(database.url()).await, &["owner of the tables"]);
}
