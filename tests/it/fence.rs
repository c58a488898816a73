//! No stamp goes backwards, whatever happens to the machine of the store: after a
//! fail-over or a restore a host reads at once and writes later.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leadhost_tests::load::{post, stamps};
use leadhost_tests::{Hosts, On, eventually, has, lacks, postgres, until};

/// Less than the service waits.
const WAIT: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread")]
async fn after_a_fail_over_reads_continue_and_writes_wait() {
    let server = available!(postgres::private());
    let on = On::Postgres(Arc::new(server.database().await));
    let hosts = Hosts::portal(on).count(2).apply().await;
    let key = hosts.workspace_key();
    let service = hosts.start(0).await;
    let (gateway, data) = (service.address("gateway"), service.address("data"));
    let path = hosts.ingest("portal");
    accepted(gateway, &path, "before").await;
    let before = stamps(data, key).await;

    // If the test looks late, the measured time is longer, never too short.
    let begun = Instant::now();
    server.fail_over();
    until("it reads again", async || {
        let page = hosts
            .client(&service, "/v1/export/deals")
            .try_send()
            .await?;
        (page.status == 200).then_some(())
    })
    .await;
    accepted(gateway, &path, "after").await;
    let log = service.log();
    has!(log, "on another server than before");
    assert!(begun.elapsed() >= WAIT, "{:?}\n{log}", begun.elapsed());
    let after = stamps(data, key).await;
    assert!(after["after"] > before["before"]);
    assert!(service.stop());

    // Another fail-over while no host runs; then one host that did not know the store before, and one
    // that did. The first knows the former server from the store alone, where the host that starts
    // first writes the new one after its wait.
    server.fail_over();
    let new = hosts.start(1).await;
    let known = hosts.start(0).await;
    for service in [new, known] {
        has!(service.log(), "on another server than before");
        accepted(service.address("gateway"), &path, "later").await;
        assert!(service.stop());
    }
    // After it has waited once, the host remembers the state.
    let service = hosts.start(0).await;
    accepted(service.address("gateway"), &path, "last").await;
    lacks!(service.log(), "on another server than before");
    assert!(service.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_of_a_file_writes_wait() {
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let (path, key) = (hosts.ingest("portal"), hosts.workspace_key());
    let service = hosts.start(0).await;
    accepted(service.address("gateway"), &path, "kept").await;
    let copy = hosts.folder(0).join("copy.db");
    service.run(&["backup", &copy.display().to_string()]);
    accepted(service.address("gateway"), &path, "gone").await;
    let stamps_before = stamps(service.address("data"), key).await;
    // At its stop the host records the high-water mark of the store.
    assert!(service.stop());

    let file = hosts.folder(0).join("leadhost.db");
    std::fs::copy(&copy, &file).expect("it is put back");
    for end in ["-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        // After a clean stop they do not exist.
        let _ = std::fs::remove_file(name);
    }
    let begun = Instant::now();
    let service = hosts.start(0).await;
    let found = stamps(service.address("data"), key).await;
    assert!(found.contains_key("kept") && !found.contains_key("gone"));
    accepted(service.address("gateway"), &path, "after").await;
    let log = service.log();
    has!(log, "it was restored");
    assert!(begun.elapsed() >= WAIT, "{:?}\n{log}", begun.elapsed());
    let after = stamps(service.address("data"), key).await;
    assert!(after["after"] > stamps_before["gone"]);
    assert!(service.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_behind_the_stamps_makes_no_lower_stamp() {
    check_ahead(On::Sqlite).await;
    if let Some(on) = On::postgres().await {
        check_ahead(on).await;
    }
}

async fn check_ahead(on: On) {
    let hosts = Hosts::portal(on).apply().await;
    let path = hosts.ingest("portal");
    let service = hosts.start(0).await;
    accepted(service.address("gateway"), &path, "first").await;
    assert!(service.stop());
    let ahead = "update feed_clock set last_us = last_us + 3600000000";
    hosts.on.change(hosts.folder(0), ahead).await;
    let service = hosts.start(0).await;
    for lead in ["second", "third"] {
        accepted(service.address("gateway"), &path, lead).await;
    }
    let stamps = stamps(service.address("data"), hosts.workspace_key()).await;
    let time = |lead: &str| {
        leadhost_domain::time::parse(&stamps[lead])
            .expect("a time")
            .0
    };
    let later = |one: &str, other: &str| time(other) - time(one);
    assert!(later("first", "second") > 3_500_000_000);
    assert!(later("second", "third") > 0);
    assert!(service.stop());
}

/// Sends the lead until it is acknowledged, as a source would.
async fn accepted(to: SocketAddr, path: &str, lead: &str) {
    eventually("the lead is accepted", async || {
        post(&mut None, to, path, lead).await == Some(true)
    })
    .await;
}
