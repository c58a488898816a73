//! Incoming events: messages, opt-outs, new numbers, changes of templates.

use leadhost_domain::channel::Template;
use leadhost_domain::contact::channel_keys;

use super::*;

const OTHER: &str = "+5511987650001";

pub async fn a_contact_may_write_first(world: &World) {
    let deal = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let mut first = inbound(world, "in1");
    first.kind = "unsupported";
    first.channel_type = Some("order".to_owned());
    first.attributes = object(json!({"items": 2}));
    let item = receive(world, first).await;
    assert_eq!(item.status, ItemStatus::Converted);
    assert_eq!(item.deal_id, deal.deal_id);
    assert_eq!(item.contact_id, deal.contact_id);
    let conversations = world.all(Entity::Conversations).await;
    let expect = json!({
        "id": conversations[0]["id"], "workspace_id": world.workspace,
        "contact_id": deal.contact_id, "deal_id": deal.deal_id, "agent_id": world.first_agent,
        "agent_type": "ai", "source": null, "channel": "whatsapp", "status": "open",
        "created_at": world.now(), "first_message_at": world.now(), "answered_at": null,
        "last_message_at": world.now(), "no_response_at": null, "transferred_at": null,
        "appointment_at": null, "closed_at": null, "props": {},
    });
    assert_eq!(without_stamp(conversations[0].clone()), expect);
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
    let mut stranger = inbound_from(world, "in2", OTHER);
    stranger.name = Some("Ivo".to_owned());
    let item = receive(world, stranger).await;
    let contact = world.contact(item.contact_id.expect("one")).await;
    fields!(contact, {"name": "Ivo", "phone_number": OTHER});
    assert_eq!(item.deal_id, None);
    // A notification continues the conversation.
    let ours = post(world, PHONE).await;
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
    fields!(conversation, {
        "status": "answered", "answered_at": answered_at, "last_message_at": world.now(),
    });
    // One that was written before it and comes later.
    let earlier = NewInboundMessage {
        at: START.plus_seconds(5),
        ..inbound(world, "in3")
    };
    receive(world, earlier).await;
    let conversation = conversation_row(world, new.conversation).await;
    fields!(conversation, {"answered_at": START.plus_seconds(5), "last_message_at": world.now()});
    world.advance(DAY).await;
    assert!(due(world).await.is_empty(), "no answer is awaited");
    // Nor after another message of ours.
    out(world, "w2").await;
    world.advance(DAY).await;
    assert!(due(world).await.is_empty());
}

/// The answer may arrive before the provider's answer to the send.
pub async fn an_answer_may_come_before_the_acceptance(world: &World) {
    for (number, answer_first) in [true, false].into_iter().enumerate() {
        let to = format!("+551198765000{number}");
        let new = send(world, &to).await;
        let answer = inbound_from(world, &format!("in{number}"), &to);
        let id = format!("w{number}");
        let accepts = accept_send(world, &new, &id);
        if answer_first {
            receive(world, answer).await;
            accepts.await;
        } else {
            accepts.await;
            receive(world, answer).await;
        }
        let conversation = conversation_row(world, new.conversation).await;
        fields!(conversation, {"status": "answered", "first_message_at": world.now()});
    }
    world.advance(DAY).await;
    assert!(due(world).await.is_empty());
}

pub async fn a_repeated_message_is_stored_once(world: &World) {
    let first = receive(world, inbound(world, "in1")).await;
    let before = world.all(Entity::Conversations).await;
    world.advance(1).await;
    let again = receive(world, inbound(world, "in1")).await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    assert_eq!(again.contact_id, first.contact_id);
    let one = inbound_event(world, inbound(world, "in2"));
    let both = world.deliver(vec![one.clone(), one]).await;
    let expect = [ItemStatus::Converted, ItemStatus::Duplicate];
    assert_eq!(statuses(&both.items), expect);
    assert_eq!(world.all(Entity::Messages).await.len(), 2);
    assert_eq!(world.all(Entity::Conversations).await.len(), before.len());
}

