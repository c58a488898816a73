//! `Idempotency-Key`: a repeated notification is one message.

use leadhost_tests::provider::{Misbehaviour, Taken};
use leadhost_tests::{Ask, On};
use serde_json::Value;

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, ids, refusal};

leadhost_tests::on_every_store! {
    the_same_key_while_the_first_is_running_is_refused,
    many_at_once_with_one_key_are_one_message,
}

fn keyed(desk: &WhatsAppFixture, key: &str, body: &Value) -> Ask {
    desk.notify(body).header("idempotency-key", key)
}

async fn the_same_key_while_the_first_is_running_is_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let request = desk.greeting(PHONE);
    let first = tokio::spawn(keyed(&desk, "a", &request).send());
    desk.whatsapp.hangs(1).await;
    let second = keyed(&desk, "a", &request).send().await;
    refusal(second, 409);
    desk.whatsapp.release();
    let first = first.await.expect("no panic").expect(200);
    let third = keyed(&desk, "a", &request).send().await.expect(200);
    assert_eq!(ids(&third), ids(&first));
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
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
