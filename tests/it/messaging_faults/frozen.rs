//! A host is frozen in the middle of a send for longer than its lease, while another
//! host on the same database continues; then it continues with the send in its hands.

use leadhost_tests::provider::WhatsApp;
use leadhost_tests::{Answer, On, Service, until};
use tokio::task::JoinHandle;

use super::Messaging;
use super::network_path::NetworkPath;

const PHONE: &str = "+5511987650101";
const OTHER: &str = "+5511987650202";

const SENDING: &str = "select count(*) from messages where state = 'sending'";
const UNKNOWN: &str = "select count(*) from messages where state = 'unknown'";

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
    let world = available!(world(&way));
    let closed = way.close().await;
    let sleeper = world.hosts.start_with(0, &FLAGS).await;
    let other = world.hosts.start_with(1, &FLAGS).await;
    let partner = notifies(&world, &sleeper, "note-1");
    world.until_one_is(SENDING).await;

    sleeper.freeze();
    world.until_one_is(UNKNOWN).await;
    let _open = closed.open(world.whatsapp.address());
    sleeper.thaw();
    let answer = partner.await.expect("no panic").expect(200);
    assert_eq!(world.whatsapp.sends().len(), 0, "it was too late");
    // It was frozen with a message in hand and cannot know the outcome.
    assert_eq!(answer.header("x-message-status"), "unknown");
    world.until_one_is(UNKNOWN).await;

    goes_on(&world, &[&sleeper, &other]).await;
    world.until_one_is(UNKNOWN).await;
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
