//! An instance's webhook address: who may post to it, and how it handles unexpected
//! bodies.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_store::{DeliveryDetail, DeliveryFilter};
use leadhost_tests::provider::{BEGINNING, Flush, Inbound, Key};
use leadhost_tests::{On, fields};
use serde_json::{Value, json};

use super::fixture::{FRONT, JSON, PHONE, WA_ID, WhatsAppFixture, webhook};

leadhost_tests::on_every_store! {
    a_wrong_signature_is_quarantined,
    a_webhook_of_three_megabytes_is_taken,
    unknown_fields_and_words_do_no_harm,
    fields_that_relays_strip_are_optional,
    a_status_that_cannot_be_read_harms_no_other,
    a_body_that_is_no_webhook_is_refused_and_kept,
    a_signature_is_over_the_bytes_as_they_came,
    a_raw_webhook_is_kept_with_its_outcome,
}

fn status(id: &str, word: &str) -> Value {
    json!({"id": id, "status": word, "timestamp": BEGINNING.to_string(), "recipient_id": WA_ID})
}

/// The newest delivery of the channel.
async fn newest(desk: &WhatsAppFixture) -> DeliveryDetail {
    let filter = DeliveryFilter {
        connection: Some(desk.channel(FRONT)),
        limit: 1,
        ..DeliveryFilter::default()
    };
    let found = desk
        .host
        .store()
        .deliveries(&filter)
        .await
        .expect("a store");
    desk.host.stored(found[0].id).await
}

async fn a_wrong_signature_is_quarantined(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let body = webhook(json!({"statuses": [status(&sent.wamid, "read")]})).to_string();
    for key in [Key::Wrong, Key::None] {
        desk.host.advance(1).await;
        let answer = desk.whatsapp.send_raw(JSON, body.clone(), key).await;
        assert_eq!(answer.status, 401, "{key:?}: {}", answer.body);
        let stored = newest(&desk).await;
        assert_eq!(stored.summary.status, DeliveryStatus::Quarantined);
    }
    assert_eq!(desk.state(&sent.message).await, "accepted");
    let answer = desk.whatsapp.send_raw(JSON, body, Key::Right).await;
    assert_eq!(answer.status, 200);
    assert_eq!(desk.state(&sent.message).await, "read");
}

async fn a_webhook_of_three_megabytes_is_taken(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let mut body = webhook(json!({"statuses": [status(&sent.wamid, "delivered")]}));
    let change = body["entry"][0]["changes"][0].clone();
    let mut changes = vec![change];
    changes.extend((0..700).map(|number| {
        webhook(json!({"messages": [{
            "from": WA_ID, "id": format!("wamid.LONG-{number}"), "timestamp": BEGINNING.to_string(),
            "type": "text", "text": {"body": "é".repeat(2_000)},
        }]}))["entry"][0]["changes"][0]
            .clone()
    }));
    body["entry"][0]["changes"] = json!(changes);
    let bytes = body.to_string().into_bytes();
    assert!(
        bytes.len() > 2_900_000 && bytes.len() < 4_000_000,
        "{}",
        bytes.len()
    );
    let answer = desk.whatsapp.send_raw(JSON, bytes, Key::Right).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    desk.becomes(&sent.message, "delivered").await;
    desk.settled().await;
    assert_eq!(desk.messages().await.len(), 701);
}

async fn unknown_fields_and_words_do_no_harm(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let mut delivered = status(&sent.wamid, "delivered");
    delivered["trajectory"] = json!({"planets": ["Marte"]});
    delivered["timestamp"] = json!("soon");
    let mut body = webhook(json!({
        "statuses": [status(&sent.wamid, "in_orbit"), delivered],
        "weather": 7,
    }));
    body["version"] = json!("99.0");
    let more = json!({"field": "phases_of_the_moon", "value": {"moon": "full"}});
    body["entry"][0]["changes"]
        .as_array_mut()
        .expect("a list")
        .push(more);
    desk.host.advance(30).await;
    let answer = desk
        .whatsapp
        .send_raw(JSON, body.to_string(), Key::Right)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let row = desk.row("messages", &sent.message).await;
    // Without a time of its own, an event happened when it was received.
    assert_eq!(row["delivered_at"], "2030-01-15T12:00:30.000000Z");
}

async fn fields_that_relays_strip_are_optional(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let bare = json!({"entry": [{"changes": [{"value": {"statuses": [
        {"id": sent.wamid, "status": "read"},
    ]}}]}]});
    let answer = desk
        .whatsapp
        .send_raw(JSON, bare.to_string(), Key::Right)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(desk.state(&sent.message).await, "read");
    // A message without `contacts` has a sender too.
    let bare = webhook(json!({"messages": [
        {"from": "5531988880001", "id": "wamid.B", "type": "text", "text": {"body": "Oi"}},
    ]}));
    let answer = desk
        .whatsapp
        .send_raw(JSON, bare.to_string(), Key::Right)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(desk.host.rows(&desk.declared, "contacts").await.len(), 2);
}

async fn a_status_that_cannot_be_read_harms_no_other(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    let body = webhook(json!({"statuses": [
        7, {}, {"status": "read"}, {"id": sent.wamid}, null, status(&sent.wamid, "delivered"),
    ]}));
    let answer = desk
        .whatsapp
        .send_raw(JSON, body.to_string(), Key::Right)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(desk.state(&sent.message).await, "delivered");
}

async fn a_body_that_is_no_webhook_is_refused_and_kept(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for body in ["", "no JSON", "[1", "7", "{\"hello\":1}"] {
        desk.host.advance(1).await;
        let answer = desk.whatsapp.send_raw(JSON, body, Key::Right).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        let stored = newest(&desk).await;
        assert_eq!(stored.summary.status, DeliveryStatus::Rejected, "{body}");
        assert_eq!(stored.request.body, body.as_bytes());
    }
}

async fn a_signature_is_over_the_bytes_as_they_came(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let inbound = Inbound::text(WA_ID, "Às 10/11 é ótimo 🏠").named("João \\ Zé");
    desk.whatsapp.inbound(inbound);
    desk.flush().await;
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    fields!(contacts, {"0.name": "João \\ Zé", "0.phone_number": format!("+{WA_ID}")});
    assert!(
        desk.whatsapp.sends().is_empty(),
        "no answer is sent automatically"
    );
    let rows = desk.host.rows(&desk.declared, "messages").await;
    assert_eq!(rows[0]["content"], "Às 10/11 é ótimo 🏠");
}

async fn a_raw_webhook_is_kept_with_its_outcome(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    for word in ["sent", "delivered", "in_orbit"] {
        desk.whatsapp.status(&sent.wamid, word);
    }
    desk.whatsapp.inbound(Inbound::text(WA_ID, "Oi"));
    let answers = desk
        .whatsapp
        .flush_as(Flush::default().batches(1_000))
        .await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].status, 200);
    assert_eq!(
        answers[0].body, "",
        "a provider wants nothing but the status"
    );
    let stored = newest(&desk).await;
    assert_eq!(stored.summary.status, DeliveryStatus::Converted);
    assert_eq!(stored.items.len(), 4);
    let header = stored
        .request
        .headers
        .iter()
        .find(|(name, _)| name == "x-hub-signature-256");
    assert!(header.is_some());
}
