//! Incoming messages: an answer finds its conversation by its context or by its
//! contact, and a contact who writes first begins one.

use leadhost_tests::provider::{BEGINNING, Event, Flush, Inbound};
use leadhost_tests::{On, fields};
use serde_json::{Value, json};

use super::fixture::{PHONE, WA_ID, WhatsAppFixture, taken};

leadhost_tests::on_every_store! {
    a_pressed_button_answers_the_message_it_belongs_to,
    only_the_first_answer_is_the_time_of_the_answer,
    a_contact_who_wrote_first_and_is_then_notified_is_in_one_conversation,
    a_contact_without_a_phone_is_one_contact,
    messages_of_every_kind_are_rows,
    a_contact_who_opts_out_gets_no_message_until_opting_in_again,
    a_marketing_opt_out_in_a_failed_status_stops_further_messages,
}

/// The exported messages of contacts.
async fn written(desk: &WhatsAppFixture) -> Vec<Value> {
    let rows = desk.host.rows(&desk.declared, "messages").await;
    rows.into_iter()
        .filter(|row| row["actor"] == "contact")
        .collect()
}

async fn a_pressed_button_answers_the_message_it_belongs_to(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let pressed = Inbound::button(WA_ID, "Quero visitar", "visita").answering(&sent.wamid);
    desk.whatsapp.inbound(pressed.at(BEGINNING + 30));
    desk.host.advance(60).await;
    desk.flush().await;
    let rows = written(&desk).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["type"], "button");
    assert_eq!(rows[0]["content"], "Quero visitar");
    assert_eq!(rows[0]["conversation_id"], sent.conversation);
    let conversation = desk.row("conversations", &sent.conversation).await;
    fields!(conversation, {
        "answered_at": "2030-01-15T12:00:30.000000Z",
        "last_message_at": "2030-01-15T12:00:30.000000Z",
    });
}

async fn only_the_first_answer_is_the_time_of_the_answer(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    for (after, text) in [(50, "segunda"), (20, "primeira"), (80, "terceira")] {
        let inbound = Inbound::text(WA_ID, text).at(BEGINNING + after);
        desk.whatsapp.inbound(inbound);
    }
    desk.host.advance(90).await;
    taken(&desk.whatsapp.flush_as(Flush::default().batches(9)).await);
    let conversation = desk.row("conversations", &sent.conversation).await;
    fields!(conversation, {
        "answered_at": "2030-01-15T12:00:20.000000Z",
        "last_message_at": "2030-01-15T12:01:20.000000Z",
    });
    assert_eq!(written(&desk).await.len(), 3);
}

async fn a_contact_who_wrote_first_and_is_then_notified_is_in_one_conversation(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.inbound(Inbound::text(WA_ID, "Oi"));
    desk.flush().await;
    let sent = desk.greets(PHONE).await;
    assert_eq!(
        written(&desk).await[0]["conversation_id"],
        sent.conversation
    );
    assert_eq!(desk.host.rows(&desk.declared, "contacts").await.len(), 1);
}

async fn a_contact_without_a_phone_is_one_contact(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for text in ["Oi", "Tudo bem?"] {
        desk.whatsapp.inbound(Inbound::text("BR.4411001", text));
    }
    desk.flush().await;
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert_eq!(contacts.len(), 1);
    assert!(contacts[0]["phone_number"].is_null());
    assert_eq!(
        desk.host.rows(&desk.declared, "conversations").await.len(),
        1
    );
}

/// A message in WhatsApp's format, with these fields of its own.
fn message(id: &str, kind: &str, own: Value) -> Event {
    let value = json!({
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "551130000042", "phone_number_id": "300000000000001"},
        "contacts": [{"profile": {"name": "Ilda"}, "wa_id": WA_ID}],
        "messages": [{
            "from": WA_ID, "id": format!("wamid.{id}"), "timestamp": BEGINNING.to_string(),
            "type": kind, kind: own,
        }],
    });
    Event::Change {
        field: "messages".to_owned(),
        value: value.to_string(),
    }
}

async fn messages_of_every_kind_are_rows(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let of_kind = [
        ("image", json!({"id": "1", "caption": "A sala"}), "image"),
        ("video", json!({"id": "2"}), "video"),
        ("audio", json!({"id": "3", "voice": true}), "audio"),
        (
            "document",
            json!({"id": "4", "filename": "rg.pdf"}),
            "document",
        ),
        ("sticker", json!({"id": "5"}), "sticker"),
        (
            "location",
            json!({"latitude": -23.5, "longitude": -46.6}),
            "location",
        ),
        (
            "contacts",
            json!([{"name": {"formatted_name": "Caio"}}]),
            "contacts",
        ),
        (
            "interactive",
            json!({"type": "button_reply", "button_reply": {"id": "a", "title": "Sim"}}),
            "interactive",
        ),
        (
            "reaction",
            json!({"message_id": "wamid.x", "emoji": "👍"}),
            "reaction",
        ),
        ("carrier_pigeon", json!({"rings": 2}), "unsupported"),
    ];
    for (kind, own, _) in &of_kind {
        desk.whatsapp.queue(message(kind, kind, own.clone()));
    }
    desk.flush().await;
    let rows = written(&desk).await;
    let kinds: Vec<&Value> = rows.iter().map(|row| &row["type"]).collect();
    let expect: Vec<&str> = of_kind.iter().map(|(_, _, kind)| *kind).collect();
    assert_eq!(kinds, expect);
    fields!(rows, {"0.content": "A sala", "7.content": "Sim"});
    let unknown = &rows[9]["metadata"];
    fields!(unknown, {"channelType": "carrier_pigeon", "attributes.carrier_pigeon.rings": 2});
}

/// A user's preference for marketing messages.
fn preference(value: &str) -> Event {
    let value = json!({
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "551130000042", "phone_number_id": "300000000000001"},
        "contacts": [{"profile": {"name": "Ilda"}, "wa_id": WA_ID}],
        "user_preferences": [{
            "wa_id": WA_ID, "detail": "The user asked for it",
            "category": "marketing_messages", "value": value, "timestamp": BEGINNING,
        }],
    });
    Event::Change {
        field: "user_preferences".to_owned(),
        value: value.to_string(),
    }
}

async fn a_contact_who_opts_out_gets_no_message_until_opting_in_again(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.queue(preference("stop"));
    desk.flush().await;
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert!(contacts[0]["banned_at"].is_string());
    let answer = desk.notify(&desk.greeting(PHONE)).send().await;
    super::fixture::refusal(answer, 400);
    assert_eq!(desk.whatsapp.sends().len(), 1, "nothing goes out");
    // Other contacts are not affected.
    desk.greets(super::fixture::OTHER_PHONE).await;

    desk.whatsapp.queue(preference("resume"));
    desk.flush().await;
    let again = desk.greets(PHONE).await;
    assert_eq!(again.conversation, sent.conversation);
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert!(contacts.iter().all(|row| row["banned_at"].is_null()));
}

async fn a_marketing_opt_out_in_a_failed_status_stops_further_messages(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    desk.whatsapp.fails(&sent.wamid, &[131_050]);
    desk.flush().await;
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert!(contacts[0]["banned_at"].is_string());
    let answer = desk.notify(&desk.greeting(PHONE)).send().await;
    super::fixture::refusal(answer, 400);
    assert_eq!(desk.whatsapp.sends().len(), 1);
}
