//! Concurrent work of hosts on one database.

use super::super::plugins::put;
use super::*;

const HOSTS: usize = 4;

/// Opens the store on each host at once, and does this with it and the host's number.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    database: &Database,
    act: impl Fn(usize, Arc<Store>) -> F + Copy + Send + 'static,
) -> Vec<T> {
    let mut hosts = Vec::new();
    for host in 0..HOSTS {
        let url = database.url().to_owned();
        hosts.push(tokio::spawn(async move {
            let store = open(&url).await.expect("it opens");
            act(host, store).await
        }));
    }
    let mut made = Vec::new();
    for host in hosts {
        made.push(host.await.expect("no panic"));
    }
    made
}

#[tokio::test]
async fn hosts_that_declare_at_once_number_agents_without_gaps() {
    let database = available!(database());
    let declare = |host, store: Arc<Store>| async move {
        // Two hosts for each workspace; a dry run in between leaves no gap.
        let plan = plan(&format!("shared-{}", host % 2));
        store.apply(&plan, START, true).await.expect("a dry run");
        store.apply(&plan, START, false).await.expect("a plan")
    };
    let applied = at_once(&database, declare).await;
    for (one, other) in [(0, 2), (1, 3)] {
        let (one, other) = (&applied[one], &applied[other]);
        assert_eq!(one.workspace_id, other.workspace_id);
        assert_eq!(one.connections, other.connections);
        // The second one changed nothing.
        assert!(one.changes.is_empty() != other.changes.is_empty());
    }
    let agents = applied
        .iter()
        .flat_map(|applied| applied.instances.values());
    let mut agents: Vec<i64> = agents.map(|agent| agent.0).collect();
    agents.sort_unstable();
    agents.dedup();
    assert_eq!(agents, [1, 2, 3, 4]);
}

#[tokio::test]
async fn activations_at_once_have_generations_of_their_own() {
    let database = available!(database());
    let activate = |host: usize, store: Arc<Store>| async move {
        let digest = put(&store, &host.to_be_bytes()).await;
        let name = format!("form-{host}");
        let activated = store.activate(&name, &digest, START).await;
        activated.expect("it serves").generation
    };
    let mut generations = at_once(&database, activate).await;
    generations.sort_unstable();
    assert_eq!(generations, [1, 2, 3, 4]);
}

#[tokio::test]
async fn markers_of_batches_are_removed_after_an_hour() {
    let database = available!(database());
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
    let sweep = async |limit| store.sweep(&retention, START, limit).await.unwrap();
    assert_eq!(sweep(2).await, 2);
    assert_eq!(sweep(2).await, 1);
    assert_eq!(sweep(2).await, 0);
}
