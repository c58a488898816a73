//! The network to the database breaks for a while with calls in flight: their
//! outcomes are recorded when it is back.

use leadhost_tests::On;
use leadhost_tests::provider::{Misbehaviour, Taken};
use leadhost_tests::proxy::Proxy;
use leadhost_tests::until;

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
    let Some((world, proxy)) = world().await else {
        return;
    };
    let url = proxy.url(world.hosts.on.url());
    let patient = ["--set", "worker.lease_seconds=60"];
    let host = world
        .hosts
        .start_with(0, &[&["--store-url", &url], &patient[..]].concat())
        .await;
    let whatsapp = &world.whatsapp;
    let times = u32::try_from(MANY).expect("a few");
    whatsapp.next_sends(times, Misbehaviour::Hang(Taken::Yes));
    let partners: Vec<_> = (0..MANY)
        .map(|number| {
            let phone = format!("+551198765{number:04}");
            tokio::spawn(
                world
                    .notify(&host, &format!("note-{number}"), &phone)
                    .send(),
            )
        })
        .collect();
    whatsapp.hangs(MANY).await;

    proxy.shut(true);
    proxy.reset();
    until("no connection is left", async || {
        (proxy.open() == 0).then_some(())
    })
    .await;
    whatsapp.release();
    // Meanwhile notifications are refused, and nothing is sent.
    let refused = world
        .notify(&host, "note-99", "+5511987659999")
        .send()
        .await;
    refused.expect(503);
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
