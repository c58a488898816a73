//! Concurrent work of hosts on one database.

use std::sync::Arc;
use std::time::Duration;

use leadhost_tests::postgres::database;

use super::super::plugins::plugin;
use super::super::world::{START, kept_for, plan};
use super::{open, run};

const HOSTS: usize = 4;

#[tokio::test]
async fn hosts_that_declare_at_once_number_agents_without_gaps() {
    let Some(database) = database().await else {
        return;
    };
    let url: Arc<str> = database.url().into();
    let hosts: Vec<_> = (0..HOSTS)
        .map(|host| {
            let url = Arc::clone(&url);
            tokio::spawn(async move {
                let store = open(&url).await.expect("it opens");
                // Two hosts for each workspace; a dry run in between leaves no
                // gap.
                let plan = plan(&format!("shared-{}", host % 2));
                store.apply(&plan, START, true).await.expect("a dry run");
                store.apply(&plan, START, false).await.expect("a plan")
            })
        })
        .collect();
    let mut applied = Vec::new();
    for host in hosts {
        applied.push(host.await.unwrap());
    }
    for (one, other) in [(0, 2), (1, 3)] {
        let (one, other) = (&applied[one], &applied[other]);
        assert_eq!(one.workspace_id, other.workspace_id);
        assert_eq!(one.connections, other.connections);
        // The second one changed nothing.
        assert!(one.changes.is_empty() != other.changes.is_empty());
    }
    let mut agents: Vec<i64> = applied
        .iter()
        .flat_map(|applied| applied.instances.values().map(|agent| agent.0))
        .collect();
    agents.sort_unstable();
    agents.dedup();
    assert_eq!(agents, [1, 2, 3, 4]);
}

#[tokio::test]
async fn activations_at_once_have_generations_of_their_own() {
    let Some(database) = database().await else {
        return;
    };
    let url: Arc<str> = database.url().into();
    let hosts: Vec<_> = (0..HOSTS)
        .map(|host| {
            let url = Arc::clone(&url);
            tokio::spawn(async move {
                let store = open(&url).await.expect("it opens");
                let wasm = host.to_be_bytes();
                let plugin = plugin(&wasm);
                store.put_plugin(&plugin, &wasm).await.expect("it is kept");
                let name = format!("form-{host}");
                let activated = store.activate(&name, &plugin.digest, START).await;
                activated.expect("it serves").generation
            })
        })
        .collect();
    let mut generations = Vec::new();
    for host in hosts {
        generations.push(host.await.unwrap());
    }
    generations.sort_unstable();
    assert_eq!(generations, [1, 2, 3, 4]);
}

#[tokio::test]
async fn markers_of_batches_are_removed_after_an_hour() {
    let Some(database) = database().await else {
        return;
    };
    let store = open(database.url()).await.expect("it opens");
    let mut owner = database.connect().await;
    run(
        &mut owner,
        "insert into leadhost.commit_markers (batch_id, at)
         select gen_random_uuid(), clock_timestamp() - age * interval '1 minute'
         from generate_series(50, 70, 4) as age",
    )
    .await;
    let retention = kept_for(Duration::MAX);
    let sweep = async |limit| {
        store
            .sweep(&retention, START, limit)
            .await
            .expect("it sweeps")
    };
    assert_eq!(sweep(2).await, 2);
    assert_eq!(sweep(2).await, 1);
    assert_eq!(sweep(2).await, 0);
}
