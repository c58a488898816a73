//! Statuses: in any order, repeated, before and after the answer to the send,
//! the message ends in the same state.

use leadhost_tests::On;
use leadhost_tests::provider::{BEGINNING, Flush, Order, Status};
use serde_json::json;

use super::fixture::{PHONE, SentMessage, WA_ID, WhatsAppFixture, taken};

leadhost_tests::on_every_store! {
    statuses_in_every_order_end_in_the_same_message,
    the_same_status_again_changes_nothing,
    a_status_before_the_answer_is_not_lost,
    a_status_before_the_answer_that_does_not_name_our_id_is_not_lost,
    a_message_that_failed_and_then_arrived_is_delivered,
    every_error_of_a_message_is_kept_once,
    a_status_of_an_unknown_message_is_accepted_and_changes_nothing,
    an_unknown_status_is_accepted_and_changes_nothing,
    a_thousand_statuses_in_a_request_are_accepted_alongside_other_work,
    a_webhook_that_was_refused_is_accepted_when_it_is_repeated,
}

/// Each order of three.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

async fn statuses_in_every_order_end_in_the_same_message(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let events = [("sent", 1), ("delivered", 2), ("read", 60)];
    let mut sents = Vec::new();
    for (at, order) in ORDERS.iter().enumerate() {
        let sent = desk.greets(&format!("(11) 98765-04{at:02}")).await;
        for index in order {
            let (word, after) = events[*index];
            let status = desk.whatsapp.status_of(&sent.wamid, word);
            desk.whatsapp.queue(status.at(BEGINNING + after));
        }
        // One request each, or all in one; every second time twice.
        let how = Flush::default()
            .batches(if at % 2 == 0 { 1 } else { 3 })
            .times(1 + at % 2);
        taken(&desk.whatsapp.flush_as(how).await);
        sents.push(sent);
    }
    let rows = desk.host.rows(&desk.declared, "messages").await;
    let said = |sent: &SentMessage| {
        let row = rows.iter().find(|row| row["id"] == sent.message);
        let row = row.expect("the message is there");
        let metadata = &row["metadata"];
        json!([
            row["delivered_at"],
            row["read_at"],
            metadata["status"],
            metadata["sentAt"]
        ])
    };
    let expect = json!([
        "2030-01-15T12:00:02.000000Z",
        "2030-01-15T12:01:00.000000Z",
        "read",
        "2030-01-15T12:00:01.000000Z"
    ]);
    for (sent, order) in sents.iter().zip(ORDERS) {
        assert_eq!(said(sent), expect, "{order:?}");
    }
}

async fn the_same_status_again_changes_nothing(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.status(&sent.wamid, "delivered");
    desk.flush().await;
    let before = desk.row("messages", &sent.message).await;
    let conversation = desk.row("conversations", &sent.conversation).await;
    desk.host.advance(60).await;
    for word in ["delivered", "sent"] {
        let status = desk.whatsapp.status_of(&sent.wamid, word);
        desk.whatsapp.queue(status.at(BEGINNING));
    }
    let how = Flush::default().order(Order::Shuffled(7)).times(5);
    taken(&desk.whatsapp.flush_as(how).await);
    // `sent` is new; `delivered` is not.
    desk.whatsapp.status(&sent.wamid, "delivered");
    let settled = desk.row("messages", &sent.message).await;
    desk.host.advance(60).await;
    taken(&desk.whatsapp.flush_as(Flush::default().times(9)).await);
    assert_eq!(desk.row("messages", &sent.message).await, settled);
    assert_eq!(settled["delivered_at"], before["delivered_at"]);
    assert_eq!(
        desk.row("conversations", &sent.conversation).await,
        conversation,
        "receipts do not rewrite the conversation"
    );
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
    assert_eq!(row["delivered_at"], "2030-01-15T12:00:01.000000Z");
    assert_eq!(row["metadata"]["externalIds"], json!([wamid]));
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
    assert_eq!(row["metadata"]["status"], "delivered");
    assert_eq!(row["metadata"]["errors"][0]["code"], "131026");
    assert_eq!(desk.errors("").await.len(), 1, "the failure stays reported");
}

async fn every_error_of_a_message_is_kept_once(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.fails(&sent.wamid, &[131_053, 131_000]);
    desk.whatsapp.fails(&sent.wamid, &[131_000]);
    taken(&desk.whatsapp.flush_as(Flush::default().times(2)).await);
    let row = desk.row("messages", &sent.message).await;
    let errors = row["metadata"]["errors"].as_array().expect("errors");
    let mut codes: Vec<&str> = errors
        .iter()
        .filter_map(|error| error["code"].as_str())
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, ["131000", "131053"]);
    assert_eq!(desk.errors("").await.len(), 2);
}

async fn a_status_of_an_unknown_message_is_accepted_and_changes_nothing(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let unknown = Status {
        recipient: Some(WA_ID.to_owned()),
        ..Status::new("wamid.NOBODYS", "failed").errors(&[131_026])
    };
    desk.whatsapp.queue(unknown);
    desk.flush().await;
    assert!(desk.host.rows(&desk.declared, "messages").await.is_empty());
    // A failure of an unknown message is reported too.
    let errors = desk.errors("").await;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["external_id"], "wamid.NOBODYS");
    assert_eq!(errors[0]["error_code"], "131026");
    for unknown in ["message_id", "conversation_id", "deal_id"] {
        assert!(errors[0][unknown].is_null(), "{unknown}");
    }
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

async fn a_thousand_statuses_in_a_request_are_accepted_alongside_other_work(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut sents = Vec::new();
    for number in 0..10 {
        let sent = desk.greets(&format!("(11) 98765-05{number:02}")).await;
        for again in 0..100 {
            let word = ["sent", "delivered", "read"][again % 3];
            let status = desk.whatsapp.status_of(&sent.wamid, word);
            desk.whatsapp.queue(status.at(BEGINNING + again as u64));
        }
        sents.push(sent);
    }
    let how = Flush::default().batches(1_000).order(Order::Shuffled(11));
    let answers = desk.whatsapp.flush_as(how).await;
    assert_eq!(answers.len(), 1, "one request");
    taken(&answers);
    desk.settled().await;
    let rows = desk.host.rows(&desk.declared, "messages").await;
    for sent in &sents {
        let row = rows.iter().find(|row| row["id"] == sent.message);
        let row = row.expect("the message is there");
        assert_eq!(row["metadata"]["status"], "read");
        assert_eq!(row["metadata"]["sentAt"], "2030-01-15T12:00:00.000000Z");
        assert_eq!(row["delivered_at"], "2030-01-15T12:00:01.000000Z");
        assert_eq!(row["read_at"], "2030-01-15T12:00:02.000000Z");
    }
}

async fn a_webhook_that_was_refused_is_accepted_when_it_is_repeated(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.status(&sent.wamid, "delivered");
    // The wrong address refuses it, and it waits at the provider.
    let right = desk.webhook(super::fixture::FRONT);
    let wrong = format!("http://{}{right}x", desk.host.addresses.gateway);
    desk.whatsapp
        .call_back(leadhost_tests::provider::Callback::to(&wrong));
    let answers = desk.whatsapp.flush().await;
    assert_eq!(answers[0].status, 404);
    assert_eq!(desk.whatsapp.pending(), 1);
    let right = format!("http://{}{right}", desk.host.addresses.gateway);
    desk.whatsapp
        .call_back(leadhost_tests::provider::Callback::to(&right));
    desk.flush().await;
    assert_eq!(desk.state(&sent.message).await, "delivered");
}
