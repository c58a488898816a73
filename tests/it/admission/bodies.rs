//! Bodies: strangers' are not read, and no sender takes all the room.

use leadhost_domain::id::ConnectionId;
use leadhost_domain::limits;
use leadhost_tests::{Host, Hosts, LONG, On, Options, eventually, figures, has, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

leadhost_tests::on_every_store! {
    bodies_to_an_unknown_address_take_no_room,
    a_sender_that_fills_one_connection_leaves_room_for_the_others,
    an_operator_is_heard_while_senders_fill_the_room_for_bodies,
}

const LARGEST: usize = limits::DELIVERY_BYTES;

fn narrow(on: On) -> Options {
    Options::on(on).with("server.bodies_mib", 8)
}

fn head(connection: &str, length: usize) -> String {
    format!(
        "POST /ingest-lead/{connection} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// The beginning of the answer, up to the status.
async fn status(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 12];
    timeout(LONG, stream.read_exact(&mut bytes))
        .await
        .expect("an answer")
        .expect("open");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn bodies_to_an_unknown_address_take_no_room(on: On) {
    let host = Host::start(narrow(on)).await;
    let seeded = host.workspace("demo").await;
    let mut strangers = Vec::new();
    for _ in 0..70 {
        let mut stream = host.raw().await;
        let made_up = ConnectionId::generate();
        let head = head(made_up.as_str(), LARGEST);
        stream.write_all(head.as_bytes()).await.expect("open");
        stream.write_all(&[b'x'; 64 << 10]).await.expect("open");
        strangers.push(stream);
    }
    let target = format!("/ingest-lead/{}", seeded.connection);
    for _ in 0..5 {
        host.post(&target).body("{}").send().await.expect(200);
    }
    // They get the answer before they have sent the rest.
    for stream in &mut strangers {
        assert_eq!(status(stream).await, "HTTP/1.1 404");
    }
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let line = "leadhost_addresses_unknown_total 70";
    has!(metrics, line);
}

async fn a_sender_that_fills_one_connection_leaves_room_for_the_others(on: On) {
    let host = Host::start(narrow(on)).await;
    let (bad, good) = (host.workspace("bad").await, host.workspace("good").await);
    let mut first = host.raw().await;
    let head = head(bad.connection.as_str(), LARGEST);
    first.write_all(head.as_bytes()).await.expect("open");
    let target = format!("/ingest-lead/{}", bad.connection);
    until("the first one's room is taken", async || {
        let answer = host.post(&target).body("{}").send().await;
        (answer.status == 503).then(|| {
            assert_eq!(answer.header("retry-after"), "1");
            has!(answer, "this connection");
        })
    })
    .await;
    // Two bodies use the whole share of one address, except for what is left
    // below one body.
    let target = format!("/ingest-lead/{}", good.connection);
    let answer = host.post(&target).body("{}").send().await;
    assert_eq!(answer.status, 503, "the address has its share");
    has!(answer, "Your address");
    drop(first);
    eventually("the room is given back", async || {
        let answer = host.post(&target).body("{}").send().await;
        answer.status == 200
    })
    .await;
}

async fn an_operator_is_heard_while_senders_fill_the_room_for_bodies(on: On) {
    let host = Host::start(narrow(on)).await;
    let busy = host.workspace("busy").await;
    let operator = host.admin_key().await;
    let mut sender = host.raw().await;
    let head = head(busy.connection.as_str(), LARGEST);
    sender.write_all(head.as_bytes()).await.expect("open");
    let target = format!("/ingest-lead/{}", busy.connection);
    until("the room is taken", async || {
        let answer = host.post(&target).body("{}").send().await;
        (answer.status == 503).then_some(())
    })
    .await;
    let key = json!({"kind": "admin", "label": "second"});
    let ask = host.admin("POST", "/admin/v1/keys").bearer(&operator);
    ask.json(&key).send().await.expect(201);
}

/// The setting of a host with 256 MiB: a sixteenth is for bodies.
#[tokio::test(flavor = "multi_thread")]
async fn many_large_deliveries_at_once_are_shed_within_the_memory_of_a_small_host() {
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let path = hosts.ingest("portal");
    let flags = ["--set", "server.bodies_mib=16"];
    let service = hosts.start_with(0, &flags).await;
    let padding = "x".repeat(3_900_000);
    let senders = (0..64).map(|number| {
        let lead = format!(
            r#"{{"leadOrigin":"Grupo OLX","originLeadId":"large-{number}","name":"Ana","phone":"11987654321","message":"{padding}"}}"#
        );
        let ask = service.ask("gateway", "POST", &path).body(lead);
        tokio::spawn(async move {
            let answer = ask.try_send().await;
            answer.map(|answer| (answer.status, answer.header("retry-after").to_owned()))
        })
    });
    let senders: Vec<_> = senders.collect();
    let (mut taken, mut shed) = (0, 0);
    for sender in senders {
        match sender.await.expect("no panic") {
            Some((503, again)) => {
                assert_eq!(again, "1");
                shed += 1;
            }
            // Refused while it was still sending, and closed.
            None => shed += 1,
            Some(_) => taken += 1,
        }
    }
    assert!(taken > 0 && shed > 0, "{taken} taken, {shed} shed");
    let peak = service.peak_memory();
    assert!(peak < 256 << 20, "{} MiB at most", peak >> 20);
    let figure = format!(
        "64 deliveries of 3.9 MB at once: {taken} taken, {shed} asked to retry, {} MiB of memory at most",
        peak >> 20
    );
    figures::record("memory", Some(&On::Sqlite), None, &figure);
    let ask = service.ask("gateway", "GET", "/health/live");
    ask.send().await.expect(200);
}
