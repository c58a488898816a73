//! A host is frozen in the middle of a send for longer than its lease, while another
//! host on the same database continues; then it continues with the send in its hands.

use leadhost_tests::provider::{Misbehaviour, Taken};
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{Answer, On, Service, until};
use tokio::task::JoinHandle;

use super::network_path::NetworkPath;
use super::reconciliation::asked;
use super::{Messaging, SENDING};

const PHONE: &str = "+5511987650101";
const OTHER: &str = "+5511987650202";

/// A hanging call times out long after the lease.
const FLAGS: [&str; 2] = ["--set", "worker.fetch_seconds=600"];

/// A partner that notifies a host and waits for any answer.
fn notifies(world: &Messaging, host: &Service, id: &str) -> JoinHandle<Answer> {
    tokio::spawn(world.notify(host, id, PHONE).send())
}

async fn world(way: &NetworkPath) -> Option<Messaging> {
    let on = On::postgres().await?;
    let whatsapp = WhatsApp::start();
    Some(Messaging::reached_at(on, 2, whatsapp, &way.url()).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_frozen_between_its_request_and_its_call_makes_no_call() {
    let way = NetworkPath::reserve();
    let Some(world) = world(&way).await else {
        return;
    };
    let closed = way.close().await;
    let sleeper = world.hosts.start_with(0, &FLAGS).await;
    let other = world.hosts.start_with(1, &FLAGS).await;
    let partner = notifies(&world, &sleeper, "note-1");
    world.sending(1).await;

    sleeper.freeze();
    world.unknown(1).await;
    let _open = closed.open(world.whatsapp.address());
    sleeper.thaw();
    let answer = partner.await.expect("no panic").expect(200);
    assert_eq!(world.whatsapp.sends().len(), 0, "it was too late");
    // It was frozen with a message in hand and cannot know the outcome.
    assert_eq!(answer.header("x-message-status"), "unknown");
    world.unknown(1).await;

    goes_on(&world, &[&sleeper, &other]).await;
    world.unknown(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_frozen_between_its_claim_and_its_call_makes_no_call() {
    let way = NetworkPath::reserve();
    let Some(world) = world(&way).await else {
        return;
    };
    let sleeper = world.hosts.start_with(0, &FLAGS).await;
    // The provider is not reachable: the message waits for the worker.
    let answer = world.notify(&sleeper, "note-1", PHONE).send().await;
    assert_eq!(answer.expect(200).header("x-message-status"), "waiting");
    let closed = way.close().await;
    let refused = until("it stands still in the middle of its call", async || {
        world.sending(1).await;
        let refused = not_sent(&sleeper).await;
        sleeper.freeze();
        // A call that cannot connect times out after a moment and is retried.
        let is_caught = world.hosts.count(SENDING).await == 1;
        if !is_caught {
            sleeper.thaw();
        }
        is_caught.then_some(refused)
    })
    .await;
    let other = world.hosts.start_with(1, &FLAGS).await;
    world.unknown(1).await;
    let _open = closed.open(world.whatsapp.address());
    sleeper.thaw();
    until("it has given up its call", async || {
        (not_sent(&sleeper).await > refused).then_some(())
    })
    .await;
    assert_eq!(world.whatsapp.sends().len(), 0, "it was too late");

    goes_on(&world, &[&sleeper, &other]).await;
    world.unknown(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_frozen_after_its_call_records_that_it_went_out() {
    slept_after_the_call(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_frozen_after_its_call_undoes_no_status() {
    slept_after_the_call(Some("delivered")).await;
}

/// Freezes a host while the provider answers, and while a status is sent to the other
/// one.
async fn slept_after_the_call(reported: Option<&str>) {
    let Some(on) = On::postgres().await else {
        return;
    };
    let world = Messaging::new(on, 2).await;
    let sleeper = world.hosts.start_with(0, &FLAGS).await;
    let other = world.hosts.start_with(1, &FLAGS).await;
    world.call_back(&other);
    let whatsapp = &world.whatsapp;
    whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let partner = notifies(&world, &sleeper, "note-1");
    whatsapp.hangs(1).await;

    sleeper.freeze();
    world.unknown(1).await;
    let wamid = whatsapp.accepted()[0].id.clone();
    if let Some(word) = reported {
        whatsapp.status(&wamid, word);
        whatsapp.flush().await;
    }
    whatsapp.release();
    sleeper.thaw();
    let answer = partner.await.expect("no panic").expect(200);
    let message = answer.header("x-message-id");
    let state = reported.unwrap_or("accepted");
    until(&format!("{message} is {state}"), async || {
        let stored = super::reconciliation::StoredMessages::read(&world, &other).await;
        (stored.state(message) == state).then(|| {
            assert_eq!(stored.row(message)["metadata"]["externalIds"][0], wamid);
        })
    })
    .await;
    goes_on(&world, &[&sleeper, &other]).await;
    let asked = asked(&world);
    assert_eq!(asked[message], 1, "{asked:?}");
    assert_eq!(world.hosts.count("select count(*) from sends").await, 0);
}

/// The number of attempts of this host that ended before a byte was sent.
async fn not_sent(host: &Service) -> u64 {
    let metrics = host.ask("admin", "GET", "/metrics").send().await;
    let metrics = metrics.expect(200);
    let line = metrics
        .text()
        .lines()
        .find_map(|line| line.strip_prefix("leadhost_sends_total{outcome=\"transient\"} "));
    line.map_or(0, |number| number.parse().expect("a number"))
}

/// Both hosts send as before, so anything late had time to happen.
async fn goes_on(world: &Messaging, hosts: &[&Service]) {
    for (number, host) in (100..).zip(hosts) {
        // A host that was frozen does not count as live at once.
        until("the host sends", async || {
            let ask = world.notify(host, &format!("note-{number}"), OTHER);
            let answer = ask.header("idempotency-key", &format!("late-{number}"));
            let answer = answer.try_send().await?;
            (answer.status == 200).then_some(())
        })
        .await;
    }
    world.hosts.settles().await;
}
