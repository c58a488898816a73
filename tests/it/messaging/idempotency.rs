//! `Idempotency-Key`: a repeated notification is one message.

use leadhost_tests::provider::{Misbehaviour, Taken};
use leadhost_tests::{Ask, On};
use serde_json::Value;

use super::fixture::{OTHER_PHONE, PHONE, WA_ID, WhatsAppFixture, ids, refusal, template};

leadhost_tests::on_every_store! {
    the_same_key_and_body_is_one_message,
    the_same_key_with_another_body_is_refused,
    the_same_key_while_the_first_is_running_is_refused,
    many_at_once_with_one_key_are_one_message,
    without_a_key_or_with_another_each_is_a_message,
    a_refusal_of_the_request_does_not_use_up_its_key,
    the_answer_to_an_unknown_template_is_kept,
}

fn keyed(desk: &WhatsAppFixture, key: &str, body: &Value) -> Ask {
    desk.notify(body).header("idempotency-key", key)
}

async fn the_same_key_and_body_is_one_message(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let request = desk.greeting(PHONE);
    let first = keyed(&desk, "a", &request).send().await.expect(200);
    assert_eq!(first.header("idempotency-replayed"), "");
    desk.host.advance(3_600).await;
    let again = keyed(&desk, "a", &request).send().await.expect(200);
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.json(), first.json());
    assert_eq!(ids(&again), ids(&first));
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
    assert_eq!(desk.messages().await.len(), 1);
}

async fn the_same_key_with_another_body_is_refused(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    keyed(&desk, "a", &desk.greeting(PHONE))
        .send()
        .await
        .expect(200);
    let other = keyed(&desk, "a", &desk.greeting(OTHER_PHONE)).send().await;
    refusal(other, 422);
    assert_eq!(desk.whatsapp.sends().len(), 1);
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

async fn without_a_key_or_with_another_each_is_a_message(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let request = desk.greeting(PHONE);
    keyed(&desk, "a", &request).send().await.expect(200);
    keyed(&desk, "b", &request).send().await.expect(200);
    desk.notify(&request).send().await.expect(200);
    desk.notify(&request).send().await.expect(200);
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 4);
}

async fn a_refusal_of_the_request_does_not_use_up_its_key(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut wrong = desk.greeting(PHONE);
    wrong["phoneNumber"] = "123".into();
    refusal(keyed(&desk, "a", &wrong).send().await, 400);
    let right = keyed(&desk, "a", &desk.greeting(PHONE)).send().await;
    assert_eq!(right.expect(200).header("idempotency-replayed"), "");
}

async fn the_answer_to_an_unknown_template_is_kept(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let request = desk.notification(PHONE, template("nenhum", &[]));
    refusal(keyed(&desk, "a", &request).send().await, 500);
    let again = keyed(&desk, "a", &request).send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(refusal(again, 500), "Template 'nenhum' not found");
}
