//! The adapter is swapped repeatedly while messages go out and webhooks come in:
//! nothing fails, and everything that begins after an activation was answered
//! runs on that version or a later one.

use std::collections::BTreeMap;
use std::time::Instant;

use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_domain::time::{self, Micros};
use leadhost_tests::load::{LoadResult, Targets};
use leadhost_tests::phones::Phones;
use leadhost_tests::{On, Service, guests, sized};
use serde_json::Value;

use super::reconciliation::{StoredMessages, asked};
use super::{ADAPTER, Messaging};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    swapping_an_adapter_loses_no_message_and_no_status,
}

/// Swaps in one run. In a fleet each host compiles each version, and all of them
/// wait for the last one.
fn swaps(hosts: usize) -> usize {
    if hosts > 1 { sized(2, 8) } else { sized(3, 20) }
}

/// Leases longer than compiling takes on a busy machine.
const FLAGS: [&str; 2] = ["--set", "worker.lease_seconds=60"];

/// A word in the adapter's requests that the provider ignores: each version has
/// another one, of the same length.
const WORD: &[u8] = b"individual";

/// The word of the n-th version.
fn word(number: usize) -> String {
    format!("indiv{number:05}")
}

#[track_caller]
fn version(number: usize) -> Vec<u8> {
    let mut bytes = guests::rust_component(ADAPTER);
    let windows = bytes.windows(WORD.len()).enumerate();
    let places = windows.filter(|(_, window)| *window == WORD);
    let places: Vec<_> = places.map(|(place, _)| place).collect();
    assert!(!places.is_empty(), "the adapter has the word");
    for place in places {
        bytes[place..place + WORD.len()].copy_from_slice(word(number).as_bytes());
    }
    bytes
}

/// An activation that was answered.
struct Answered {
    digest: String,
    at: Instant,
    /// The same time on the clock that stamps deliveries.
    time: Micros,
}

async fn swapping_an_adapter_loses_no_message_and_no_status(on: On) {
    let is_fleet = matches!(on, On::Postgres(_));
    let world = Messaging::new(on, 2).await;
    let mut hosts = vec![world.hosts.start_with(0, &FLAGS).await];
    if is_fleet {
        hosts.push(world.hosts.start_with(1, &FLAGS).await);
    }
    world.call_back(hosts.last().expect("there is one"));
    let phones = Phones::start(&world.whatsapp);
    let targets = Targets::gateways(&hosts.iter().collect::<Vec<_>>());
    let load = world.load("note", &targets, 6);
    load.reaches(10).await;
    let mut answered = Vec::new();
    for number in 1..=swaps(hosts.len()) {
        answered.push(activate(&world, &hosts[number % hosts.len()], number).await);
        load.goes_on(5).await;
    }
    let sent = load.stop().await;
    assert_eq!(sent.count(503), 0, "no request was refused");
    world.hosts.settles().await;
    let story = phones.finish().await;

    let stored = StoredMessages::read(&world, &hosts[0]).await;
    stored.assert_hold(&sent);
    stored.assert_once(&world);
    stored.assert_events(&story);
    for state in ["failed", "unknown"] {
        assert!(stored.in_state(state).is_empty(), "{state}");
    }
    assert!(asked(&world).values().all(|times| *times == 1));
    assert_calls_were_new(&world, &sent, &answered);
    assert_webhooks_were_new(&world, &hosts[0], &answered).await;
}

async fn activate(world: &Messaging, host: &Service, number: usize) -> Answered {
    let path = "/plugins?activate=true&accept=same-version&accept=new-publisher&accept=fewer-cases";
    let ask = world.hosts.operator(host, "POST", path);
    let ask = ask.header("content-type", "application/wasm");
    let answer = ask.body(version(number)).send().await;
    let answer = answer.expect(201).json();
    let behind = answer["behind"].as_array().is_none_or(Vec::is_empty);
    assert!(behind, "{answer}");
    Answered {
        digest: answer["digest"].as_str().expect("a digest").to_owned(),
        at: Instant::now(),
        time: SystemClock.now(),
    }
}

/// Checks that no notification that began after an activation was answered was
/// sent by an older version.
#[track_caller]
fn assert_calls_were_new(world: &Messaging, sent: &LoadResult, answered: &[Answered]) {
    let mut began: BTreeMap<&str, Instant> = BTreeMap::new();
    for attempt in &sent.attempts {
        let first = began.entry(&attempt.id).or_insert(attempt.began);
        *first = attempt.began.min(*first);
    }
    for request in world.whatsapp.sends() {
        let body = request.json().expect("JSON");
        let parameters = &body["template"]["components"][0]["parameters"];
        let id = parameters[0]["text"].as_str().expect("a notification");
        let word = body["recipient_type"].as_str().expect("a word");
        let by = word.strip_prefix("indiv").and_then(|by| by.parse().ok());
        let oldest = answered.iter().filter(|version| version.at <= began[id]);
        let (by, oldest) = (by.unwrap_or(0_usize), oldest.count());
        assert!(
            by >= oldest,
            "{id} began under {oldest}: it went out by {by}"
        );
    }
}

/// Checks that no webhook that arrived after an activation was answered was read
/// by an older version, and that none failed.
async fn assert_webhooks_were_new(world: &Messaging, host: &Service, answered: &[Answered]) {
    let deliveries = deliveries(world, host).await;
    assert!(deliveries.len() > answered.len());
    for delivery in deliveries {
        let status = delivery["status"].as_str().expect("a status");
        assert!(["converted", "duplicate"].contains(&status), "{delivery}");
        let received = delivery["receivedAt"].as_str().and_then(time::parse);
        let received = received.expect("a time");
        let digest = delivery["ran"]["digest"].as_str().expect("it ran");
        let by = answered.iter().position(|version| version.digest == digest);
        let by = by.map_or(0, |place| place + 1);
        let oldest = answered.iter().filter(|version| version.time <= received);
        let oldest = oldest.count();
        assert!(by >= oldest, "it came under {oldest}: {delivery}");
    }
}

/// Returns every delivery of the operators' list.
async fn deliveries(world: &Messaging, host: &Service) -> Vec<Value> {
    let mut all = Vec::new();
    let mut before = String::new();
    loop {
        let path = format!("/deliveries?limit=200{before}");
        let ask = world.hosts.operator(host, "GET", &path);
        let page = ask.send().await.expect(200).json();
        all.extend(page["deliveries"].as_array().expect("rows").iter().cloned());
        match page["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return all,
        }
    }
}