pub async fn a_reply_goes_to_the_conversation_of_the_message_that_it_answers(world: &World) {
    let old = out(world, "w1").await;
    world.advance(31 * DAY).await;
    assert!(elapse(world, old.conversation).await);
    let new = out(world, "w2").await;
    assert_ne!(new.conversation, old.conversation);
    // A closed conversation stays closed: the open one continues.
    for (id, to) in [("in1", "w2"), ("in2", "w1"), ("in3", "unheard of")] {
        let mut reply = inbound(world, id);
        reply.reply_to = Some(to.to_owned());
        receive(world, reply).await;
    }
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
    world.advance(DAY).await;
    assert!(elapse(world, new.conversation).await);
    let silent = conversation_row(world, new.conversation).await;
    assert_eq!(silent["status"], "transferred");
    assert!(silent["no_response_at"].is_string());
    world.advance(60).await;
    receive(world, inbound(world, "in1")).await;
    let conversation = conversation_row(world, new.conversation).await;
    fields!(conversation, {
        "no_response_at": null, "answered_at": world.now(),
        "transferred_at": silent["transferred_at"],
    });
}

pub async fn an_opt_out_is_honoured_and_an_older_one_is_not(world: &World) {
    let new = out(world, "w1").await;
    let time = |seconds| START.plus_seconds(seconds);
    for (opt_out, at, status, banned_at) in [
        (true, 10, ItemStatus::Updated, Some(time(10))),
        (true, 10, ItemStatus::Duplicate, Some(time(10))),
        (false, 9, ItemStatus::Duplicate, Some(time(10))),
        (false, 11, ItemStatus::Updated, None),
    ] {
        let item = world.item(consent(world, PHONE, opt_out, time(at))).await;
        assert_eq!(item.status, status, "{opt_out} at {at}");
        let contact = world.contact(new.contact).await;
        assert_eq!(contact["banned_at"], json!(banned_at), "{opt_out} at {at}");
    }
    let unknown = consent(world, "+5511987650009", false, time(1));
    assert_eq!(world.item(unknown).await.status, ItemStatus::Ignored);
}

pub async fn a_new_number_is_the_contacts_and_the_old_one_stays_a_key(world: &World) {
    let new = out(world, "w1").await;
    let change = |from: &str, to: &str| {
        let change = Event::Number {
            contact_keys: channel_keys("whatsapp", &from[1..]),
            new_keys: channel_keys("whatsapp", &to[1..]),
            phone: Some(number(to)),
        };
        event(line(world), change)
    };
    let changed = async |from: &str, to: &str| world.item(change(from, to)).await.status;
    // The next event of the same webhook comes from the new number.
    let mut answer = inbound(world, "in1");
    answer.contact_keys = channel_keys("whatsapp", &OTHER[1..]);
    let events = vec![change(PHONE, OTHER), inbound_event(world, answer)];
    let outcome = world.deliver(events).await;
    assert_eq!(outcome.items[0].status, ItemStatus::Updated);
    assert_eq!(outcome.items[1].contact_id, Some(new.contact));
    assert_eq!(changed(PHONE, OTHER).await, ItemStatus::Duplicate);
    let unknown = changed("+5511987650008", "+5511987650009").await;
    assert_eq!(unknown, ItemStatus::Ignored);
    let phone = async || world.contact(new.contact).await["phone_number"].clone();
    assert_eq!(phone().await, OTHER);
    let same = post(world, OTHER).await;
    assert_eq!(same.contact, new.contact);
    assert_eq!(same.conversation, new.conversation);
    let held = claim_send(world).await;
    assert_eq!(held.message, same.message);
    begin(world, &held).await;
    let refused = SendOutcome::Refused(error("131026", Category::Recipient));
    let write = settle_send(world, same.message, held.lease.0, refused).await;
    assert_eq!(state_of(&write), MessageState::Failed);
    let [failure] = errors(world).await.try_into().expect("one row");
    assert_eq!(failure["recipient_id"], OTHER);
    let filter = OutboxFilter {
        limit: 100,
        ..OutboxFilter::default()
    };
    let outbox = world.outbox(&filter).await.unwrap();
    let is_it = |message: &&OutboxMessage| message.id == same.message;
    let shown = outbox.iter().find(is_it).expect("it is shown");
    assert_eq!(shown.phone_number.as_deref(), Some(OTHER));
    // The old number still finds the same person, who may also return to it; a late
    // repeat changes nothing.
    assert_eq!(post(world, PHONE).await.contact, new.contact);
    let third = "+5511987650002";
    for (from, to, status, then) in [
        (OTHER, third, ItemStatus::Updated, third),
        (PHONE, OTHER, ItemStatus::Duplicate, third),
        (third, PHONE, ItemStatus::Updated, PHONE),
    ] {
        assert_eq!(changed(from, to).await, status, "{from} to {to}");
        assert_eq!(phone().await, then, "{from} to {to}");
    }
}

