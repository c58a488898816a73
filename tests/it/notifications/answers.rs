//! Notifications that the provider accepts: the answer, and the rows for data
//! clients.

use leadhost_tests::{On, Options, fields};
use serde_json::{Value, json};

use super::Bot;

leadhost_tests::on_every_store! {
    a_message_goes_out_and_is_exported,
    the_legacy_format_and_the_instructions_are_kept,
    one_contact_has_one_open_conversation_however_its_phone_is_written,
    a_partner_is_answered_in_time_and_the_message_still_goes_out,
    a_message_waits_while_its_instance_is_paused,
}

/// The sandbox's list of templates in most tests.
pub fn templates() -> Value {
    json!({"templates": [
        {"name": "welcome", "language": "pt_BR", "text": "Olá {{1}}, podemos conversar?"},
        {"name": "visit", "language": "pt_BR", "text": "{{nome}} quer ver {{imovel}}"},
        {"name": "tired", "language": "pt_BR", "text": "Oi", "status": "paused"},
        {"name": "photo", "language": "pt_BR", "text": "Veja", "header": "image"},
    ]})
}

async fn a_message_goes_out_and_is_exported(on: On) {
    let bot = Bot::new(on, templates()).await;
    let answer = bot.send(&bot.body()).await.expect(200);
    let conversation = bot.conversation(&answer).await;
    let expect = json!({"success": true, "conversationId": conversation["id"]});
    assert_eq!(answer.json(), expect);
    assert_eq!(answer.header("x-message-status"), "delivered");
    let message = bot.message(answer.header("x-message-id")).await;
    fields!(message, {
        "conversation_id": conversation["id"], "actor": "agent", "type": "template",
        "content": "Olá Ana, podemos conversar?", "delivered_at": bot.host.now().text(),
        "metadata.status": "delivered",
        "metadata.template": {"name": "welcome", "language": "pt_BR"},
    });
    fields!(conversation, {
        "status": "open", "source": "landing-page", "channel": "sandbox",
        "agent_id": bot.instance("bot"), "agent_type": "ai",
    });
    let contacts = bot.host.rows(&bot.declared, "contacts").await;
    let contact = &contacts[0];
    assert_eq!(conversation["contact_id"], contact["id"]);
    assert_eq!(contact["name"], "Ana Prado");
    assert_eq!(contact["email"], "ana@example.com");
    assert_eq!(contact["phone_number"], "+5511987654321");
}

async fn the_legacy_format_and_the_instructions_are_kept(on: On) {
    let bot = Bot::new(on, templates()).await;
    let mut body = bot.body();
    let fields = body.as_object_mut().expect("an object");
    fields.remove("template");
    fields.insert("messageTemplate".to_owned(), json!("visit"));
    fields.insert("replacements".to_owned(), json!(["Ana", "AP-10 {{nome}}"]));
    fields.insert("specialInstructions".to_owned(), json!("Seja breve."));
    let answer = bot.send(&body).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "delivered");
    let message = bot.message(answer.header("x-message-id")).await;
    // Placeholders in a value are not filled.
    assert_eq!(message["content"], "Ana quer ver AP-10 {{nome}}");
    assert_eq!(message["metadata"]["template"]["language"], "pt_BR");
    let conversation = bot.conversation(&answer).await;
    assert_eq!(conversation["props"]["specialInstructions"], "Seja breve.");
}

async fn one_contact_has_one_open_conversation_however_its_phone_is_written(on: On) {
    let bot = Bot::new(on, json!({})).await;
    let mut found = Vec::new();
    for phone in ["+55 11 98765-4321", "(11) 8765-4321", "011 98765 4321"] {
        let mut body = bot.body();
        body["phoneNumber"] = json!(phone);
        let answer = bot.send(&body).await.expect(200);
        found.push(answer.json()["conversationId"].clone());
    }
    assert_eq!(found, vec![found[0].clone(); 3]);
    assert_eq!(bot.host.rows(&bot.declared, "contacts").await.len(), 1);
    assert_eq!(bot.host.rows(&bot.declared, "messages").await.len(), 3);
    // (11) 3456-7890 and (11) 93456-7890 belong to two people.
    for phone in ["(11) 3456-7890", "(11) 93456-7890"] {
        let mut body = bot.body();
        body["phoneNumber"] = json!(phone);
        body.as_object_mut().expect("an object").remove("email");
        bot.send(&body).await.expect(200);
    }
    assert_eq!(bot.host.rows(&bot.declared, "contacts").await.len(), 3);
}

async fn a_partner_is_answered_in_time_and_the_message_still_goes_out(on: On) {
    let options = Options::patient(on).with("messages.answer_seconds", 0);
    let bot = Bot::with(options, json!({})).await;
    let answer = bot.send(&bot.body()).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "sending");
    bot.becomes(&answer, "delivered").await;
}

async fn a_message_waits_while_its_instance_is_paused(on: On) {
    let bot = Bot::new(on, json!({})).await;
    bot.pause("moving").await;
    let answer = bot.send(&bot.body()).await.expect(200);
    assert_eq!(answer.header("x-message-status"), "waiting");
    bot.stays(&answer, "waiting").await;
    bot.resume().await;
    bot.becomes(&answer, "delivered").await;
}
