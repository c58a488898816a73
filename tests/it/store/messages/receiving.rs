//! Incoming events: messages, opt-outs, new numbers, changes of templates.

use leadhost_domain::channel::Template;
use leadhost_domain::contact::{channel_keys, phone_key};
use leadhost_domain::delivery::ItemStatus;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::fields;
use serde_json::json;

use super::super::world::*;
use super::*;

pub async fn a_contact_may_write_first(world: &World) {
    let deal = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let mut first = inbound(world, "in1");
    first.kind = "unsupported";
    first.channel_type = Some("order".to_owned());
    first.attributes = object(json!({"items": 2}));
    let item = receive(world, first).await;
    assert_eq!(item.status, ItemStatus::Converted);
    assert_eq!(
        (item.deal_id, item.contact_id),
        (deal.deal_id, deal.contact_id)
    );
    let conversations = world.all(Entity::Conversations).await;
    let conversation = without_stamp(conversations[0].clone());
    let expect = json!({
        "id": conversations[0]["id"], "workspace_id": world.workspace,
        "contact_id": deal.contact_id, "deal_id": deal.deal_id, "agent_id": world.first_agent,
        "agent_type": "ai", "source": null, "channel": "whatsapp", "status": "open",
        "created_at": world.now(), "first_message_at": world.now(), "answered_at": null,
        "last_message_at": world.now(), "no_response_at": null, "transferred_at": null,
        "appointment_at": null, "closed_at": null, "props": {},
    });
    assert_eq!(conversation, expect);
    let messages = world.all(Entity::Messages).await;
    let expect = json!({
        "id": messages[0]["id"], "workspace_id": world.workspace,
        "conversation_id": conversations[0]["id"], "created_at": world.now(),
        "actor": "contact", "type": "unsupported", "content": "yes, please",
        "delivered_at": null, "read_at": null,
        "metadata": {
            "status": "received", "externalIds": ["in1"], "recipientId": "5511987654321",
            "channelType": "order", "attributes": {"items": 2},
        },
    });
    assert_eq!(without_stamp(messages[0].clone()), expect);
    // A stranger becomes a contact.
    let mut stranger = inbound(world, "in2");
    stranger.sender_id = "5511987650001".to_owned();
    stranger.contact_keys = channel_keys("whatsapp", &stranger.sender_id);
    stranger.phone = Some(number("+5511987650001"));
    stranger.name = Some("Ivo".to_owned());
    let item = receive(world, stranger).await;
    let contact = row(world, Entity::Contacts, item.contact_id.expect("one")).await;
    fields!(contact, {"name": "Ivo", "phone_number": "+5511987650001"});
    assert_eq!(item.deal_id, None);
    // A notification continues the conversation.
    let ours = store(world, notification(world, PHONE)).await;
    assert_eq!(json!(ours.conversation), conversations[0]["id"]);
}

pub async fn the_first_message_after_ours_is_the_answer(world: &World) {
    let new = out(world, "w1").await;
    world.advance(10).await;
    let answered_at = world.now();
    let item = receive(world, inbound(world, "in1")).await;
    assert_eq!(item.contact_id, Some(new.contact));
    world.advance(10).await;
    receive(world, inbound(world, "in2")).await;
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["status"], "answered");
    assert_eq!(conversation["answered_at"], json!(answered_at));
    assert_eq!(conversation["last_message_at"], json!(world.now()));
    // One that was written before it and comes later.
    let earlier = NewInboundMessage {
        at: START.plus_seconds(5),
        ..inbound(world, "in3")
    };
    receive(world, earlier).await;
    let conversation = conversation_row(world, new.conversation).await;
    fields!(conversation, {"answered_at": START.plus_seconds(5), "last_message_at": world.now()});
    world.advance(86_400).await;
    assert!(due(world).await.is_empty(), "no answer is awaited");
    // Nor after another message of ours.
    out(world, "w2").await;
    world.advance(86_400).await;
    assert!(due(world).await.is_empty());
}

