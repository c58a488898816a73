//! The server hangs: it accepts data and answers nothing. Requests end at their
//! deadline, memory does not grow, and when the server continues, so does
//! everything.

use std::time::{Duration, Instant};

use leadhost_tests::load::{Load, Targets};
use leadhost_tests::postgres::signal;
use leadhost_tests::{Service, has};
use rustix::process::Signal;

use super::{MORE, Outage, becomes_ready, lasts};

/// The host's own deadline for an answer.
const ANSWER: [&str; 2] = ["--set", "server.answer_seconds=5"];

/// A request that takes longer was not ended by that deadline. On a machine full
/// of tests only the end itself can be checked.
const LATEST: Duration = Duration::from_secs(60);

/// How long everything stands still.
const OUTAGE: Duration = Duration::from_secs(9);

#[tokio::test(flavor = "multi_thread")]
async fn while_the_whole_server_stands_still_requests_end_in_time() {
    let world = available!(Outage::new());
    let host = world.hosts.start_with(0, &ANSWER).await;
    let load = world.load(&Targets::gateways(&[&host]), 16);
    load.reaches(500).await;
    let idle = host.memory();

    world.server.freeze();
    refused_in_time(&load, &host, idle).await;
    let ready = host.ask("gateway", "GET", "/health/ready");
    ready.send().await.expect(503);
    world.server.thaw();

    goes_on(&world, &host, load, "the whole server stands still").await;
}

/// The host detects it by itself: the request's own deadline of half a minute
/// plays no part.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_noticed_before_a_requests_deadline() {
    let world = available!(Outage::new());
    let host = world.hosts.start(0).await;
    world.server.freeze();
    for _ in 0..3 {
        let lead = host.ask("gateway", "POST", &world.hosts.ingest("portal"));
        let refused = lead.body("{}").send().await;
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert_ne!(refused.header("retry-after"), "");
    }
    let metrics = host.ask("admin", "GET", "/metrics").send().await;
    has!(metrics, r#"leadhost_shed_total{reason="deadline"} 0"#);
    world.server.thaw();
    becomes_ready(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_stand_still_are_given_up_for_new_ones() {
    let world = available!(Outage::new());
    let host = world.hosts.start_with(0, &ANSWER).await;
    let load = world.load(&Targets::gateways(&[&host]), 16);
    load.reaches(500).await;

    // In the middle of their work: they keep their locks.
    let backends = world.server.backends().await;
    assert!(!backends.is_empty());
    signal(&backends, Signal::STOP);
    lasts(OUTAGE).await;
    signal(&backends, Signal::CONT);

    goes_on(&world, &host, load, "every connection stands still").await;
}

/// Returns when every sender was refused and the outage has lasted long enough.
async fn refused_in_time(load: &Load, host: &Service, idle: u64) {
    let since = Instant::now();
    // Each of them more than once.
    load.is_refused(load.refused() + 32).await;
    lasts(OUTAGE.saturating_sub(since.elapsed())).await;
    let now = host.memory();
    assert!(now < idle + MORE, "{idle} bytes have become {now}");
}

/// Checks what must hold after the fault.
async fn goes_on(world: &Outage, host: &Service, load: Load, fault: &str) {
    load.goes_on(500).await;
    let sent = world.recovers(host, load).await;
    assert!(sent.slowest() < LATEST, "{:?}", sent.slowest());
    let figure = format!(
        "{fault} for {} s: no request longer than {:.1} s of 5 allowed, {} leads acknowledged, 0 lost, 0 twice",
        OUTAGE.as_secs(),
        sent.slowest().as_secs_f64(),
        sent.acknowledged.len()
    );
    world.record("stopped", &figure);
}
