//! Thousands of idle connections cost little memory, and new clients are served beside them. An idle connection is
//! closed after the configured time.

use leadhost_tests::{Host, Hosts, LONG, On, Options, figures, left_out, sized};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const ASK: &[u8] = b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n";

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

/// The bytes that each idle connection may cost.
const EACH: u64 = 23_000;

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_idle_connections_fit_in_a_small_memory() {
    let many: usize = sized(2_000, 10_000);
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit).is_ok();
    let needed = many as u64 + 2_000;
    if !raised || limit.maximum.is_some_and(|most| most < needed) {
        left_out(&format!(
            "{needed} files cannot be open here; the unit tests of the bound on connections cover it"
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
    let is_so = memory < before + many as u64 * EACH;
    assert!(is_so, "{before} bytes have become {memory}");
    let is_so = is_served(&mut idle[many - 2]).await;
    assert!(is_so, "a young one is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed_after_the_configured_time() {
    let options = Options::on(On::Sqlite).with("server.idle_seconds", 1);
    let host = Host::start(options).await;
    let mut stream = TcpStream::connect(host.addresses.gateway).await.unwrap();
    assert!(is_served(&mut stream).await);
    let end = timeout(LONG, stream.read(&mut [0; 64])).await;
    assert_eq!(end.expect("it is closed").unwrap(), 0);
}
