//! Messages that cannot go out yet: they wait as long as the provider says, hold
//! back only those that they concern, and are given up at the end.

use leadhost_tests::provider::Misbehaviour;
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{On, Options};

use super::fixture::{
    FRONT, OTHER_PHONE, OTHER_WA_ID, PHONE, WA_ID, WhatsAppFixture, ids, instance,
};

leadhost_tests::on_every_store! {
    a_rate_limit_of_the_number_is_respected_for_the_time_that_it_names,
    a_limit_of_the_recipient_lets_others_pass,
    a_limit_is_recognised_by_its_code_whatever_the_status,
    a_limit_of_the_number_holds_others_back,
    a_fault_that_passes_is_tried_again,
    an_expired_token_pauses_the_instance_until_it_is_resumed,
    an_unpaid_account_pauses_the_instance,
    a_message_that_waited_too_long_is_given_up,
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

async fn a_limit_of_the_recipient_lets_others_pass(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.next_sends_to(WA_ID, 1, limit(131_056, 300));
    let message = kept(&desk, PHONE).await;
    // Another message to the same contact waits too, and is not sent.
    let second = kept(&desk, PHONE).await;
    assert_eq!(desk.whatsapp.sends().len(), 1);
    desk.greets(OTHER_PHONE).await;
    desk.host.pass(300).await;
    for message in [&message, &second] {
        desk.becomes(message, "accepted").await;
        assert_eq!(desk.whatsapp.accepted_as(message), 1);
    }
}

async fn a_limit_is_recognised_by_its_code_whatever_the_status(on: On) {
    let desk = desk(on).await;
    let pair = Misbehaviour::CodeAs {
        code: 131_056,
        status: 400,
    };
    desk.whatsapp.next_sends(1, pair);
    let message = kept(&desk, PHONE).await;
    desk.host.pass(24 * 3_600 - 1).await;
    desk.becomes(&message, "accepted").await;
}

async fn a_limit_of_the_number_holds_others_back(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.next_sends(1, limit(131_048, 600));
    let message = kept(&desk, PHONE).await;
    let other = kept(&desk, OTHER_PHONE).await;
    assert_eq!(desk.whatsapp.sends().len(), 1, "the other was not tried");
    desk.host.pass(600).await;
    for message in [&message, &other] {
        desk.becomes(message, "accepted").await;
    }
    assert_eq!(desk.whatsapp.accepted_for(OTHER_WA_ID), 1);
}

async fn a_fault_that_passes_is_tried_again(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.next_sends(2, Misbehaviour::Code(131_000));
    let message = kept(&desk, PHONE).await;
    for attempts in [2, 3] {
        desk.host.pass(3_600).await;
        desk.whatsapp.asked(attempts).await;
        if attempts == 2 {
            // Between two attempts it waits.
            desk.becomes(&message, "waiting").await;
        }
    }
    desk.becomes(&message, "accepted").await;
    assert_eq!(desk.whatsapp.accepted_as(&message), 1);
    assert!(desk.errors("").await.is_empty(), "it did not fail");
}

async fn an_expired_token_pauses_the_instance_until_it_is_resumed(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.set_token("another-token");
    let first = kept(&desk, PHONE).await;
    let reason = desk.paused().await;
    assert!(reason.contains("190"), "{reason}");
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

async fn an_unpaid_account_pauses_the_instance(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.next_sends(1, Misbehaviour::Code(131_042));
    kept(&desk, PHONE).await;
    let reason = desk.paused().await;
    assert!(reason.contains("131042"), "{reason}");
    assert!(
        desk.errors("").await.is_empty(),
        "one pause, not a failure each"
    );
}

async fn a_message_that_waited_too_long_is_given_up(on: On) {
    let desk = desk(on).await;
    desk.whatsapp.set_token("another-token");
    let message = kept(&desk, PHONE).await;
    desk.paused().await;
    desk.whatsapp
        .set_token(&desk.whatsapp.options().tokens[0].clone());
    desk.host.pass(24 * 3_600 + 1).await;
    desk.host.resume(&desk.channel(FRONT)).await;
    desk.host.pass(1).await;
    desk.becomes(&message, "failed").await;
    assert_eq!(desk.whatsapp.accepted_as(&message), 0);
    let errors = desk.errors("").await;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["message_id"], message);
    assert!(errors[0]["external_id"].is_null());
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
    assert!(said.contains("is not a public address"), "{said}");
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
