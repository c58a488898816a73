//! The network to the database breaks for a while with calls in flight: their
//! outcomes are recorded when it is back.

use leadhost_tests::On;
use leadhost_tests::eventually;
use leadhost_tests::provider::{Misbehaviour, Taken};
use leadhost_tests::proxy::Proxy;

use super::Messaging;
use super::reconciliation::StoredMessages;

async fn world() -> Option<(Messaging, Proxy)> {
    let on = On::postgres().await?;
    let proxy = Proxy::before(on.url()).await;
    Some((Messaging::new(on, 2).await, proxy))
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_of_calls_are_recorded_when_the_database_is_back() {
    const MANY: usize = 6;
    let (world, proxy) = available!(world());
    let url = proxy.url(world.hosts.on.url());
    let flags = ["--store-url", &url, "--set", "worker.lease_seconds=60"];
    let host = world.hosts.start_with(0, &flags).await;
    let whatsapp = &world.whatsapp;
    let times = u32::try_from(MANY).expect("a few");
    whatsapp.next_sends(times, Misbehaviour::Hang(Taken::Yes));
    let notify = |number: usize| {
        let phone = format!("+551198765{number:04}");
        world
            .notify(&host, &format!("note-{number}"), &phone)
            .send()
    };
    let partners: Vec<_> = (0..MANY)
        .map(|number| tokio::spawn(notify(number)))
        .collect();
    whatsapp.hangs(MANY).await;

    proxy.shut(true);
    proxy.reset();
    let is_shut = async || proxy.open() == 0;
    eventually("no connection is left", is_shut).await;
    whatsapp.release();
    // Meanwhile notifications are refused, and nothing is sent.
    notify(9_999).await.expect(503);
    proxy.shut(false);

    let mut message_ids = Vec::new();
    for partner in partners {
        let answer = partner.await.expect("no panic").expect(200);
        message_ids.push(answer.header("x-message-id").to_owned());
    }
    world.hosts.settles().await;
    let stored = StoredMessages::read(&world, &host).await;
    stored.assert_once(&world);
    assert_eq!(stored.in_state("accepted").len(), MANY);
    for message in &message_ids {
        assert_eq!(stored.state(message), "accepted");
    }
    assert_eq!(whatsapp.sends().len(), MANY);
}
