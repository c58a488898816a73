//! Messages that cannot go out yet: they wait as long as the provider says, hold
//! back only those that they concern, and are given up at the end.

use leadhost_tests::provider::Misbehaviour;
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{On, Options, has};

use super::fixture::{FRONT, OTHER_PHONE, PHONE, WA_ID, WhatsAppFixture, ids, instance};

leadhost_tests::on_every_store! {
    a_rate_limit_of_the_number_is_respected_for_the_time_that_it_names,
    an_expired_token_pauses_the_instance_until_it_is_resumed,
    a_redirect_is_not_followed,
    a_private_address_is_called_only_if_the_allow_list_permits_it,
    a_provider_that_is_not_there_is_tried_again,
}

/// No lease expires while the clock jumps.
fn options(on: On) -> Options {
    Options::patient(on).with("worker.lease_seconds", 1_000_000)
}

async fn desk(on: On) -> WhatsAppFixture {
    WhatsAppFixture::with(options(on), WhatsApp::start()).await
}

/// Sends a notification that is kept. Returns its message.
async fn kept(desk: &WhatsAppFixture, phone: &str) -> String {
    let answer = desk.notify(&desk.greeting(phone)).send().await.expect(200);
    assert_eq!(answer.json()["success"], true);
    assert_eq!(answer.header("x-message-status"), "waiting");
    ids(&answer).1
}

fn limit(code: u32, retry_after: u32) -> Misbehaviour {
    Misbehaviour::Throttled { code, retry_after }
}

async fn a_rate_limit_of_the_number_is_respected_for_the_time_that_it_names(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.next_sends(1, limit(130_429, 17));
    let message = kept(&desk, PHONE).await;
    desk.host.pass(16).await;
    let now = desk.host.now();
    let early = desk
        .host
        .store()
        .claim(&leadhost_store::ClaimTurns::new(9), now, now)
        .await
        .expect("a store");
    assert!(early.is_empty(), "Retry-After says 17 seconds");
    assert_eq!(desk.whatsapp.sends().len(), 1);
    desk.host.pass(1).await;
    desk.becomes(&message, "accepted").await;
    assert_eq!(desk.whatsapp.sends().len(), 2);
    assert_eq!(desk.whatsapp.accepted_as(&message), 1);
}

async fn an_expired_token_pauses_the_instance_until_it_is_resumed(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.set_token("another-token");
    let first = kept(&desk, PHONE).await;
    let reason = desk.paused().await;
    has!(reason, "190");
    // Meanwhile notifications are kept, and nothing is sent to the provider.
    let second = kept(&desk, OTHER_PHONE).await;
    desk.host.pass(3_600).await;
    assert_eq!(desk.whatsapp.sends().len(), 1);
    desk.whatsapp
        .set_token(&desk.whatsapp.options().tokens[0].clone());
    desk.host.resume(&desk.channel(FRONT)).await;
    desk.host.pass(3_600).await;
    for message in [&first, &second] {
        desk.becomes(message, "accepted").await;
        assert_eq!(desk.whatsapp.accepted_as(message), 1);
    }
}

async fn a_redirect_is_not_followed(on: On) {
    let desk = desk(on).await;
    let elsewhere = WhatsApp::start();
    let to = format!("{}{}", elsewhere.url(), elsewhere.messages_path());
    desk.whatsapp.next_sends(1, Misbehaviour::Redirect(to));
    let answer = desk.notify(&desk.greeting(PHONE)).send().await;
    assert_ne!(answer.header("x-message-status"), "accepted");
    desk.host.pass(3_600).await;
    assert!(elsewhere.requests().is_empty());
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 0);
}

async fn a_private_address_is_called_only_if_the_allow_list_permits_it(on: On) {
    let desk = desk(on).await;
    let public = instance(FRONT, &desk.whatsapp).replace(", private = true", "");
    let refused = desk.host.try_declare(&public).await.err();
    let said = refused
        .expect("private addresses are not allowed")
        .to_string();
    has!(said, "is not a public address");
    // The earlier declaration is still in effect.
    desk.greets(PHONE).await;
}

async fn a_provider_that_is_not_there_is_tried_again(on: On) {
    let mut desk = desk(on).await;
    let (listen, options) = (desk.whatsapp.address(), desk.whatsapp.options().clone());
    drop(std::mem::replace(&mut desk.whatsapp, WhatsApp::start()));
    let message = kept(&desk, PHONE).await;
    let options = leadhost_tests::whatsapp::WhatsAppOptions { listen, ..options };
    desk.whatsapp = WhatsApp::with(options);
    desk.host.pass(3_600).await;
    desk.becomes(&message, "accepted").await;
    assert_eq!(desk.whatsapp.accepted_as(&message), 1);
}
