//! The greeting of a new lead: stored in the commit that creates its deal.

use leadhost_domain::lead::Action;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use serde_json::json;

use super::super::world::*;
use super::*;

fn greeted(world: &World, lead: NewLead, number: &str) -> NewLead {
    let mut lead = with_phone(lead, number);
    lead.deal_props = object(json!({"source": "portal ads"}));
    lead.greeting = Some(Box::new(NewGreeting {
        channel: line(world),
        message: message(world),
        transfer: false,
        template: "welcome".to_owned(),
        adapter: "sandbox".to_owned(),
        instance: "line".to_owned(),
    }));
    lead
}

pub async fn lead_deal_conversation_and_message_come_from_one_webhook(world: &World) {
    let item = world
        .bring(greeted(world, world.known_as("L1"), PHONE))
        .await;
    let conversations = world.all(Entity::Conversations).await;
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0]["deal_id"], json!(item.deal_id));
    assert_eq!(conversations[0]["contact_id"], json!(item.contact_id));
    assert_eq!(conversations[0]["source"], "portal ads");
    let held = claim_send(world).await;
    assert_eq!(held.recipient, PHONE);
    let row = message_row(world, held.message).await;
    assert_eq!(row["metadata"]["status"], "waiting");
    // The same lead again, or an update from its source, is not greeted again.
    for action in [Action::Create, Action::Update] {
        let mut again = greeted(world, world.known_as("L1"), PHONE);
        again.action = action;
        world.bring(again).await;
    }
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
    // Another lead of the same person is greeted, and the conversation is then about
    // that one.
    let second = world
        .bring(greeted(world, world.known_as("L2"), PHONE))
        .await;
    let conversations = world.all(Entity::Conversations).await;
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0]["deal_id"], json!(second.deal_id));
    assert_eq!(world.all(Entity::Messages).await.len(), 2);
}

pub async fn tests_and_contacts_who_cannot_or_will_not_get_messages_are_not_greeted(world: &World) {
    let mut test = greeted(world, world.known_as("test"), PHONE);
    test.deal_props = object(json!({"test": true}));
    world.bring(test).await;
    let mut without = greeted(world, world.known_as("none"), PHONE);
    without.phones.clear();
    without.contact_keys.clear();
    world.bring(without).await;
    let opt_out = Event::Consent {
        contact_keys: notification(world, "+5511987650001").contact_keys,
        opt_out: true,
        at: world.now(),
    };
    world.item(event(line(world), opt_out)).await;
    let mut banned = greeted(world, world.known_as("banned"), "+5511987650001");
    banned.contact_keys = notification(world, "+5511987650001").contact_keys;
    world.bring(banned).await;
    assert_eq!(world.all(Entity::Deals).await.len(), 3);
    assert!(world.all(Entity::Conversations).await.is_empty());
    assert!(world.all(Entity::Messages).await.is_empty());
    assert!(world.claim(10).await.is_empty());
}
