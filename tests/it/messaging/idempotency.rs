//! `Idempotency-Key`: a repeated notification is one message.

use leadhost_tests::{Ask, On};
use serde_json::Value;

use super::fixture::{PHONE, WA_ID, WhatsAppFixture};

leadhost_tests::on_every_store! {
    many_at_once_with_one_key_are_one_message,
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
