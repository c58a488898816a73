//! The service ends without warning, again and again, while leads come in: what
//! it acknowledged is there, and nothing is there twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use leadhost_tests::Service;
use leadhost_tests::components::target;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Ends of the service in one run.
const KILLS: usize = 100;

/// Senders at work when it ends.
const SENDERS: usize = 16;

/// Looks at the export until everything acknowledged is in it.
const LOOKS: usize = 6;

/// Acknowledged leads after which a life of the service ends: the count differs
/// from life to life, so that it ends at every point of a commit.
fn lifetime(life: usize) -> usize {
    40 + (life * 37) % 160
}

const WORKSPACE: &str = r#"
[workspace]
slug = "crash"
name = "Crash"

[[partners]]
name = "crm"

[[instances]]
name = "assistant"

[[connections]]
name = "portal"
partner = "crm"
instance = "assistant"
plugin = "grupo-olx"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_hundred_kills_and_comes_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = prepare(folder.path()).await;
    let connection = keys["connections"]["portal"]
        .as_str()
        .expect("a connection")
        .to_owned();
    let path: Arc<str> = format!("/ingest-lead/{connection}").into();

    let mut acknowledged = BTreeSet::new();
    let mut unsure = Vec::new();
    for life in 0..KILLS {
        let mut service = start(folder.path(), &[]).await;
        let ended = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let mut again = std::mem::take(&mut unsure).into_iter();
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let again: Vec<String> = again.by_ref().take(1).collect();
                let (ended, count, path) =
                    (Arc::clone(&ended), Arc::clone(&count), Arc::clone(&path));
                let to = service.address("gateway");
                tokio::spawn(
                    async move { send(to, &path, life, sender, again, &ended, &count).await },
                )
            })
            .collect();
        while count.load(Ordering::Relaxed) < lifetime(life) {
            assert!(
                !senders.iter().all(tokio::task::JoinHandle::is_finished),
                "the senders gave up in life {life}"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        service.kill();
        ended.store(true, Ordering::Relaxed);
        for sender in senders {
            let sent = sender.await.expect("a sender ends by itself");
            acknowledged.extend(sent.acknowledged);
            unsure.extend(sent.unsure);
        }
    }

    let service = start(folder.path(), &[]).await;
    let key = keys["workspaceKey"].as_str().expect("a key");
    let mut deals = BTreeMap::new();
    let mut lost = Vec::new();
    // What was answered `queued` is converted soon after the start.
    for _ in 0..LOOKS {
        deals = export(service.address("data"), key).await;
        lost = acknowledged
            .iter()
            .filter(|id| !deals.contains_key(*id))
            .collect();
        if lost.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let twice: Vec<_> = deals.iter().filter(|(_, count)| **count > 1).collect();
    assert!(
        lost.is_empty(),
        "{} of {} acknowledged leads are lost: {lost:?}",
        lost.len(),
        acknowledged.len()
    );
    assert!(twice.is_empty(), "leads that came twice: {twice:?}");
    assert!(acknowledged.len() >= KILLS * 40);
}

/// A folder with one converter and one workspace; the keys.
pub(crate) async fn prepare(folder: &Path) -> Value {
    let inbox = folder.join("inbox");
    std::fs::create_dir(&inbox).expect("a folder");
    let converter = target().join("plugins").join("converter-grupo-olx.wasm");
    std::fs::copy(&converter, inbox.join("converter-grupo-olx.wasm")).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo xtask plugins` builds it",
            converter.display()
        )
    });
    let workspace = folder.join("workspace.toml");
    std::fs::write(&workspace, WORKSPACE).expect("a file");
    let paths = [inbox.display().to_string(), workspace.display().to_string()];
    let service = start(folder, &["--inbox", &paths[0], "--first-apply", &paths[1]]).await;
    let keys = std::fs::read(folder.join("keys.json")).expect("keys were written");
    assert!(service.stop());
    serde_json::from_slice(&keys).expect("keys are JSON")
}

pub(crate) async fn start(folder: &Path, flags: &[&str]) -> Service {
    let folder = folder.to_owned();
    let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    tokio::task::spawn_blocking(move || {
        Service::start(
            &folder,
            &flags.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    })
    .await
    .expect("the service starts")
}

#[derive(Default)]
struct Sent {
    acknowledged: Vec<String>,
    /// Sent, and not answered: a sender would send it again.
    unsure: Vec<String>,
}

async fn send(
    to: std::net::SocketAddr,
    path: &str,
    life: usize,
    sender: usize,
    again: Vec<String>,
    ended: &AtomicBool,
    count: &AtomicUsize,
) -> Sent {
    let mut sent = Sent::default();
    let fresh = (0..).map(|n| format!("lead-{life}-{sender}-{n}"));
    let mut connection = None;
    for id in again.into_iter().chain(fresh) {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        match post(&mut connection, to, path, &id).await {
            Some(true) => {
                count.fetch_add(1, Ordering::Relaxed);
                sent.acknowledged.push(id);
            }
            Some(false) => panic!("lead {id} was refused"),
            None => {
                sent.unsure.push(id);
                break;
            }
        }
    }
    sent
}

/// Whether the lead was acknowledged; none when the service ended first.
pub(crate) async fn post(
    connection: &mut Option<SendRequest<Full<Bytes>>>,
    to: std::net::SocketAddr,
    path: &str,
    id: &str,
) -> Option<bool> {
    if connection.is_none() {
        let stream = TcpStream::connect(to).await.ok()?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(driver);
        *connection = Some(sender);
    }
    let lead = json!({
        "leadOrigin": "Portal", "timestamp": "2030-01-15T12:00:00.000Z", "originLeadId": id, "clientListingId": "AP-7",
        "name": "Rita Moura", "email": format!("{id}@example.com"), "ddd": "11", "phone": "987654321", "message": "Posso visitar?",
    });
    let request = hyper::Request::post(path)
        .header("host", "leadhost.test")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(lead.to_string())))
        .expect("a request");
    let sender = connection.as_mut()?;
    sender.ready().await.ok()?;
    let answer = sender.send_request(request).await.ok()?;
    let ok = answer.status() == 200;
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    let answer: Value = serde_json::from_slice(&body).ok()?;
    Some(
        ok && (answer["status"] == "converted"
            || answer["status"] == "duplicate"
            || answer["status"] == "queued"),
    )
}

/// How often each external id is in the export of deals.
pub(crate) async fn export(to: std::net::SocketAddr, key: &str) -> BTreeMap<String, usize> {
    let mut deals = BTreeMap::new();
    let mut cursor = None::<String>;
    loop {
        let from = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let page = leadhost_tests::Ask::new(
            to,
            hyper::Method::GET,
            &format!("/v1/export/deals?limit=1000{from}"),
        )
        .header("authorization", &format!("Bearer {key}"))
        .send()
        .await
        .expect(200)
        .json();
        for row in page["data"].as_array().expect("rows") {
            *deals
                .entry(row["external_id"].as_str().expect("an id").to_owned())
                .or_insert(0) += 1;
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return deals,
        }
    }
}
