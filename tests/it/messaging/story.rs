//! The whole life of a notification: it goes out, statuses and an answer come
//! back, and everything is exported.

use leadhost_tests::provider::{BEGINNING, Inbound};
use leadhost_tests::{Json, On, fields, has, lacks};
use serde_json::json;

use super::fixture::{PHONE, VERIFY_TOKEN, WA_ID, WhatsAppFixture, template};

leadhost_tests::on_every_store! {
    a_notification_goes_out_and_every_event_about_it_is_exported,
    no_secret_is_kept_and_none_goes_anywhere_else,
}

async fn a_notification_goes_out_and_every_event_about_it_is_exported(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let mut request = desk.greeting(PHONE);
    request["email"] = json!("ilda@example.com");
    request["specialInstructions"] = json!("Fale da vaga de garagem.");
    let answer = desk.notify(&request).send().await.expect(200);
    assert_eq!(answer.json()["success"], true);
    assert_eq!(answer.header("x-message-status"), "accepted");
    let sent = desk.sent(&answer);

    let request = desk.whatsapp.sends()[0].json().expect("JSON");
    fields!(request, {
        "messaging_product": "whatsapp", "to": WA_ID, "biz_opaque_callback_data": sent.message,
        "template.name": "boas_vindas", "template.components.0.parameters.1.text": "Casa Verde",
    });

    for (after, word) in [(1, "sent"), (2, "delivered"), (60, "read")] {
        desk.whatsapp.set_time(BEGINNING + after);
        desk.whatsapp.status(&sent.wamid, word);
    }
    desk.whatsapp.set_time(BEGINNING + 90);
    let reply = Inbound::text(WA_ID, "Quero sim, pode ser às 10h?").answering(&sent.wamid);
    desk.whatsapp.inbound(reply);
    desk.host.advance(120).await;
    desk.flush().await;

    let message = desk.row("messages", &sent.message).await;
    fields!(message, {
        "type": "template", "actor": "agent", "content": "Olá Ilda, aqui é da Casa Verde.",
        "conversation_id": sent.conversation, "delivered_at": "2030-01-15T12:00:02.000000Z",
        "read_at": "2030-01-15T12:01:00.000000Z",
    });
    let metadata = &message["metadata"];
    fields!(metadata, {
        "status": "read", "sentAt": "2030-01-15T12:00:01.000000Z", "externalIds": [sent.wamid],
        "recipientId": WA_ID, "template": {"name": "boas_vindas", "language": "pt_BR"},
    });

    let rows = desk.host.rows(&desk.declared, "messages").await;
    let reply = rows.iter().find(|row| row["actor"] == "contact");
    let reply = reply.expect("the answer is a message");
    assert_eq!(reply["type"], "text");
    assert_eq!(reply["content"], "Quero sim, pode ser às 10h?");
    assert_eq!(reply["conversation_id"], sent.conversation);
    assert_eq!(reply["metadata"]["replyTo"], sent.wamid);
    assert_eq!(reply["created_at"], "2030-01-15T12:01:30.000000Z");

    let conversation = desk.row("conversations", &sent.conversation).await;
    fields!(conversation, {
        "status": "answered", "answered_at": "2030-01-15T12:01:30.000000Z",
        "agent_id": desk.instance(), "agent_type": "ai", "source": "site", "channel": "whatsapp",
    });
    assert!(conversation["first_message_at"].is_string());
    fields!(conversation, {"props.specialInstructions": "Fale da vaga de garagem."});
    let contact = conversation["contact_id"].text();
    let contact = desk.row("contacts", contact).await;
    assert_eq!(contact["name"], "Ilda Prates");
    assert_eq!(contact["phone_number"], format!("+{WA_ID}"));
    assert_eq!(contact["email"], "ilda@example.com");
    assert!(contact["banned_at"].is_null());
    assert!(desk.errors("").await.is_empty());
    assert_eq!(desk.whatsapp.accepted_for(WA_ID), 1);
}

async fn no_secret_is_kept_and_none_goes_anywhere_else(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let name = "{{secret:access-token}} ${access-token} slot{secret,access-token}";
    let request = desk.notification(PHONE, template("boas_vindas", &[name, "Casa Verde"]));
    desk.notify(&request).send().await.expect(200);
    let options = desk.whatsapp.options();
    let token = &options.tokens[0];
    let send = &desk.whatsapp.sends()[0];
    assert_eq!(send.bearer(), Some(&**token));
    let text = String::from_utf8(send.body.clone()).expect("UTF-8");
    lacks!(text, &**token);
    has!(text, name);
    for secret in [token.as_str(), options.app_secret.as_str(), VERIFY_TOKEN] {
        assert!(!desk.host.keeps(secret).await, "{secret} is on disk");
    }
}
