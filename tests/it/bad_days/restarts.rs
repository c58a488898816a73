//! The server stops and restarts repeatedly, in both ways in which operators and machines
//! stop it.

use std::time::{Duration, Instant};

use leadhost_tests::load::Targets;
use leadhost_tests::postgres::Shutdown;

use super::Outage;

/// From the restart of the server to the first acknowledgement of a lead that was sent
/// after it.
const RECOVERY: Duration = Duration::from_secs(2);

/// The additional time for a busy test machine: the host recovers by itself, at any time.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn repeated_restarts_of_the_server_lose_no_lead_and_leak_no_connection() {
    let world = available!(Outage::new());
    let host = world.hosts.start(0).await;
    let load = world.load(&Targets::gateways(&[&host]), 16);
    let mut returns = Vec::new();
    for round in 0..4 {
        load.goes_on(150).await;
        let how = [Shutdown::Immediate, Shutdown::Fast][round % 2];
        tokio::task::block_in_place(|| {
            world.server.stop_in(how);
            world.server.run();
        });
        returns.push(Instant::now());
        load.goes_on(50).await;
    }
    load.goes_on(300).await;
    let sent = world.recovers(&host, load).await;
    let mut slowest = Duration::ZERO;
    for back in &returns {
        let next = sent.first_acknowledged_after(*back).expect("it went on");
        let took = next.duration_since(*back);
        slowest = slowest.max(took);
        assert!(took < RECOVERY + PATIENCE, "it took {took:?} to go on");
    }
    let connections = world.connections().await;
    // The connections of the pool, and some others: the listener's and the jobs'.
    assert!(connections <= 6 + 4, "{connections} connections are open");
    let figure = format!(
        "{} restarts of the server, every second one without a shutdown: {} leads acknowledged, 0 lost, 0 twice; the first acknowledgement at most {:.1} s after the server returned",
        returns.len(),
        sent.acknowledged.len(),
        slowest.as_secs_f64()
    );
    world.record("restarted", &figure);
}