/// The answer may arrive before the provider's answer to the send.
pub async fn an_answer_may_come_before_the_acceptance(world: &World) {
    for (number, answer_first) in [true, false].into_iter().enumerate() {
        let sender = format!("551198765000{number}");
        let new = store(world, urgent(world, &format!("+{sender}"))).await;
        let mut answer = inbound(world, &format!("in{number}"));
        answer.contact_keys = channel_keys("whatsapp", &sender);
        answer.sender_id = sender;
        let outcome = || accepted(world, &format!("w{number}"));
        if answer_first {
            receive(world, answer).await;
            settle_send(world, new.message, 0, outcome()).await;
        } else {
            settle_send(world, new.message, 0, outcome()).await;
            receive(world, answer).await;
        }
        let conversation = conversation_row(world, new.conversation).await;
        fields!(conversation, {"status": "answered", "first_message_at": world.now()});
    }
    world.advance(86_400).await;
    assert!(due(world).await.is_empty());
}

pub async fn a_repeated_message_is_stored_once(world: &World) {
    let first = receive(world, inbound(world, "in1")).await;
    let before = world.all(Entity::Conversations).await;
    world.advance(1).await;
    let again = receive(world, inbound(world, "in1")).await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    assert_eq!(again.contact_id, first.contact_id);
    let one = event(line(world), Event::Inbound(Box::new(inbound(world, "in2"))));
    let both = world.deliver(vec![one.clone(), one]).await;
    assert_eq!(both.items[0].status, ItemStatus::Converted);
    assert_eq!(both.items[1].status, ItemStatus::Duplicate);
    assert_eq!(world.all(Entity::Messages).await.len(), 2);
    assert_eq!(world.all(Entity::Conversations).await.len(), before.len());
}

pub async fn a_reply_goes_to_the_conversation_of_the_message_that_it_answers(world: &World) {
    let old = out(world, "w1").await;
    world.advance(31 * 86_400).await;
    assert!(elapse(world, old.conversation).await);
    let new = out(world, "w2").await;
    assert_ne!(new.conversation, old.conversation);
    let replying = |external_id: &str, to: &str| NewInboundMessage {
        reply_to: Some(to.to_owned()),
        ..inbound(world, external_id)
    };
    receive(world, replying("in1", "w2")).await;
    // A closed conversation stays closed: the open one continues.
    receive(world, replying("in2", "w1")).await;
    receive(world, replying("in3", "unheard of")).await;
    let messages = world.all(Entity::Messages).await;
    for id in ["in1", "in2", "in3"] {
        let is_it = |row: &&Value| row["metadata"]["externalIds"] == json!([id]);
        let message = messages.iter().find(is_it).expect("it is kept");
        assert_eq!(message["conversation_id"], json!(new.conversation), "{id}");
        assert!(message["metadata"]["replyTo"].is_string());
    }
    let closed = conversation_row(world, old.conversation).await;
    assert_eq!(closed["answered_at"], json!(null));
}

pub async fn a_late_answer_is_an_answer(world: &World) {
    let new = out(world, "w1").await;
    world.advance(86_400).await;
    assert!(elapse(world, new.conversation).await);
    let silent = conversation_row(world, new.conversation).await;
    assert_eq!(silent["status"], "transferred");
    assert!(silent["no_response_at"].is_string());
    world.advance(60).await;
    receive(world, inbound(world, "in1")).await;
    let conversation = conversation_row(world, new.conversation).await;
    assert_eq!(conversation["no_response_at"], json!(null));
    assert_eq!(conversation["answered_at"], json!(world.now()));
    assert_eq!(conversation["transferred_at"], silent["transferred_at"]);
}

