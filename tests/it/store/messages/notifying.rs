//! A notification: the rows that it stores before anything is sent, and its
//! idempotency key.

use std::time::Duration;

use leadhost_domain::id::PartnerId;
use leadhost_domain::message::MessageState;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::fields;
use serde_json::json;

use super::super::world::*;
use super::*;

pub async fn a_notification_is_a_contact_a_conversation_and_a_message_on_its_way(world: &World) {
    let mut new = urgent(world, PHONE);
    new.details.email = Some("rita@example.com".to_owned());
    new.details.special_instructions = Some("be brief".to_owned());
    let new = store(world, new).await;
    assert_eq!(new.state, MessageState::Sending);
    assert_eq!(new.recipient, PHONE);
    let contact = row(world, Entity::Contacts, new.contact).await;
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
    let new = store(world, notification(world, PHONE)).await;
    assert_eq!(new.state, MessageState::Waiting);
    let held = claim_send(world).await;
    assert_eq!(held.message, new.message);
    assert_eq!(
        (held.conversation, held.contact),
        (new.conversation, new.contact)
    );
    assert_eq!((held.recipient.as_str(), held.attempts), (PHONE, 0));
    assert_eq!(held.payload, message(world).payload);
    assert_eq!(held.connection, world.site);
    assert_eq!(held.until, world.now().plus(Duration::from_hours(24)));
    assert!(!held.was_sending);
    assert_eq!(held.held_until, None);
}

pub async fn a_notification_continues_the_open_conversation(world: &World) {
    let first = store(world, notification(world, PHONE)).await;
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
    assert_eq!(
        (again.contact, again.conversation),
        (first.contact, first.conversation)
    );
    let contact = row(world, Entity::Contacts, first.contact).await;
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
    let new = store(world, notification(world, PHONE)).await;
    assert_eq!(
        Some(new.contact),
        first.contact_id,
        "with and without the ninth digit"
    );
    let deal_of = async || conversation_row(world, new.conversation).await["deal_id"].clone();
    assert_eq!(deal_of().await, json!(second.deal_id));
    // It stays until another one is named.
    world.advance(1).await;
    lead_of().await;
    store(world, notification(world, PHONE)).await;
    assert_eq!(deal_of().await, json!(second.deal_id));
    let named = Notification {
        deal: first.deal_id,
        ..notification(world, PHONE)
    };
    store(world, named).await;
    assert_eq!(deal_of().await, json!(first.deal_id));
}

pub async fn a_contact_who_opted_out_is_sent_nothing_and_nothing_is_stored(world: &World) {
    let opt_out = Event::Consent {
        contact_keys: notification(world, PHONE).contact_keys,
        opt_out: true,
        at: world.now(),
    };
    world.item(event(line(world), opt_out)).await;
    assert_eq!(notify(world, urgent(world, PHONE)).await, Notified::Banned);
    for entity in [Entity::Conversations, Entity::Messages] {
        assert_eq!(world.all(entity).await.len(), 0);
    }
    let contacts = world.all(Entity::Contacts).await;
    fields!(contacts, {"0.banned_at": world.now(), "0.name": null});
}

pub async fn two_notifications_of_one_batch_make_one_contact_and_one_conversation(world: &World) {
    let writes =
        [PHONE, "11 98765 4321"].map(|to| Write::Notify(Box::new(notification(world, to))));
    let written = world.commit(&writes).await;
    let [one, two] = [0, 1].map(|at| stored(notified(written[at].clone())));
    assert_ne!(one.message, two.message);
    assert_eq!(
        (one.contact, one.conversation),
        (two.contact, two.conversation)
    );
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
    assert_eq!(world.all(Entity::Conversations).await.len(), 1);
    assert_eq!(world.all(Entity::Messages).await.len(), 2);
}

pub async fn a_message_that_has_to_wait_is_not_sent_at_once(world: &World) {
    let new = out(world, "w1").await;
    let hold = |contact, seconds| SendHold {
        connection: world.site.clone(),
        contact,
        until: world.now().plus_seconds(seconds),
    };
    // The holds come with the settlement of a message.
    let bring = async |holds: Vec<SendHold>, to: &str| {
        let carrier = store(world, urgent(world, to)).await;
        let later = SendOutcome::Later {
            at: world.now().plus(Duration::from_hours(24)),
            error: error("130429", Category::ThrottledNumber),
        };
        let mut write = sent(line(world), carrier.message, 0, later);
        if let Write::Sent(settlement) = &mut write {
            settlement.holds = holds;
        }
        world.commit(&[write]).await;
    };
    bring(vec![hold(Some(new.contact), 60)], "+5511987650001").await;
    let waits = store(world, urgent(world, PHONE)).await;
    assert_eq!(waits.state, MessageState::Waiting);
    let elsewhere = store(world, urgent(world, "+5511987650002")).await;
    assert_eq!(elsewhere.state, MessageState::Sending);
    settle_send(world, elsewhere.message, 0, accepted(world, "w2")).await;
    assert!(world.claim(10).await.is_empty(), "it is not due before");
    world.advance(60).await;
    assert_eq!(claim_send(world).await.message, waits.message);
    assert_eq!(
        store(world, urgent(world, PHONE)).await.state,
        MessageState::Sending
    );
    // A shorter hold does not shorten a longer one.
    bring(vec![hold(None, 120)], "+5511987650003").await;
    let short = store(world, notification(world, "+5511987650004")).await;
    assert_eq!(short.state, MessageState::Waiting);
    world.advance(119).await;
    assert_eq!(
        store(world, urgent(world, PHONE)).await.state,
        MessageState::Waiting
    );
    world.advance(1).await;
    assert_eq!(
        store(world, urgent(world, PHONE)).await.state,
        MessageState::Sending
    );
}

