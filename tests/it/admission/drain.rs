//! A stop under load cuts no request off.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leadhost_tests::{Hosts, LONG, On, eventually, figures};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const CLIENTS: usize = 16;

/// Answers before the stop, so that all of the clients are active.
const WARM: usize = 100;

fn stops() -> usize {
    figures::size("LEADHOST_STOPS", 3, 20)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_under_load_cuts_no_request_off() {
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let path: Arc<str> = hosts.ingest("portal").into();
    let (mut cut, mut served) = (0, 0);
    for stop in 0..stops() {
        let service = hosts.start(0).await;
        let to = service.address("gateway");
        let answered = Arc::new(AtomicUsize::new(0));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (path, answered) = (Arc::clone(&path), Arc::clone(&answered));
                tokio::spawn(client(to, path, format!("{stop}-{number}"), answered))
            })
            .collect();
        eventually("the clients to be warm", async || {
            answered.load(Ordering::Relaxed) >= WARM
        })
        .await;
        let ends = tokio::task::spawn_blocking(move || service.stop());
        for client in clients {
            cut += client.await.expect("no panic");
        }
        assert!(ends.await.expect("no panic"), "it exits successfully");
        served += answered.load(Ordering::Relaxed);
    }
    let figure = format!(
        "{} stops beside {CLIENTS} clients, {served} requests answered, {cut} cut off",
        stops()
    );
    figures::record("stops", Some(&On::Sqlite), None, &figure);
    assert_eq!(cut, 0, "requests were cut off");
}

/// Sends requests until the service no longer listens. Returns how many got no
/// answer.
async fn client(to: SocketAddr, path: Arc<str>, name: String, answered: Arc<AtomicUsize>) -> usize {
    let mut cut = 0;
    let mut number = 0;
    while let Ok(mut stream) = TcpStream::connect(to).await {
        loop {
            number += 1;
            let lead = format!(
                r#"{{"leadOrigin":"Grupo OLX","originLeadId":"{name}-{number}","name":"Ana","phone":"11987654321"}}"#
            );
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{lead}",
                lead.len()
            );
            match ask(&mut stream, &request).await {
                Some(true) => drop(answered.fetch_add(1, Ordering::Relaxed)),
                Some(false) => break,
                None => {
                    cut += 1;
                    break;
                }
            }
        }
    }
    cut
}

/// Whether the connection stays open after its answer; `None` without an
/// answer.
async fn ask(stream: &mut TcpStream, request: &str) -> Option<bool> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut text = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let count = timeout(LONG, stream.read(&mut bytes)).await;
        let count = count.expect("an end").ok()?;
        if count == 0 {
            return None;
        }
        text.extend_from_slice(&bytes[..count]);
        let seen = String::from_utf8_lossy(&text);
        let Some((head, body)) = seen.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len()
            >= length
                .and_then(|length| length.parse().ok())
                .expect("a length")
        {
            return Some(!head.contains("\r\nconnection: close"));
        }
    }
}
