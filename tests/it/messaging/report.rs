//! `GET /v1/reports/message_errors`: rows of failed statuses and refused sends,
//! with every filter, in pages.

use leadhost_tests::provider::BEGINNING;
use leadhost_tests::{On, fields};

use super::fixture::{PHONE, SentMessage, WA_ID, WhatsAppFixture};

leadhost_tests::on_every_store! {
    a_failed_status_is_a_row_with_every_key,
}

const COLUMNS: [&str; 16] = [
    "id",
    "workspace_id",
    "cursor_at",
    "recipient_id",
    "deal_id",
    "conversation_id",
    "agent_id",
    "message_id",
    "external_id",
    "error_code",
    "error_title",
    "error_description",
    "error_details",
    "template_name",
    "channel",
    "occurred_at",
];

async fn failed(desk: &WhatsAppFixture, phone: &str, codes: &[u32]) -> SentMessage {
    let sent = desk.greets(phone).await;
    desk.whatsapp.fails(&sent.wamid, codes);
    desk.flush().await;
    sent
}

async fn a_failed_status_is_a_row_with_every_key(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.set_time(BEGINNING + 45);
    let sent = failed(&desk, PHONE, &[131_049]).await;
    let rows = desk.errors("").await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    let mut keys: Vec<&str> = row
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let mut expect = COLUMNS;
    keys.sort_unstable();
    expect.sort_unstable();
    assert_eq!(keys, expect);
    fields!(row, {
        "recipient_id": format!("+{WA_ID}"), "conversation_id": sent.conversation,
        "message_id": sent.message, "external_id": sent.wamid, "agent_id": desk.instance(),
        "error_code": "131049",
    });
    assert_eq!(
        row["error_title"],
        "This message was not delivered to maintain healthy ecosystem engagement."
    );
    fields!(row, {
        "error_details": "The recipient gets too many messages of this kind",
        "template_name": "boas_vindas", "channel": "whatsapp",
        "occurred_at": "2030-01-15T12:00:45.000000Z", "deal_id": null,
    });
}
