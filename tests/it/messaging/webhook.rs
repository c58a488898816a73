//! An instance's webhook address: who may post to it, and how it handles unexpected
//! bodies.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_store::{DeliveryDetail, DeliveryFilter};
use leadhost_tests::On;
use leadhost_tests::provider::{BEGINNING, Flush, Inbound, Key};
use serde_json::{Value, json};

use super::fixture::{FRONT, JSON, PHONE, WA_ID, WhatsAppFixture, webhook};

leadhost_tests::on_every_store! {
    a_wrong_signature_is_quarantined,
    a_webhook_of_three_megabytes_is_taken,
    a_body_that_is_no_webhook_is_refused_and_kept,
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
    let found = desk.host.store().deliveries(&filter).await;
    let found = found.expect("a store");
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
    let is_so = bytes.len() > 2_900_000 && bytes.len() < 4_000_000;
    assert!(is_so, "{}", bytes.len());
    let answer = desk.whatsapp.send_raw(JSON, bytes, Key::Right).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    desk.becomes(&sent.message, "delivered").await;
    desk.settled().await;
    assert_eq!(desk.messages().await.len(), 701);
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

async fn a_raw_webhook_is_kept_with_its_outcome(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = desk.greets(PHONE).await;
    for word in ["sent", "delivered", "in_orbit"] {
        desk.whatsapp.status(&sent.wamid, word);
    }
    desk.whatsapp.inbound(Inbound::text(WA_ID, "Oi"));
    let answers = desk.whatsapp.flush_as(Flush::default().batches(1_000));
    let answers = answers.await;
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
