//! Databases that the store refuses to open, with a message that says what to do.
//! Roles belong to a whole server, so tests that change them use their own server.

use leadhost_tests::postgres::{connect, empty_database, private};
use url::Url;

use super::*;

/// The URL with another name and password, or another database.
fn with(url: &str, change: impl FnOnce(&mut Url)) -> String {
    let mut url = Url::parse(url).unwrap();
    change(&mut url);
    url.to_string()
}

/// Checks the parts of the message for a store that cannot be opened.
async fn is_refused(url: &str, parts: &[&str]) {
    let words = refusal(url).await;
    for part in parts {
        has!(words, part);
    }
}

#[tokio::test]
async fn hosts_that_open_an_empty_database_at_once_find_one_store() {
    let database = available!(empty_database());
    let hosts = (0..8).map(|_| {
        let url = database.url().to_owned();
        tokio::spawn(async move { open(&url).await.map(|store| store.id()) })
    });
    let mut ids = Vec::new();
    for host in hosts.collect::<Vec<_>>() {
        ids.push(host.await.unwrap().expect("it opens"));
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let again = open(database.url()).await.expect("it opens again");
    assert_eq!(again.id(), ids[0]);
}

#[tokio::test]
async fn an_address_that_leads_nowhere_is_refused() {
    is_refused(
        "postgres://user@host:port/database",
        &["store.url is not a valid PostgreSQL URL"],
    )
    .await;
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    is_refused(
        &format!("postgres://user@127.0.0.1:{port}/database"),
        &[&format!("store.url cannot be reached at 127.0.0.1:{port}")],
    )
    .await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_refused() {
    let database = available!(empty_database());
    let url = with(database.url(), |url| url.set_path("/leadhost_not_there"));
    is_refused(&url, &["does not exist", "createdb"]).await;
}

#[tokio::test]
async fn a_schema_of_a_newer_version_is_refused() {
    let database = available!(database());
    open(database.url()).await.expect("it opens");
    let mut owner = database.connect().await;
    run(
        &mut owner,
        "insert into leadhost.schema_versions (version) values (9999)",
    )
    .await;
    is_refused(
        database.url(),
        &["schema version 9999", "start the newer version"],
    )
    .await;
}

#[tokio::test]
async fn a_wrong_password_and_a_database_that_cannot_hold_every_name_are_refused() {
    let server = available!(private());
    let database = server.database().await;
    let mut admin = database.connect_as_admin().await;
    let make = "create database narrow template template0 encoding 'LATIN1' locale 'C'";
    run(&mut admin, make).await;
    is_refused(
        &with(database.url(), |url| url.set_path("/narrow")),
        &["LATIN1", "--encoding UTF8"],
    )
    .await;
    let wrong = with(database.url(), |url| {
        url.set_password(Some("not-this-one")).unwrap();
    });
    is_refused(&wrong, &["the user or the password"]).await;
    let unknown_user = with(database.url(), |url| url.set_username("nobody").unwrap());
    is_refused(&unknown_user, &["the user or the password"]).await;
}

#[tokio::test]
async fn a_login_that_may_not_make_the_role_gets_the_statement_to_run() {
    let server = available!(private());
    let mut admin = connect(&server.url()).await;
    for sql in [
        "create role plain login password 'plain-password'",
        "create database plain owner plain",
    ] {
        run(&mut admin, sql).await;
    }
    let url = with(server.url().as_str(), |url| {
        url.set_username("plain").unwrap();
        url.set_password(Some("plain-password")).unwrap();
        url.set_path("/plain");
    });
    let both = "`create role leadhost_service nologin; grant leadhost_service to <";
    is_refused(&url, &[both]).await;
    run(&mut admin, "create role leadhost_service nologin").await;
    // The role exists, and this login may not become it.
    is_refused(&url, &["`grant leadhost_service to <"]).await;
    run(&mut admin, "grant leadhost_service to plain").await;
    open(&url).await.expect("it opens");
}

#[tokio::test]
async fn a_role_that_could_pass_the_policies_is_refused() {
    let server = available!(private());
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
            is_refused(
                url,
                &["alter role leadhost_service nosuperuser nobypassrls"],
            )
            .await;
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
    is_refused(database.url(), &["owner of the tables"]).await;
}
