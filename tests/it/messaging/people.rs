//! One person is one contact, whichever of the ids and spellings of the phone a provider uses.

use leadhost_tests::provider::BEGINNING;
use leadhost_tests::{Json, On};
use serde_json::{Value, json};

use super::fixture::{WhatsAppFixture, refusal};

leadhost_tests::on_every_store! {
    a_user_who_hides_the_phone_stays_the_same_contact,
    an_id_in_a_status_is_the_recipients,
    an_id_that_was_another_contacts_goes_to_the_one_with_the_phone,
}

/// The ids of a user, and a phone: as it is written, and as WhatsApp names it.
struct Person {
    user: String,
    parent: String,
    phone: String,
    wa_id: String,
}

impl Person {
    fn number(number: u32) -> Self {
        Self {
            user: format!("BR.1000000000000000{number:04}"),
            parent: format!("BR.ENT.1000000000000000{number:04}"),
            phone: format!("(11) 98765-{number:04}"),
            wa_id: format!("551198765{number:04}"),
        }
    }

    /// A message, with the phone beside the ids or without.
    fn writes(&self, id: &str, with_phone: bool) -> Value {
        let mut message = json!({
            "from_user_id": self.user, "id": format!("wamid.{id}.{}", self.user),
            "timestamp": BEGINNING.to_string(), "type": "text", "text": {"body": "oi"},
        });
        let mut contact = json!({
            "profile": {"name": "Ana"}, "user_id": self.user, "parent_user_id": self.parent,
        });
        if with_phone {
            message["from"] = json!(self.wa_id);
            contact["wa_id"] = json!(self.wa_id);
        }
        json!({"contacts": [contact], "messages": [message]})
    }
}

fn with(mut value: Value, fields: Value) -> Value {
    for (name, field) in fields.as_object().expect("an object") {
        value[name] = field.clone();
    }
    value
}

fn stops(ids: Value) -> Value {
    let preference = json!({
        "category": "marketing_messages", "value": "stop", "timestamp": BEGINNING.to_string(),
    });
    json!({"user_preferences": [with(preference, ids)]})
}

/// Asserts that each of so many people has one conversation, which is answered.
async fn are_people(desk: &WhatsAppFixture, many: usize) {
    let conversations = desk.host.rows(&desk.declared, "conversations").await;
    let contacts = desk.host.rows(&desk.declared, "contacts").await;
    assert_eq!((contacts.len(), conversations.len()), (many, many));
    let mut states = conversations.iter().map(|row| &row["status"]);
    assert!(states.all(|state| state == "answered"), "{conversations:?}");
}

async fn a_user_who_hides_the_phone_stays_the_same_contact(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let person = Person::number(1);
    desk.greets(&person.phone).await;
    desk.posts(person.writes("b1", true)).await;
    desk.posts(person.writes("b2", false)).await;
    are_people(&desk, 1).await;
    assert_eq!(desk.host.rows(&desk.declared, "messages").await.len(), 3);
}

async fn an_id_in_a_status_is_the_recipients(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for number in 1..=4 {
        let person = Person::number(number);
        let sent = desk.greets(&person.phone).await;
        let status = json!({
            "id": sent.wamid, "status": "delivered", "timestamp": BEGINNING.to_string(),
            "recipient_id": person.wa_id,
        });
        let (beside, ids) = match number {
            1 => (json!({}), json!({"recipient_user_id": person.user})),
            2 => (
                json!({}),
                json!({"recipient_parent_user_id": person.parent}),
            ),
            3 => (
                json!({}),
                json!({"parent_recipient_user_id": person.parent}),
            ),
            _ => (
                json!({"contacts": [{"wa_id": person.wa_id, "user_id": person.user}]}),
                json!({}),
            ),
        };
        let value = json!({"statuses": [with(status, ids)]});
        desk.posts(with(value, beside)).await;
        desk.posts(person.writes("b2", false)).await;
    }
    are_people(&desk, 4).await;
}

async fn an_id_that_was_another_contacts_goes_to_the_one_with_the_phone(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let person = Person::number(1);
    desk.posts(person.writes("b1", false)).await;
    desk.posts(stops(json!({"user_id": person.user}))).await;
    let sent = desk.greets(&person.phone).await;
    assert_eq!(desk.host.rows(&desk.declared, "contacts").await.len(), 2);
    // The pair shows that both are one person, who wants no messages.
    desk.posts(person.writes("b2", true)).await;
    desk.posts(person.writes("b3", false)).await;
    let conversation = desk.row("conversations", &sent.conversation).await;
    let rows = desk.host.rows(&desk.declared, "messages").await;
    let is_in = |row: &&Value| row["conversation_id"] == sent.conversation.as_str();
    assert_eq!(
        rows.iter().filter(is_in).count(),
        3,
        "ours, and two of theirs"
    );
    let contact = conversation["contact_id"].text();
    assert!(desk.row("contacts", contact).await["banned_at"].is_string());
    refusal(desk.notify(&desk.greeting(&person.phone)).send().await, 400);
}
