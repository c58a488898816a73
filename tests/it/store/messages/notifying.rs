//! A notification: the rows that it stores before anything is sent, and its
//! idempotency key.

use super::*;

pub async fn a_notification_is_a_contact_a_conversation_and_a_message_on_its_way(world: &World) {
    let mut new = urgent(world, PHONE);
    new.details.email = Some("rita@example.com".to_owned());
    new.details.special_instructions = Some("be brief".to_owned());
    let new = store(world, new).await;
    assert_eq!(new.state, MessageState::Sending);
    assert_eq!(new.recipient, PHONE);
    let contact = world.contact(new.contact).await;
    fields!(contact, {"name": "Rita", "email": "rita@example.com", "phone_number": PHONE});
    let conversation = conversation_row(world, new.conversation).await;
    let expect = json!({
        "id": new.conversation, "workspace_id": world.workspace, "contact_id": new.contact,
        "deal_id": null, "agent_id": world.first_agent, "agent_type": "ai", "source": "crm",
        "channel": "whatsapp", "status": "pending", "created_at": world.now(),
        "first_message_at": null, "answered_at": null, "last_message_at": null,
        "no_response_at": null, "transferred_at": null, "appointment_at": null,
        "closed_at": null, "props": {"specialInstructions": "be brief"},
    });
    assert_eq!(without_stamp(conversation), expect);
    let expect = json!({
        "id": new.message, "workspace_id": world.workspace, "conversation_id": new.conversation,
        "created_at": world.now(), "actor": "agent", "type": "template",
        "content": "Hello, Rita", "delivered_at": null, "read_at": null,
        "metadata": {
            "status": "sending", "template": {"name": "welcome", "language": "pt_BR"},
        },
    });
    assert_eq!(without_stamp(message_row(world, new.message).await), expect);
    assert!(world.claim(10).await.is_empty(), "its caller sends it");
}

pub async fn without_a_lease_it_waits_for_the_worker(world: &World) {
    let new = post(world, PHONE).await;
    assert_eq!(new.state, MessageState::Waiting);
    let held = claim_send(world).await;
    let ids = (held.message, held.conversation, held.contact);
    assert_eq!(ids, (new.message, new.conversation, new.contact));
    assert_eq!((held.recipient.as_str(), held.attempts), (PHONE, 0));
    assert_eq!(held.payload, message(world).payload);
    assert_eq!(held.connection, world.site);
    assert_eq!(held.until, world.now().plus_seconds(DAY));
    assert_eq!((held.was_sending, held.held_until), (false, None));
}

pub async fn a_notification_continues_the_open_conversation(world: &World) {
    let first = post(world, PHONE).await;
    world.advance(1).await;
    let again = Notification {
        details: NotificationDetails {
            name: "Another name".to_owned(),
            email: Some("rita@example.com".to_owned()),
            source: Some("elsewhere".to_owned()),
            transfer: true,
            special_instructions: Some("be kind".to_owned()),
        },
        ..notification(world, "(11) 98765-4321")
    };
    let again = store(world, again).await;
    assert_eq!(again.contact, first.contact);
    assert_eq!(again.conversation, first.conversation);
    let contact = world.contact(first.contact).await;
    fields!(contact, {"name": "Rita", "email": "rita@example.com"});
    let conversation = conversation_row(world, first.conversation).await;
    fields!(conversation, {"source": "crm", "props": {"specialInstructions": "be kind"}});
    // With another instance it is another conversation.
    let other = Notification {
        channel: other_line(world),
        ..notification(world, PHONE)
    };
    let other = store(world, other).await;
    assert_eq!(other.contact, first.contact);
    assert_ne!(other.conversation, first.conversation);
    let conversation = conversation_row(world, other.conversation).await;
    assert_eq!(conversation["agent_type"], "human");
}

pub async fn a_conversation_is_about_the_named_deal_or_the_newest_open_one(world: &World) {
    let lead_of = || world.bring(with_phone(world.lead(), "+551187654321"));
    let first = lead_of().await;
    world.advance(1).await;
    let second = lead_of().await;
    let new = post(world, PHONE).await;
    let is_same = Some(new.contact) == first.contact_id;
    assert!(is_same, "with and without the ninth digit");
    let deal_of = async || conversation_row(world, new.conversation).await["deal_id"].clone();
    assert_eq!(deal_of().await, json!(second.deal_id));
    // It stays until another one is named.
    world.advance(1).await;
    lead_of().await;
    post(world, PHONE).await;
    assert_eq!(deal_of().await, json!(second.deal_id));
    let named = Notification {
        deal: first.deal_id,
        ..notification(world, PHONE)
    };
    store(world, named).await;
    assert_eq!(deal_of().await, json!(first.deal_id));
}

pub async fn a_contact_who_opted_out_is_sent_nothing_and_nothing_is_stored(world: &World) {
    world.item(consent(world, PHONE, true, world.now())).await;
    assert_eq!(notify(world, urgent(world, PHONE)).await, Notified::Banned);
    for entity in [Entity::Conversations, Entity::Messages] {
        assert_eq!(world.all(entity).await.len(), 0);
    }
    let contacts = world.all(Entity::Contacts).await;
    fields!(contacts, {"0.banned_at": world.now(), "0.name": null});
}

