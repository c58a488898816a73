//! How the messages of a contact that writes first become conversations,
//! messages and contacts.

use leadhost_tests::{On, fields};
use serde_json::json;

use super::{events, inbound, voice};

leadhost_tests::on_every_store! {
    a_contact_that_writes_first_starts_a_conversation,
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
    let is_so = named.contains(&(Some("Ana Prado"), Some("+5511900000001")));
    assert!(is_so, "{named:?}");
    assert!(named.contains(&(None, None)), "{named:?}");
    let messages = host.rows(&declared, "messages").await;
    let kinds: Vec<_> = messages.iter().map(|row| row["type"].as_str()).collect();
    assert_eq!(kinds, [Some("text"), Some("unsupported")]);
    fields!(messages, {"0.actor": "contact", "1.metadata.channelType": "poll"});
    for conversation in host.rows(&declared, "conversations").await {
        // There was no question that this could answer.
        assert_eq!(conversation["status"], "open");
        assert_eq!(conversation["channel"], "sandbox");
        assert_eq!(conversation["agent_id"], declared.instance("voice"));
        assert!(conversation["first_message_at"].is_string());
    }
}
