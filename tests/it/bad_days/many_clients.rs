//! A thousand clients send requests at once, far more than the database can serve:
//! some are served, at the usual rate, the others are soon asked to retry, and
//! leads are accepted as before.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::RETRY_AFTER;
use hyper_util::rt::TokioIo;
use leadhost_tests::load::Targets;
use leadhost_tests::proxy::Proxy;
use tokio::net::TcpStream;

use super::{MORE, Outage, lasts};

const CLIENTS: usize = 1_000;

/// As many as the database serves at once, and some that wait.
const FEW: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_clients_are_served_or_asked_to_retry() {
    let world = available!(Outage::new());
    let proxy = Proxy::before(world.database.url()).await;
    let url = proxy.url(world.database.url());
    let host = world.hosts.start_with(0, &["--store-url", &url]).await;
    // The request takes time in the database, but no processor time of this
    // machine.
    proxy.delay(Duration::from_millis(10));
    let load = world.load(&Targets::gateways(&[&host]), 16);
    load.reaches(100).await;

    crowd(&world, host.address("gateway"), FEW).await;
    let idle = host.memory();

    let before = load.acknowledged();
    let storm = crowd(&world, host.address("gateway"), CLIENTS).await;
    let leads_in_storm = load.acknowledged() - before;
    let memory = host.memory();

    assert!(!storm.refused.is_empty(), "{storm:?}");
    assert_eq!(storm.wrong.len(), 0, "{:?}", storm.wrong.first());
    assert!(storm.served > 0 && leads_in_storm > 0, "{storm:?}");
    assert!(memory < idle + MORE, "{idle} bytes have become {memory}");

    world.recovers(&host, load).await;
}

/// The answers to many clients within the same time.
#[derive(Default)]
struct ClientAnswers {
    served: usize,
    /// The latency of each.
    refused: Vec<Duration>,
    wrong: Vec<String>,
    slowest: Duration,
}

impl ClientAnswers {
    fn half_refused_within(&self) -> Duration {
        let mut took = self.refused.clone();
        took.sort_unstable();
        took.get(took.len() / 2).copied().unwrap_or_default()
    }
}

impl fmt::Debug for ClientAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} served, {} refused, half of them within {:?}, none later than {:?}",
            self.served,
            self.refused.len(),
            self.half_refused_within(),
            self.slowest
        )
    }
}

async fn crowd(world: &Outage, to: SocketAddr, clients: usize) -> ClientAnswers {
    let key = world.hosts.partner_key();
    let ended = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..clients)
        .map(|number| tokio::spawn(client(to, key.to_owned(), number, Arc::clone(&ended))))
        .collect();
    lasts(Duration::from_secs(6)).await;
    ended.store(true, Ordering::Relaxed);
    let mut all = ClientAnswers::default();
    for client in clients {
        let answers = client.await.expect("a client ends by itself");
        all.served += answers.served;
        all.refused.extend(answers.refused);
        all.wrong.extend(answers.wrong);
        all.slowest = all.slowest.max(answers.slowest);
    }
    all
}

async fn client(
    to: SocketAddr,
    key: String,
    number: usize,
    ended: Arc<AtomicBool>,
) -> ClientAnswers {
    let mut answers = ClientAnswers::default();
    let mut connection = None;
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        let Some((status, retry_after)) = ask(&mut connection, to, &key, number).await else {
            answers.wrong.push("no answer".to_owned());
            break;
        };
        let took = began.elapsed();
        answers.slowest = answers.slowest.max(took);
        match (status, retry_after) {
            (200, _) => answers.served += 1,
            (503, Some(seconds @ 1..)) => {
                answers.refused.push(took);
                // After the time in `Retry-After`, but not all at once.
                let moment = Duration::from_millis(number as u64 % 100);
                lasts(Duration::from_secs(seconds) + moment).await;
            }
            answer => answers.wrong.push(format!("{answer:?}")),
        }
    }
    answers
}

type Connection = SendRequest<Empty<Bytes>>;

/// Returns the status and `Retry-After`.
async fn ask(
    connection: &mut Option<Connection>,
    to: SocketAddr,
    key: &str,
    number: usize,
) -> Option<(u16, Option<u64>)> {
    if connection.is_none() {
        let stream = TcpStream::connect(to).await.ok()?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(driver);
        *connection = Some(sender);
    }
    let request = hyper::Request::get(format!("/deal?externalId=lead-{number}"))
        .header("host", "leadhost.test")
        .header("x-service-api-key", key)
        .body(Empty::new())
        .expect("a request");
    let sender = connection.as_mut()?;
    sender.ready().await.ok()?;
    let answer = sender.send_request(request).await.ok()?;
    let status = answer.status().as_u16();
    let retry_after = answer.headers().get(RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    answer.into_body().collect().await.ok()?;
    Some((status, retry_after))
}
