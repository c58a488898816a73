//! How a contact's messages and a channel's statuses become conversations,
//! messages and contacts.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_tests::On;
use serde_json::{Value, json};

use super::{events, inbound, voice};

leadhost_tests::on_every_store! {
    a_contact_that_writes_first_starts_a_conversation,
    a_thousand_events_are_accepted_alongside_other_work,
    a_repeated_webhook_changes_nothing,
    a_number_that_changed_is_the_same_person,
    an_impossible_time_becomes_the_time_of_receipt,
}

async fn a_contact_that_writes_first_starts_a_conversation(on: On) {
    let (host, declared) = voice(on).await;
    let mut first = inbound("(11) 90000-0001", "Oi");
    first["inbound"]["name"] = json!("Ana\nPrado");
    let odd = json!({ "inbound": { "from": "shop-visitor-7", "kind": "poll", "text": "?" } });
    events(&host, &declared, &[first, odd]).await.expect(200);

    let contacts = host.rows(&declared, "contacts").await;
    let named: Vec<_> = contacts
        .iter()
        .map(|row| (row["name"].as_str(), row["phone_number"].as_str()))
        .collect();
    assert!(
        named.contains(&(Some("Ana Prado"), Some("+5511900000001"))),
        "{named:?}"
    );
    assert!(named.contains(&(None, None)), "{named:?}");
    let messages = host.rows(&declared, "messages").await;
    let kinds: Vec<_> = messages.iter().map(|row| row["type"].as_str()).collect();
    assert_eq!(kinds, [Some("text"), Some("unsupported")]);
    assert_eq!(messages[0]["actor"], "contact");
    assert_eq!(messages[1]["metadata"]["channelType"], "poll");
    for conversation in host.rows(&declared, "conversations").await {
        // There was no question that this could answer.
        assert_eq!(conversation["status"], "open");
        assert_eq!(conversation["channel"], "sandbox");
        assert_eq!(conversation["agent_id"], declared.instance("voice"));
        assert!(conversation["first_message_at"].is_string());
    }
}

async fn a_thousand_events_are_accepted_alongside_other_work(on: On) {
    let (host, declared) = voice(on).await;
    let some: Vec<Value> = (0..1_000)
        .map(|number| inbound(&format!("+55119{:08}", number % 100), "Oi"))
        .collect();
    events(&host, &declared, &some).await.expect(200);
    leadhost_tests::until("all of them are there", async || {
        let done = host.with_status(DeliveryStatus::Converted).await;
        (done.len() == 1).then_some(())
    })
    .await;
    let messages = host.rows(&declared, "messages").await;
    assert_eq!(messages.len(), 1_000);
    assert_eq!(host.rows(&declared, "conversations").await.len(), 100);
}

async fn a_repeated_webhook_changes_nothing(on: On) {
    let (host, declared) = voice(on).await;
    let mut message = inbound("+5511900000001", "Oi");
    message["inbound"]["id"] = json!("m-1");
    events(&host, &declared, &[message.clone()])
        .await
        .expect(200);
    let before = host.rows(&declared, "messages").await;
    host.advance(60).await;
    events(&host, &declared, &[message.clone(), message])
        .await
        .expect(200);
    assert_eq!(host.rows(&declared, "messages").await, before);
    assert_eq!(host.rows(&declared, "conversations").await.len(), 1);
}

async fn a_number_that_changed_is_the_same_person(on: On) {
    let (host, declared) = voice(on).await;
    let change = json!({ "number": { "from": "+5511900000001", "to": "+5511900000002" } });
    events(&host, &declared, &[inbound("+5511900000001", "Oi"), change])
        .await
        .expect(200);
    events(&host, &declared, &[inbound("+5511900000002", "Sou eu")])
        .await
        .expect(200);
    assert_eq!(host.rows(&declared, "contacts").await.len(), 1);
    assert_eq!(host.rows(&declared, "conversations").await.len(), 1);
}

async fn an_impossible_time_becomes_the_time_of_receipt(on: On) {
    let (host, declared) = voice(on).await;
    let at = |at: &str, id: &str| {
        let mut message = inbound("+5511900000001", "Oi");
        message["inbound"]["at"] = json!(at);
        message["inbound"]["id"] = json!(id);
        message
    };
    let some = [
        at("2030-01-15T11:00:00Z", "a"),
        at("2041-01-15T11:00:00Z", "b"),
    ];
    events(&host, &declared, &some).await.expect(200);
    let messages = host.rows(&declared, "messages").await;
    let times: Vec<_> = messages
        .iter()
        .map(|row| row["created_at"].as_str().expect("a time"))
        .collect();
    let now = host.now().text();
    assert!(times.contains(&"2030-01-15T11:00:00.000000Z"), "{times:?}");
    assert!(times.contains(&now.as_str()), "{times:?}");
}
