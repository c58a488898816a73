//! What holds for a store in one file: its lock, its schema, its disk.

use std::sync::Arc;

use leadhost::clock::ManualClock;
use leadhost::domain::delivery::ItemStatus;
use leadhost::domain::row::Entity;
use leadhost::store::StoreError;
use leadhost::store::sqlite::{self, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::world::*;

fn clock() -> Arc<ManualClock> {
    ManualClock::at(START)
}

#[tokio::test]
async fn a_file_is_served_by_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let store = sqlite::open(&file, clock()).await.unwrap();
    let Err(StoreError::Open(message)) = sqlite::open(&file, clock()).await else {
        panic!("it was opened twice");
    };
    assert!(
        message.contains(&std::process::id().to_string()),
        "{message}"
    );
    drop(store);
    sqlite::open(&file, clock()).await.unwrap();
}

#[tokio::test]
async fn what_was_committed_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let store = sqlite::open(&file, clock()).await.unwrap();
    let id = store.id();
    let world = World::of(store, clock(), Box::new(())).await;
    let item = world.item(lead(world.known_as("L1"))).await;
    let (scope, before) = (world.scope, world.page(Entity::Deals, 0, None, 10).await);
    drop(world);
    let store = sqlite::open(&file, clock()).await.unwrap();
    store.ping().await.unwrap();
    assert_eq!(store.id(), id);
    let after = store
        .export(&scope, Entity::Deals, 0, None, 10)
        .await
        .unwrap();
    assert_eq!(after.rows, before.rows);
    assert_eq!(after.clock, before.clock);
    let world = World::of(store, clock(), Box::new(())).await;
    let repeat = world.item(lead(world.known_as("L1"))).await;
    assert_eq!(repeat.status, ItemStatus::Duplicate);
    assert_eq!(repeat.deal_id, item.deal_id);
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    drop(sqlite::open(&file, clock()).await.unwrap());
    let options = SqliteConnectOptions::new().filename(&file);
    let mut connection = options.connect().await.unwrap();
    sqlx::query("pragma user_version = 9999")
        .execute(&mut connection)
        .await
        .unwrap();
    let Err(StoreError::Open(message)) = sqlite::open(&file, clock()).await else {
        panic!("it was opened");
    };
    assert!(message.contains("9999"), "{message}");
}

#[tokio::test]
async fn a_file_of_an_older_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let store = sqlite::open(&file, clock()).await.unwrap();
    let world = World::of(store, clock(), Box::new(())).await;
    let item = world.item(lead(world.known_as("L1"))).await;
    drop(world);
    let options = SqliteConnectOptions::new().filename(&file);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql("drop table answers; pragma user_version = 1")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let store = sqlite::open(&file, clock()).await.unwrap();
    let world = World::of(store, clock(), Box::new(())).await;
    let repeat = world.item(lead(world.known_as("L1"))).await;
    assert_eq!(repeat.deal_id, item.deal_id);
    let delivery = world.delivery().id;
    let answers = world.store.answers(delivery, 0, 1).await.unwrap();
    assert!(answers.is_empty());
}

#[tokio::test]
async fn on_a_full_disk_writes_fail_reads_go_on_and_room_heals() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("leadhost.db"), clock())
        .await
        .unwrap();
    let world = World::of(Arc::clone(&store) as _, clock(), Box::new(folder)).await;
    store.limit_pages(120).await;
    let mut kept = Vec::new();
    let error = loop {
        let mut delivery = world.delivery();
        delivery.body = vec![b'x'; 20_000];
        let id = delivery.id;
        match world
            .store
            .commit(&[world.accept_as(delivery, vec![lead(world.lead())])])
            .await
        {
            Ok(_) => kept.push(id),
            Err(error) => break error,
        }
        assert!(kept.len() < 1_000, "the bound holds");
    };
    assert!(matches!(error, StoreError::Full), "{error}");
    assert!(!kept.is_empty());
    // Full again, and nothing of what failed is there.
    let mut large = world.delivery();
    large.body = vec![b'x'; 100_000];
    let refused = world
        .store
        .commit(&[world.accept_as(large.clone(), Vec::new())])
        .await;
    assert!(matches!(refused, Err(StoreError::Full)));
    assert!(world.store.delivery(large.id).await.unwrap().is_none());
    assert_eq!(world.all(Entity::Deals).await.len(), kept.len());
    for id in &kept {
        assert_eq!(world.detail(*id).await.request.body.len(), 20_000);
    }
    store.limit_pages(0).await;
    world
        .commit(&[world.accept_as(large.clone(), vec![lead(world.lead())])])
        .await;
    assert_eq!(world.all(Entity::Deals).await.len(), kept.len() + 1);
    assert_eq!(world.detail(large.id).await.request.body.len(), 100_000);
}
