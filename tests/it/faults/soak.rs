//! A long load of leads and reads: nothing fails, and memory does not grow.

use std::time::{Duration, Instant};

use leadhost_tests::load::{Follower, Targets};
use leadhost_tests::{Hosts, On, figures};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    under_load_for_long_nothing_fails_and_memory_does_not_grow,
}

const SENDERS: usize = 8;

/// After this many leads all caches are filled.
const WARM: usize = 1_000;

async fn under_load_for_long_nothing_fails_and_memory_does_not_grow(on: On) {
    let seconds = figures::size("LEADHOST_SOAK_SECONDS", 3, 10);
    let seconds = match on {
        On::Sqlite => seconds,
        // The second store gets a share of the run.
        On::Postgres(_) => seconds.div_ceil(2),
    };
    let hosts = Hosts::portal(on).apply().await;
    let (service, key) = (hosts.start(0).await, hosts.workspace_key());
    let follower = Follower::start(Targets::new([service.address("data")]), key);
    let targets = Targets::gateways(&[&service]);
    let load = hosts.load("lead", &targets, SENDERS);
    load.reaches(WARM).await;
    let (warm, memory, begun) = (load.acknowledged(), service.memory(), Instant::now());
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let each_second = (load.acknowledged() - warm) as f64 / begun.elapsed().as_secs_f64();
    let after = service.memory();
    let sent = hosts.assert_kept(&service, load).await;
    let acknowledged = sent.count(200);
    assert_eq!(
        acknowledged,
        sent.attempts.len(),
        "some were not acknowledged"
    );
    follower.assert_saw_all(service.address("data"), key).await;
    let complaints = service.complaints();
    assert!(complaints.is_empty(), "{complaints}");
    assert!(
        after < memory * 2 + (64 << 20),
        "{memory} bytes have become {after}"
    );
    let figure = format!(
        "{seconds} s: {} leads acknowledged, {each_second:.0}/s, 0 errors, 0 lost, 0 twice; memory {} MiB after the first {WARM} leads, {} MiB at the end",
        sent.acknowledged.len(),
        memory >> 20,
        after >> 20
    );
    figures::record("soak", Some(&hosts.on), None, &figure);
    assert!(service.stop());
}
