//! The network to the database breaks: connections are reset, or nothing passes through, without an error.

use std::time::Duration;

use leadhost_tests::eventually;
use leadhost_tests::load::Targets;
use leadhost_tests::proxy::Proxy;

use super::{Outage, lasts};

const RESETS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn resets_silence_and_refused_connections_lose_no_acknowledged_lead() {
    let world = available!(Outage::new());
    let proxy = Proxy::before(world.database.url()).await;
    let url = proxy.url(world.database.url());
    let flags = ["--store-url", &url, "--set", "server.answer_seconds=5"];
    let host = world.hosts.start_with(0, &flags).await;
    let load = world.load(&Targets::gateways(&[&host]), 16);
    load.reaches(200).await;

    for _ in 0..RESETS {
        proxy.reset();
        load.goes_on(20).await;
    }

    // Half open: everything that is sent is lost, including the ends of
    // connections.
    proxy.fall_silent();
    load.is_refused(load.refused() + 16).await;
    proxy.reset();
    proxy.go_on();
    load.goes_on(100).await;

    proxy.shut(true);
    proxy.reset();
    load.is_refused(load.refused() + 32).await;
    let is_shut = async || proxy.open() == 0;
    eventually("no connection is left", is_shut).await;
    lasts(Duration::from_secs(1)).await;
    proxy.shut(false);
    load.goes_on(100).await;

    let sent = world.recovers(&host, load).await;
    let figure = format!(
        "{RESETS} resets of all connections, 1 silence, 1 closed door: {} leads acknowledged, 0 lost, 0 twice, no request longer than {:.1} s of 5 allowed",
        sent.acknowledged.len(),
        sent.slowest().as_secs_f64()
    );
    world.record("cut", &figure);
}
