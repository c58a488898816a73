//! The properties of a store in one file: its lock, its schema, its disk.

use std::path::Path;

use leadhost_store::{backup, open_sqlite};
use leadhost_tests::figures;
use rusqlite::Connection;

use super::world::*;

fn clock() -> Arc<ManualClock> {
    ManualClock::at(START)
}

async fn open(file: &Path) -> Result<Arc<Store>, StoreError> {
    open_sqlite(file, clock()).await
}

/// Returns the reason why it cannot be opened.
async fn refusal(file: &Path) -> String {
    match open(file).await {
        Err(StoreError::Open(message)) => message,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test]
async fn a_file_is_served_by_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let store = open(&file).await.unwrap();
    let message = refusal(&file).await;
    has!(message, &std::process::id().to_string());
    drop(store);
    until("the file is free", async || open(&file).await.ok()).await;
}

#[tokio::test]
async fn committed_writes_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let store = open(&file).await.unwrap();
    let id = store.id();
    let world = World::with_store(store, clock(), Box::new(())).await;
    let item = world.bring(world.known_as("L1")).await;
    let (scope, before) = (world.scope, world.page(Entity::Deals, 0, None, 10).await);
    drop(world);
    // A process that another test has just started may have inherited the lock.
    let store = until("the file is free", async || open(&file).await.ok()).await;
    store.ping().await.unwrap();
    assert_eq!(store.id(), id);
    let after = store
        .export(&scope, Entity::Deals, 0, None, 10)
        .await
        .unwrap();
    assert_eq!(after.rows, before.rows);
    assert_eq!(after.clock, before.clock);
    let world = World::with_store(store, clock(), Box::new(())).await;
    let repeat = world.bring(world.known_as("L1")).await;
    assert_eq!(repeat.status, ItemStatus::Duplicate);
    assert_eq!(repeat.deal_id, item.deal_id);
}

#[tokio::test]
async fn a_reader_that_keeps_the_log_is_noticed_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let store = open(&file).await.unwrap();
    let world = World::with_store(Arc::clone(&store), clock(), Box::new(())).await;
    let reader = Connection::open(&file).unwrap();
    reader.execute_batch("begin").unwrap();
    let count: i64 = reader
        .query_row("select count(*) from deals", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 0);
    let number = std::cell::Cell::new(0);
    // A checkpoint follows a commit.
    let is_held = async || {
        number.set(number.get() + 1);
        world
            .bring(world.known_as(&format!("L{}", number.get())))
            .await;
        store.log().expect("a file").held_seconds.is_some()
    };
    until("the log is held", async || is_held().await.then_some(())).await;
    assert!(store.log().expect("a file").bytes > 0);
    drop(reader);
    until("the log is free", async || (!is_held().await).then_some(())).await;
}

/// Returns the schema's version and the number of its tables and indexes.
fn tables(file: &Path) -> (i64, i64) {
    let connection = Connection::open(file).unwrap();
    let ask = |query| connection.query_row(query, [], |row| row.get(0)).unwrap();
    (
        ask("select user_version from pragma_user_version"),
        ask("select count(*) from sqlite_schema"),
    )
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    drop(open(&file).await.unwrap());
    let connection = Connection::open(&file).unwrap();
    let newer = "pragma user_version = 9999";
    connection.execute_batch(newer).unwrap();
    let message = refusal(&file).await;
    has!(message, "9999", "start the newer version");
}

#[tokio::test]
async fn a_file_from_before_the_first_release_is_refused_and_left_as_it_is() {
    for version in [1, 7, 11] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("leadhost.db");
        let old = format!(
            "create table deliveries (id text primary key); pragma user_version = {version}"
        );
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(&old).unwrap();
        drop(connection);
        let before = tables(&file);
        let bytes = std::fs::read(&file).unwrap();
        let message = refusal(&file).await;
        assert!(std::fs::read(&file).unwrap() == bytes, "it was changed");
        let says = format!("(schema version {version})");
        has!(message, &says, "another data folder");
        assert_eq!(tables(&file), before);
        let copy = folder.path().join("copy.db");
        let copied = backup(&file, &copy, |_, _| ()).await;
        let refused = copied.expect_err("it cannot be read").to_string();
        has!(refused, &message);
        let left = std::fs::read_dir(folder.path()).unwrap();
        let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(!left.any(|name| name.starts_with("copy")));
    }
}

#[tokio::test]
async fn a_damaged_file_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    std::fs::write(&file, "no database\n".repeat(1_000)).unwrap();
    let opened = refusal(&file).await;
    let copied = backup(&file, &folder.path().join("copy.db"), |_, _| ()).await;
    let copied = copied.expect_err("it cannot be read").to_string();
    let named = format!("{}: the database file is damaged", file.display());
    for message in [opened, copied] {
        has!(message, &named, "restore a copy");
    }
}

#[tokio::test]
async fn on_a_full_disk_writes_fail_and_reads_continue_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("leadhost.db")).await.unwrap();
    let world = World::with_store(Arc::clone(&store), clock(), Box::new(folder)).await;
    // The tables and indexes take at least one page each before the first row.
    store.limit_pages(200).await;
    let mut kept = Vec::new();
    let error = loop {
        let mut delivery = world.delivery();
        delivery.body = vec![b'x'; 20_000].into();
        let id = delivery.id;
        let write = world.accept_as(delivery, vec![lead(world.lead())]);
        match world.store.commit(&[write]).await {
            Ok(_) => kept.push(id),
            Err(error) => break error,
        }
        assert!(kept.len() < 1_000, "the bound holds");
    };
    assert!(matches!(error, StoreError::Full), "{error}");
    assert!(!kept.is_empty());
    // The file is full again, and nothing of the failed write is there.
    let mut large = world.delivery();
    large.body = vec![b'x'; 100_000].into();
    let write = world.accept_as(large.clone(), Vec::new());
    let refused = world.store.commit(&[write]).await;
    assert!(matches!(refused, Err(StoreError::Full)));
    assert!(!world.is_kept(large.id).await);
    assert_eq!(world.all(Entity::Deals).await.len(), kept.len());
    for id in &kept {
        assert_eq!(world.detail(*id).await.request.body.len(), 20_000);
    }
    store.limit_pages(0).await;
    let write = world.accept_as(large.clone(), vec![lead(world.lead())]);
    world.write(write).await;
    assert_eq!(world.all(Entity::Deals).await.len(), kept.len() + 1);
    assert_eq!(world.detail(large.id).await.request.body.len(), 100_000);
    let figure = format!(
        "a file at its bound: {} deliveries kept and read, 2 refused whole, leads accepted once the bound is lifted",
        kept.len()
    );
    figures::record("full", Some(&On::Sqlite), None, &figure);
}