pub async fn two_notifications_of_one_batch_make_one_contact_and_one_conversation(world: &World) {
    let writes = [PHONE, "11 98765 4321"].map(|to| notify_write(notification(world, to)));
    let written = world.commit(&writes).await;
    let [one, two] = [0, 1].map(|at| stored(written[at].clone()));
    assert_ne!(one.message, two.message);
    assert_eq!(one.contact, two.contact);
    assert_eq!(one.conversation, two.conversation);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
    assert_eq!(world.all(Entity::Conversations).await.len(), 1);
    assert_eq!(world.all(Entity::Messages).await.len(), 2);
}

pub async fn a_message_that_has_to_wait_is_not_sent_at_once(world: &World) {
    let new = out(world, "w1").await;
    // A hold comes with the settlement of a message.
    let bring = async |contact: Option<ContactId>, seconds: i64, to: &str| {
        let carrier = send(world, to).await.message;
        let later = SendOutcome::Later {
            at: world.now().plus_seconds(DAY),
            error: error("130429", Category::ThrottledNumber),
        };
        let hold = hold(world, contact, world.now().plus_seconds(seconds));
        settle_with(world, carrier, 0, later, |sent| sent.holds = vec![hold]).await;
    };
    bring(Some(new.contact), 60, "+5511987650001").await;
    let waits = send(world, PHONE).await;
    assert_eq!(waits.state, MessageState::Waiting);
    let elsewhere = send(world, "+5511987650002").await;
    assert_eq!(elsewhere.state, MessageState::Sending);
    accept_send(world, &elsewhere, "w2").await;
    assert!(world.claim(10).await.is_empty(), "it is not due before");
    world.advance(60).await;
    assert_eq!(claim_send(world).await.message, waits.message);
    assert_eq!(send(world, PHONE).await.state, MessageState::Sending);
    // A shorter hold does not shorten a longer one.
    bring(None, 120, "+5511987650003").await;
    let short = post(world, "+5511987650004").await;
    assert_eq!(short.state, MessageState::Waiting);
    world.advance(119).await;
    assert_eq!(send(world, PHONE).await.state, MessageState::Waiting);
    world.advance(1).await;
    assert_eq!(send(world, PHONE).await.state, MessageState::Sending);
}

async fn claim_of(world: &World, fingerprint: &str) -> IdempotencyClaim {
    super::super::deals::claim(world, "send-notification", fingerprint).await
}

fn keyed(world: &World, claim: &IdempotencyClaim) -> Notification {
    Notification {
        idempotency: Some(claim.clone()),
        ..urgent(world, PHONE)
    }
}

fn answer(body: &str) -> StoredAnswer {
    StoredAnswer {
        status: 200,
        headers: vec![("x-message-status".to_owned(), "accepted".to_owned())],
        body: body.to_owned(),
    }
}

pub async fn a_repeated_key_sends_nothing_and_gets_the_same_answer(world: &World) {
    let claim = claim_of(world, "aa").await;
    let again = async || notify(world, keyed(world, &claim)).await;
    let first = store(world, keyed(world, &claim)).await;
    let running = |alive| Notified::Running {
        conversation: Some(first.conversation),
        message: Some(first.message),
        state: MessageState::Sending,
        alive,
    };
    assert_eq!(again().await, running(true));
    let other_body = keyed(world, &claim_of(world, "bb").await);
    assert_eq!(notify(world, other_body).await, Notified::KeyReused);
    // The holder of the request is dead: only the message's state is known.
    world.advance(61).await;
    assert_eq!(again().await, running(false));
    let lease = claim_send(world).await.lease.0;
    assert_eq!(again().await, running(false), "a worker answers no caller");
    let kept = (claim.key.clone(), answer("{\"success\":true}"));
    let outcome = accepted(world, "w1");
    settle_with(world, first.message, lease, outcome, |sent| {
        sent.answer = Some(kept)
    })
    .await;
    let replayed = Notified::Replayed(answer("{\"success\":true}"));
    assert_eq!(again().await, replayed);
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
    // After its retention the key is free, even if it was not swept yet.
    world.advance(3 * DAY).await;
    let next = store(world, keyed(world, &claim)).await;
    assert_ne!(next.message, first.message);
    assert!(matches!(again().await, Notified::Running { .. }));
}

pub async fn a_key_comes_twice_in_one_batch(world: &World) {
    let claim = claim_of(world, "aa").await;
    let writes = [0, 1].map(|_| notify_write(keyed(world, &claim)));
    let mut written = world.commit(&writes).await;
    let repeat = outcome!(written.remove(1), Notified);
    let first = stored(written.remove(0)).message;
    assert!(matches!(
        repeat,
        Notified::Running { message, alive: true, .. } if message == Some(first)
    ));
}

pub async fn an_answer_without_a_message_is_remembered_once(world: &World) {
    let ask = async |fingerprint: &str, answer| {
        let claim = claim_of(world, fingerprint).await;
        let write = Write::Remember(Box::new(NewStoredAnswer { claim, answer }));
        outcome!(world.write(write).await, Remembered)
    };
    let remember = async |fingerprint: &str, body: &str| ask(fingerprint, Some(answer(body))).await;
    assert_eq!(ask("aa", None).await, None, "nothing is known");
    assert_eq!(remember("aa", "one").await, None, "to look keeps nothing");
    let one = Notified::Replayed(answer("one"));
    assert_eq!(remember("aa", "two").await, Some(one.clone()));
    assert_eq!(ask("aa", None).await, Some(one.clone()));
    assert_eq!(remember("bb", "two").await, Some(Notified::KeyReused));
    let keyed = keyed(world, &claim_of(world, "aa").await);
    assert_eq!(notify(world, keyed).await, one);
    assert!(world.all(Entity::Messages).await.is_empty());
}
