//! Idle connections are closed to make room for active ones.

use std::time::Duration;

use leadhost_tests::{Host, Hosts, On, Options, figures, left_out, sized};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

leadhost_tests::on_every_store! {
    a_new_connection_replaces_the_one_that_has_idled_longest,
    an_address_past_its_bound_loses_its_own_idle_connections,
}

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(120);

const ASK: &[u8] = b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n";

/// Sends one request. Returns whether it was answered.
async fn is_served(stream: &mut TcpStream) -> bool {
    if stream.write_all(ASK).await.is_err() {
        return false;
    }
    let mut text = Vec::new();
    while !text.ends_with(b"{\"status\":\"live\"}") {
        let mut bytes = [0; 512];
        match timeout(LONG, stream.read(&mut bytes))
            .await
            .expect("an end")
        {
            Ok(count) if count > 0 => text.extend_from_slice(&bytes[..count]),
            _ => return false,
        }
    }
    true
}

async fn crowd(options: Options) {
    let host = Host::start(options).await;
    let mut idle = Vec::new();
    for _ in 0..4 {
        let mut stream = host.raw().await;
        assert!(is_served(&mut stream).await);
        idle.push(stream);
    }
    // The first one is now the most recently used.
    assert!(is_served(&mut idle[0]).await);
    let mut fifth = host.raw().await;
    assert!(is_served(&mut fifth).await, "a new connection is accepted");
    let mut end = [0; 1];
    let closed = timeout(LONG, idle[1].read(&mut end)).await.expect("an end");
    assert!(matches!(closed, Ok(0) | Err(_)), "the second idled longest");
    for at in [0, 2, 3] {
        assert!(is_served(&mut idle[at]).await, "{at} stays");
    }
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let line = "leadhost_connections_sent_away_total 1";
    assert!(metrics.text().contains(line), "{}", metrics.text());
}

async fn a_new_connection_replaces_the_one_that_has_idled_longest(on: On) {
    crowd(Options::on(on).with("server.connections", 4)).await;
}

async fn an_address_past_its_bound_loses_its_own_idle_connections(on: On) {
    crowd(Options::on(on).with("server.connections_per_peer", 4)).await;
}

/// Idle connections that a host must withstand.
fn many() -> usize {
    sized(2_000, 10_000)
}

/// The bytes that each of them may cost.
const EACH: u64 = 23_000;

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_idle_connections_fit_in_a_small_memory() {
    let many = many();
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit).is_ok();
    let needed = many as u64 + 2_000;
    if !raised || limit.maximum.is_some_and(|most| most < needed) {
        left_out(&format!(
            "{needed} files cannot be open here; the tests with crowds of four cover it"
        ));
        return;
    }
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let service = hosts.start(0).await;
    let address = service.address("gateway");
    let before = service.memory();
    let mut idle = Vec::with_capacity(many);
    for number in 0..many {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        // Every second connection has sent a request before.
        if number % 2 == 0 {
            assert!(is_served(&mut stream).await);
        }
        idle.push(stream);
    }
    let mut late = TcpStream::connect(address).await.expect("it listens");
    assert!(is_served(&mut late).await);
    let memory = service.memory();
    let figure = format!(
        "{many} idle connections: {} MiB of memory, {} MiB without them; new clients are still served",
        memory >> 20,
        before >> 20
    );
    figures::record("idle", Some(&On::Sqlite), None, &figure);
    assert!(
        memory < before + many as u64 * EACH,
        "{before} bytes have become {memory}"
    );
    assert!(
        is_served(&mut idle[many - 2]).await,
        "a young one is still there"
    );
}