pub async fn an_opt_out_is_honoured_and_an_older_one_is_not(world: &World) {
    let new = out(world, "w1").await;
    let keys = notification(world, PHONE).contact_keys;
    let wish = async |opt_out, at| {
        let wish = Event::Consent {
            contact_keys: keys.clone(),
            opt_out,
            at,
        };
        world.item(event(line(world), wish)).await.status
    };
    let banned_at = async || row(world, Entity::Contacts, new.contact).await["banned_at"].clone();
    let time = |seconds| START.plus_seconds(seconds);
    assert_eq!(wish(true, time(10)).await, ItemStatus::Updated);
    assert_eq!(wish(true, time(10)).await, ItemStatus::Duplicate);
    assert_eq!(banned_at().await, json!(time(10)));
    assert_eq!(wish(false, time(9)).await, ItemStatus::Duplicate);
    assert_eq!(banned_at().await, json!(time(10)));
    assert_eq!(wish(false, time(11)).await, ItemStatus::Updated);
    assert_eq!(banned_at().await, json!(null));
    let unknown = Event::Consent {
        contact_keys: vec![phone_key("+5511987650009")],
        opt_out: false,
        at: time(1),
    };
    let item = world.item(event(line(world), unknown)).await;
    assert_eq!(item.status, ItemStatus::Ignored);
}

pub async fn a_new_number_is_the_contacts_and_the_old_one_stays_a_key(world: &World) {
    let new = out(world, "w1").await;
    let change = |from: &str, to: &str| {
        let change = Event::Number {
            contact_keys: channel_keys("whatsapp", from),
            new_keys: channel_keys("whatsapp", to),
            phone: Some(number(&format!("+{to}"))),
        };
        event(line(world), change)
    };
    // The next event of the same webhook comes from the new number.
    let mut answer = inbound(world, "in1");
    answer.contact_keys = channel_keys("whatsapp", "5511987650001");
    let answer = event(line(world), Event::Inbound(Box::new(answer)));
    let number = change("5511987654321", "5511987650001");
    let outcome = world.deliver(vec![number.clone(), answer]).await;
    assert_eq!(outcome.items[0].status, ItemStatus::Updated);
    assert_eq!(outcome.items[1].contact_id, Some(new.contact));
    assert_eq!(world.item(number).await.status, ItemStatus::Duplicate);
    let unknown_number = world.item(change("5511987650008", "5511987650009")).await;
    assert_eq!(unknown_number.status, ItemStatus::Ignored);
    let phone = async || row(world, Entity::Contacts, new.contact).await["phone_number"].clone();
    assert_eq!(phone().await, "+5511987650001");
    let same = store(world, notification(world, "+5511987650001")).await;
    assert_eq!(
        (same.contact, same.conversation),
        (new.contact, new.conversation)
    );
    let refused = SendOutcome::Refused(error("131026", Category::Recipient));
    let write = settle_claimed(world, same.message, refused).await;
    assert_eq!(state_of(&write), MessageState::Failed);
    let [failure] = errors(world).await.try_into().expect("one row");
    assert_eq!(failure["recipient_id"], "+5511987650001");
    let outbox = world.outbox(&everything()).await.unwrap();
    let is_it = |message: &&OutboxMessage| message.id == same.message;
    let shown = outbox.iter().find(is_it).expect("it is shown");
    assert_eq!(shown.phone_number.as_deref(), Some("+5511987650001"));
    // The old number still finds the same person, who may also return to it; a late
    // repeat changes nothing.
    let before = store(world, notification(world, PHONE)).await;
    assert_eq!(before.contact, new.contact);
    let third = change("5511987650001", "5511987650002");
    assert_eq!(world.item(third).await.status, ItemStatus::Updated);
    let late = change("5511987654321", "5511987650001");
    assert_eq!(world.item(late).await.status, ItemStatus::Duplicate);
    assert_eq!(phone().await, "+5511987650002");
    let back = change("5511987650002", "5511987654321");
    assert_eq!(world.item(back).await.status, ItemStatus::Updated);
    assert_eq!(phone().await, PHONE);
}

