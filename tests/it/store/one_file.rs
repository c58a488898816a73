//! What holds for a store in one file: its lock, its schema, its disk.

use std::sync::Arc;

use leadhost::clock::ManualClock;
use leadhost::domain::connection::{ConnectionKind, Settings};
use leadhost::domain::delivery::ItemStatus;
use leadhost::domain::row::Entity;
use leadhost::store::StoreError;
use leadhost::store::sqlite::{self, SqliteStore};
use leadhost_tests::{On, figures, until};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::messages;
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
    // A process that another test has just started may still have the lock with it.
    let store = until("the file is free", async || {
        sqlite::open(&file, clock()).await.ok()
    })
    .await;
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

/// A file as the first version made it, with what an operator had declared.
pub(crate) const OLD: &str = include_str!("../../../host/migrations/sqlite/0001_begin.sql");

pub(crate) const OLD_ROWS: &str = "
insert into workspaces (id, slug, name, region, time_zone, rate_limit, created_us)
values ('00000000-0000-7000-8000-000000000001', 'old', 'Old', 'BR', 'America/Sao_Paulo', 120, 1);
insert into partners (workspace_id, id, name, created_us)
select id, '00000000-0000-7000-8000-000000000002', 'Acme', 1 from workspaces;
insert into agents (workspace_id, name, number, kind, channel, config, internal)
select id, 'Ana', '+5511900000001', 'ai', 'whatsapp', '{}', 0 from workspaces;
insert into connections (workspace_id, id, partner_id, name, plugin, config, config_version, allow,
  checks, routes, secrets, sealed, fingerprint, region, time_zone, dedupe_by_content, paused_us,
  paused_reason)
select workspace_id, '0123456789012345678901', id, 'site', 'form', '{}', 3, '[]', '[]', '{}', '[]',
  x'0102', 'f', 'BR', 'America/Sao_Paulo', 1, 5, 'by an operator' from partners;
pragma user_version = 1";

#[tokio::test]
async fn a_file_of_an_older_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leadhost.db");
    let options = SqliteConnectOptions::new().filename(&file);
    let mut connection = options.create_if_missing(true).connect().await.unwrap();
    for sql in [OLD, OLD_ROWS] {
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
    let store = sqlite::open(&file, clock()).await.unwrap();
    let [kept] = store.connections(None).await.unwrap().try_into().unwrap();
    assert_eq!(
        (kept.kind, kept.config_version),
        (ConnectionKind::Source, 3)
    );
    assert_eq!(kept.settings, Settings::default());
    assert_eq!(kept.paused.expect("it is paused").reason, "by an operator");
    let agents = store.agents(kept.workspace).await.unwrap();
    assert_eq!((agents.len(), agents[0].name.as_str()), (1, "Ana"));
    let world = World::of(store, clock(), Box::new(())).await;
    let item = world.item(lead(world.known_as("L1"))).await;
    assert_eq!(item.status, ItemStatus::Converted);
    let answers = world.store.answers(world.delivery().id, 0, 1).await;
    assert!(answers.unwrap().is_empty());
    let new = messages::store(&world, messages::notification(&world, messages::PHONE)).await;
    assert_eq!(messages::claim_send(&world).await.message, new.message);
}

#[tokio::test]
async fn on_a_full_disk_writes_fail_reads_go_on_and_room_heals() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("leadhost.db"), clock())
        .await
        .unwrap();
    let world = World::of(Arc::clone(&store) as _, clock(), Box::new(folder)).await;
    // The tables and indexes take a page each and more before the first row.
    store.limit_pages(200).await;
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
    let figure = format!(
        "a file at its bound: {} deliveries kept and read, 2 refused whole, leads taken when the bound is gone",
        kept.len()
    );
    figures::tell("full", Some(&On::Sqlite), None, &figure);
}
