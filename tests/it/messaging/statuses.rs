//! Statuses: in any order, repeated, before and after the answer to the send,
//! the message ends in the same state.

use leadhost_tests::provider::{BEGINNING, Flush, Status};
use leadhost_tests::{Json, On, fields};

use super::fixture::{PHONE, WhatsAppFixture, taken};

leadhost_tests::on_every_store! {
    a_status_before_the_answer_is_not_lost,
    a_status_before_the_answer_that_does_not_name_our_id_is_not_lost,
    a_message_that_failed_and_then_arrived_is_delivered,
    every_error_of_a_message_is_kept_once,
    an_unknown_status_is_accepted_and_changes_nothing,
}

/// The provider accepts the message, sends its status, and only then answers
/// the send.
async fn reported_before_the_answer(on: On, change: impl Fn(Status) -> Status) {
    let desk = WhatsAppFixture::new(on).await;
    let (sending, wamid) = desk.hanging(PHONE).await;
    let status = desk.whatsapp.status_of(&wamid, "delivered");
    desk.whatsapp.queue(change(status.at(BEGINNING + 1)));
    desk.flush().await;
    desk.whatsapp.release();
    let answer = sending.await.expect("no panic").expect(200);
    let sent = desk.sent(&answer);
    desk.becomes(&sent.message, "delivered").await;
    let row = desk.row("messages", &sent.message).await;
    fields!(row, {"delivered_at": "2030-01-15T12:00:01.000000Z", "metadata.externalIds": [wamid]});
    assert_eq!(desk.whatsapp.sends().len(), 1);
}

async fn a_status_before_the_answer_is_not_lost(on: On) {
    reported_before_the_answer(on, |status| status).await;
}

async fn a_status_before_the_answer_that_does_not_name_our_id_is_not_lost(on: On) {
    reported_before_the_answer(on, Status::without_opaque).await;
}

async fn a_message_that_failed_and_then_arrived_is_delivered(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.fails(&sent.wamid, &[131_026]);
    desk.flush().await;
    assert_eq!(desk.state(&sent.message).await, "failed");
    desk.whatsapp.set_time(BEGINNING + 5);
    desk.whatsapp.status(&sent.wamid, "delivered");
    desk.flush().await;
    let row = desk.row("messages", &sent.message).await;
    fields!(row, {"metadata.status": "delivered", "metadata.errors.0.code": "131026"});
    assert_eq!(desk.errors("").await.len(), 1, "the failure stays reported");
}

async fn every_error_of_a_message_is_kept_once(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.fails(&sent.wamid, &[131_053, 131_000]);
    desk.whatsapp.fails(&sent.wamid, &[131_000]);
    taken(&desk.whatsapp.flush_as(Flush::default().times(2)).await);
    let row = desk.row("messages", &sent.message).await;
    let errors = row["metadata"]["errors"].list();
    let mut codes: Vec<&str> = errors
        .iter()
        .filter_map(|error| error["code"].as_str())
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, ["131000", "131053"]);
    assert_eq!(desk.errors("").await.len(), 2);
}

async fn an_unknown_status_is_accepted_and_changes_nothing(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let before = desk.row("messages", &sent.message).await;
    for word in ["in_orbit", "played", "deleted", ""] {
        desk.whatsapp.status(&sent.wamid, word);
    }
    desk.flush().await;
    assert_eq!(desk.row("messages", &sent.message).await, before);
}