async fn settle_claimed(world: &World, message: MessageId, outcome: SendOutcome) -> WriteOutcome {
    let held = claim_send(world).await;
    assert_eq!(held.message, message);
    begin(world, &held).await;
    settle_send(world, message, held.lease.0, outcome).await
}

fn everything() -> OutboxFilter {
    OutboxFilter {
        limit: 100,
        ..OutboxFilter::default()
    }
}

pub async fn a_status_does_not_change_an_incoming_message(world: &World) {
    let failed = |code| {
        let mut said = MessageProgress::failed(world.now(), error(code, Category::OptOut));
        said.merge(&at(MessageState::Read, world.now()));
        said
    };
    // Before its message is stored, and after.
    let early = world.item(status(world, "in1", failed("131050"))).await;
    assert_eq!(
        early.status,
        ItemStatus::Updated,
        "it waits for its message"
    );
    let item = receive(world, inbound(world, "in1")).await;
    assert_eq!(item.status, ItemStatus::Converted);
    let [message] = world.all(Entity::Messages).await.try_into().expect("one");
    let late = world.item(status(world, "in1", failed("131026"))).await;
    assert_eq!(late.status, ItemStatus::Ignored);
    let [after] = world.all(Entity::Messages).await.try_into().expect("one");
    assert_eq!(after, message);
    let expect = json!({
        "status": "received", "externalIds": ["in1"], "recipientId": "5511987654321",
    });
    assert_eq!(message["metadata"], expect);
    fields!(message, {"delivered_at": null, "read_at": null});
    let contact = row(world, Entity::Contacts, message_contact(&item)).await;
    assert_eq!(contact["banned_at"], json!(null));
    // A failure of an unknown message stays without a message.
    let [failure] = errors(world).await.try_into().expect("one row");
    fields!(failure, {"message_id": null, "conversation_id": null});
}

fn message_contact(item: &ItemOutcome) -> ContactId {
    item.contact_id.expect("it has a contact")
}

pub async fn news_of_a_template_change_the_stored_list(world: &World) {
    let connection = world.connection(&world.site).await.unwrap().unwrap();
    assert_eq!(world.templates(&connection).await.unwrap(), None);
    let template = |name: &str, language: &str| Template {
        name: name.to_owned(),
        language: language.to_owned(),
        status: Template::APPROVED.to_owned(),
        category: "utility".to_owned(),
        reason: String::new(),
        text: "Hello, {{1}}".to_owned(),
        placeholders: Vec::new(),
        components: "[]".to_owned(),
    };
    let mut list = TemplateList {
        synced_at: Some(world.now()),
        error: Some("the second page did not come".to_owned()),
        is_unlisted: false,
        templates: vec![
            template("welcome", "pt_BR"),
            template("welcome", "en"),
            template("other", "pt_BR"),
        ],
    };
    world.put_templates(&connection, &list).await.unwrap();
    let news = |name: &str, status: &str| {
        let news = Event::Template {
            name: name.to_owned(),
            language: "pt_BR".to_owned(),
            status: status.to_owned(),
            reason: "blocked too often".to_owned(),
        };
        event(line(world), news)
    };
    let outcome = world
        .deliver(vec![
            news("welcome", "paused"),
            news("unheard", "paused"),
            news("other", ""),
        ])
        .await;
    let statuses = outcome.items.iter().map(|item| item.status);
    assert!(statuses.eq([ItemStatus::Updated; 3]));
    list.templates[0].status = "paused".to_owned();
    list.templates[0].reason = "blocked too often".to_owned();
    assert_eq!(
        world.templates(&connection).await.unwrap(),
        Some(list.clone())
    );
    // A new list replaces the old one, and each instance has its own.
    list.is_unlisted = true;
    list.error = None;
    list.templates.clear();
    world.put_templates(&connection, &list).await.unwrap();
    assert_eq!(world.templates(&connection).await.unwrap(), Some(list));
    let other = world.connection(&world.portal).await.unwrap().unwrap();
    assert_eq!(world.templates(&other).await.unwrap(), None);
}