pub async fn a_status_does_not_change_an_incoming_message(world: &World) {
    let reports = async |code| {
        let mut said = failed(world, code, Category::OptOut);
        said.merge(&at(MessageState::Read, world.now()));
        world.item(status(world, "in1", said)).await.status
    };
    let message = async || {
        let [message] = world.all(Entity::Messages).await.try_into().expect("one");
        message
    };
    // Before its message is stored, and after.
    assert_eq!(reports("131050").await, ItemStatus::Updated, "it waits");
    let item = receive(world, inbound(world, "in1")).await;
    assert_eq!(item.status, ItemStatus::Converted);
    let stored = message().await;
    assert_eq!(reports("131026").await, ItemStatus::Ignored);
    assert_eq!(message().await, stored);
    let expect = json!({
        "status": "received", "externalIds": ["in1"], "recipientId": "5511987654321",
    });
    fields!(stored, {"metadata": expect, "delivered_at": null, "read_at": null});
    let contact = world.contact(item.contact_id.expect("a contact")).await;
    assert_eq!(contact["banned_at"], json!(null));
    // A failure of an unknown message stays without a message.
    let [failure] = errors(world).await.try_into().expect("one row");
    fields!(failure, {"message_id": null, "conversation_id": null});
}

pub async fn news_of_a_template_change_the_stored_list(world: &World) {
    let connection = world.declared(&world.site).await;
    let stored = async || world.templates(&connection).await.unwrap();
    assert_eq!(stored().await, None);
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
    let names = [("welcome", "pt_BR"), ("welcome", "en"), ("other", "pt_BR")];
    let mut list = TemplateList {
        synced_at: Some(world.now()),
        error: Some("the second page did not come".to_owned()),
        is_unlisted: false,
        templates: names
            .map(|(name, language)| template(name, language))
            .into(),
    };
    world.put_templates(&connection, &list).await.unwrap();
    let news = [("welcome", "paused"), ("unheard", "paused"), ("other", "")];
    let news = news.map(|(name, status)| {
        let news = Event::Template {
            name: name.to_owned(),
            language: "pt_BR".to_owned(),
            status: status.to_owned(),
            reason: "blocked too often".to_owned(),
        };
        event(line(world), news)
    });
    let outcome = world.deliver(news.into()).await;
    assert_eq!(statuses(&outcome.items), [ItemStatus::Updated; 3]);
    list.templates[0].status = "paused".to_owned();
    list.templates[0].reason = "blocked too often".to_owned();
    assert_eq!(stored().await.as_ref(), Some(&list));
    // A new list replaces the old one, and each instance has its own.
    list.is_unlisted = true;
    list.error = None;
    list.templates.clear();
    world.put_templates(&connection, &list).await.unwrap();
    assert_eq!(stored().await, Some(list));
    let other = world.declared(&world.portal).await;
    assert_eq!(world.templates(&other).await.unwrap(), None);
}