async fn partner(world: &World) -> PartnerId {
    let partners = world.partners(world.workspace).await;
    partners.expect("it lists")[0].id
}

async fn claim_of(world: &World, key: &str, fingerprint: &str) -> IdempotencyClaim {
    IdempotencyClaim {
        key: IdempotencyKey {
            workspace: world.workspace,
            partner: partner(world).await,
            route: "send-notification".to_owned(),
            key: key.to_owned(),
        },
        fingerprint: fingerprint.to_owned(),
        retention: Duration::from_hours(72),
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
    let claim = claim_of(world, "k1", "aa").await;
    let keyed = || Notification {
        idempotency: Some(claim.clone()),
        ..urgent(world, PHONE)
    };
    let first = store(world, keyed()).await;
    let running = |alive| Notified::Running {
        conversation: Some(first.conversation),
        message: Some(first.message),
        state: MessageState::Sending,
        alive,
    };
    assert_eq!(notify(world, keyed()).await, running(true));
    let other_body = Notification {
        idempotency: Some(claim_of(world, "k1", "bb").await),
        ..urgent(world, PHONE)
    };
    assert_eq!(notify(world, other_body).await, Notified::KeyReused);
    // The holder of the request is dead: only the message's state is known.
    world.advance(61).await;
    assert_eq!(notify(world, keyed()).await, running(false));
    let held = claim_send(world).await;
    assert_eq!(
        notify(world, keyed()).await,
        running(false),
        "a worker has no caller to answer"
    );
    let mut write = sent(
        line(world),
        first.message,
        held.lease.0,
        accepted(world, "w1"),
    );
    if let Write::Sent(settlement) = &mut write {
        settlement.answer = Some((claim.key.clone(), answer("{\"success\":true}")));
    }
    world.commit(&[write]).await;
    let replayed = Notified::Replayed(answer("{\"success\":true}"));
    assert_eq!(notify(world, keyed()).await, replayed);
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
    // After its retention the key is free, even if it was not swept yet.
    world.advance(72 * 3_600).await;
    let again = store(world, keyed()).await;
    assert_ne!(again.message, first.message);
    assert!(matches!(
        notify(world, keyed()).await,
        Notified::Running { .. }
    ));
}

pub async fn a_key_comes_twice_in_one_batch(world: &World) {
    let claim = claim_of(world, "k1", "aa").await;
    let write = || {
        Write::Notify(Box::new(Notification {
            idempotency: Some(claim.clone()),
            ..urgent(world, PHONE)
        }))
    };
    let written = world.commit(&[write(), write()]).await;
    let first = stored(notified(written[0].clone()));
    assert!(matches!(
        notified(written[1].clone()),
        Notified::Running { message, alive: true, .. } if message == Some(first.message)
    ));
}

pub async fn an_answer_without_a_message_is_remembered_once(world: &World) {
    let claim = claim_of(world, "k1", "aa").await;
    let ask = async |fingerprint: &str, answer| {
        let claim = claim_of(world, "k1", fingerprint).await;
        let write = Write::Remember(Box::new(NewStoredAnswer { claim, answer }));
        match world.commit(&[write]).await.remove(0) {
            WriteOutcome::Remembered(found) => found,
            other => panic!("{other:?}"),
        }
    };
    let remember = async |fingerprint: &str, body: &str| ask(fingerprint, Some(answer(body))).await;
    assert_eq!(ask("aa", None).await, None, "nothing is known");
    assert_eq!(remember("aa", "one").await, None, "to look keeps nothing");
    let one = Some(Notified::Replayed(answer("one")));
    assert_eq!(remember("aa", "two").await, one);
    assert_eq!(ask("aa", None).await, one);
    assert_eq!(remember("bb", "two").await, Some(Notified::KeyReused));
    let keyed = Notification {
        idempotency: Some(claim),
        ..urgent(world, PHONE)
    };
    assert_eq!(
        notify(world, keyed).await,
        Notified::Replayed(answer("one"))
    );
    assert!(world.all(Entity::Messages).await.is_empty());
}
