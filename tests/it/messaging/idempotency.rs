//! `Idempotency-Key`: a repeated notification is one message.

use leadhost_tests::provider::{Misbehaviour, Taken};
use leadhost_tests::{Ask, On, has};
use serde_json::Value;

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, refusal};

leadhost_tests::on_every_store! {
    many_at_once_with_one_key_are_one_message,
    a_repeat_while_the_first_one_runs_is_asked_to_retry,
}

fn keyed(desk: &WhatsAppFixture, key: &str, body: &Value) -> Ask {
    desk.notify(body).header("idempotency-key", key)
}

async fn many_at_once_with_one_key_are_one_message(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let request = desk.greeting(PHONE);
    let asks: Vec<_> = (0..8)
        .map(|_| tokio::spawn(keyed(&desk, "a", &request).send()))
        .collect();
    let mut taken = 0;
    for ask in asks {
        let answer = ask.await.expect("no panic");
        match answer.status {
            200 => taken += 1,
            status => assert_eq!(status, 409, "{:?}", answer.body),
        }
    }
    assert!(taken >= 1);
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
    assert_eq!(desk.messages().await.len(), 1);
}

async fn a_repeat_while_the_first_one_runs_is_asked_to_retry(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let ask = keyed(&desk, "a", &desk.greeting(PHONE));
    let first = tokio::spawn(ask.clone().send());
    desk.whatsapp.hangs(1).await;
    let running = ask.clone().send().await;
    assert_eq!(running.header("retry-after"), "1");
    has!(refusal(running, 409), "under way");
    // Its holder is late: the answer is the known state of the message.
    desk.host.advance(61).await;
    let known = ask.clone().send().await.expect(200);
    assert_eq!(known.header("idempotency-replayed"), "true");
    let state = known.header("x-message-status");
    assert!(["sending", "unknown"].contains(&state), "{state}");
    desk.whatsapp.release();
    let first = first.await.expect("no panic").expect(200);
    assert_eq!(first.header("x-message-id"), known.header("x-message-id"));
}
