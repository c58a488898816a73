//! What has the form of a contact's message and is none: notes of the channel, reactions,
//! changes of earlier messages, statuses of payments, and messages that arrive late. None of
//! them is an answer.

use leadhost_tests::provider::{BEGINNING, Inbound};
use leadhost_tests::{On, eventually, fields};
use serde_json::{Value, json};

use super::fixture::{PHONE, SentMessage, WA_ID, WhatsAppFixture};

leadhost_tests::on_every_store! {
    a_note_is_kept_and_answers_nothing,
    a_note_without_a_conversation_is_not_kept,
    a_note_on_an_old_message_does_not_change_a_conversation,
    a_message_that_cannot_be_shown_is_an_answer,
    a_reply_to_ours_is_an_answer_whatever_its_time,
}

/// A message of the contact at this time, with further fields.
fn message(id: &str, at: u64, kind: &str, own: Value) -> Value {
    let mut message = json!({"from": WA_ID, "id": id, "timestamp": at.to_string(), "type": kind});
    if !own.is_null() {
        message[kind] = own;
    }
    json!({"messages": [message]})
}

/// Each note, with its exported author and type.
fn notes(at: u64, of: &str) -> Vec<(Value, &'static str, &'static str)> {
    let identity = json!({
        "body": "security code changed", "identity": "x=", "type": "customer_identity_changed",
    });
    let edit = json!({
        "original_message_id": "wamid.old", "message": {"type": "text", "text": {"body": "Oi"}},
    });
    let thumb = json!({"message_id": of, "emoji": "\u{1f44d}"});
    let revoked = json!({"original_message_id": "wamid.old"});
    let notes = [
        ("system", identity, "system", "system"),
        ("reaction", json!({"message_id": of}), "contact", "reaction"),
        ("reaction", thumb, "contact", "reaction"),
        ("revoke", revoked, "contact", "unsupported"),
        ("edit", edit, "contact", "unsupported"),
        ("request_welcome", Value::Null, "contact", "unsupported"),
    ];
    let numbered = notes.into_iter().enumerate();
    let note = |(number, (kind, own, actor, shown))| {
        let body = message(&format!("wamid.N{number}"), at, kind, own);
        (body, actor, shown)
    };
    numbered.map(note).collect()
}

async fn conversation_of(desk: &WhatsAppFixture, sent: &SentMessage) -> Value {
    desk.row("conversations", &sent.conversation).await
}

async fn a_note_is_kept_and_answers_nothing(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let before = conversation_of(&desk, &sent).await;
    assert_eq!(before["status"], "open");
    desk.host.advance(60).await;
    let all = notes(BEGINNING + 60, &sent.wamid);
    for (body, actor, kind) in all {
        let id = body["messages"][0]["id"].clone();
        desk.posts(body).await;
        let rows = desk.host.rows(&desk.declared, "messages").await;
        let is_it = |row: &&Value| row["metadata"]["externalIds"] == json!([id]);
        let row = rows.iter().find(is_it).expect("it is kept");
        fields!(row, {"actor": actor, "type": kind, "conversation_id": sent.conversation});
        assert_eq!(conversation_of(&desk, &sent).await, before, "after {id}");
    }
    desk.host.advance(24 * 3_600).await;
    eventually("the conversation is handed to people", async || {
        let row = conversation_of(&desk, &sent).await;
        row["status"] == "transferred"
    })
    .await;
}

async fn a_note_without_a_conversation_is_not_kept(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for (body, ..) in notes(BEGINNING, "wamid.unknown") {
        desk.posts(body).await;
    }
    for entity in ["contacts", "conversations", "messages"] {
        let rows = desk.host.rows(&desk.declared, entity).await;
        assert!(rows.is_empty(), "{entity}: {rows:?}");
    }
}

async fn a_note_on_an_old_message_does_not_change_a_conversation(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let old = desk.greets(PHONE).await;
    desk.host.advance(31 * 86_400).await;
    eventually("the conversation is closed", async || {
        let row = conversation_of(&desk, &old).await;
        row["status"] == "closed"
    })
    .await;
    let before = conversation_of(&desk, &old).await;
    let at = BEGINNING + 31 * 86_400;
    let [.., (react, _, _)] = &notes(at, &old.wamid)[..3] else {
        panic!("three notes")
    };
    desk.posts(react.clone()).await;
    assert_eq!(desk.only("conversations").await, before);
    assert_eq!(desk.host.rows(&desk.declared, "messages").await.len(), 2);
}

async fn a_message_that_cannot_be_shown_is_an_answer(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let mut body = message("wamid.U1", BEGINNING, "unsupported", Value::Null);
    body["messages"][0]["errors"] = json!([{"code": 131_051, "title": "Message type unknown"}]);
    desk.posts(body).await;
    assert_eq!(conversation_of(&desk, &sent).await["status"], "answered");
}

async fn a_reply_to_ours_is_an_answer_whatever_its_time(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let early = Inbound::text(WA_ID, "Oi").answering(&sent.wamid);
    desk.whatsapp.inbound(early.at(BEGINNING - 30));
    desk.flush().await;
    let row = conversation_of(&desk, &sent).await;
    assert_eq!(row["answered_at"], "2030-01-15T12:00:00.000000Z");
    assert_eq!(row["first_message_at"], "2030-01-15T12:00:00.000000Z");
}
