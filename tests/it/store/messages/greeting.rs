//! The greeting of a new lead: stored in the commit that creates its deal.

use super::*;

fn greeted(world: &World, external_id: &str, number: &str) -> NewLead {
    let mut lead = with_phone(world.known_as(external_id), number);
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
    let talks = async || world.all(Entity::Conversations).await;
    let item = world.bring(greeted(world, "L1", PHONE)).await;
    fields!(talks().await, {
        "0.deal_id": item.deal_id, "0.contact_id": item.contact_id, "0.source": "portal ads",
    });
    let held = claim_send(world).await;
    assert_eq!(held.recipient, PHONE);
    fields!(metadata(world, held.message).await, {"status": "waiting"});
    // The same lead again, or an update from its source, is not greeted again.
    let again = greeted(world, "L1", PHONE);
    world.bring(again.clone()).await;
    world.bring(updating(again)).await;
    assert_eq!(world.all(Entity::Messages).await.len(), 1);
    // Another lead of the same person is greeted, and the conversation is then about
    // that one.
    let second = world.bring(greeted(world, "L2", PHONE)).await;
    assert_eq!(talks().await.len(), 1);
    fields!(talks().await, {"0.deal_id": second.deal_id});
    assert_eq!(world.all(Entity::Messages).await.len(), 2);
}

pub async fn tests_and_contacts_who_cannot_or_will_not_get_messages_are_not_greeted(world: &World) {
    let mut test = greeted(world, "test", PHONE);
    test.deal_props = object(json!({"test": true}));
    world.bring(test).await;
    let mut without = greeted(world, "none", PHONE);
    without.phones.clear();
    without.contact_keys.clear();
    world.bring(without).await;
    let to = "+5511987650001";
    world.item(consent(world, to, true, world.now())).await;
    let mut banned = greeted(world, "banned", to);
    banned.contact_keys = notification(world, to).contact_keys;
    world.bring(banned).await;
    assert_eq!(world.all(Entity::Deals).await.len(), 3);
    assert!(world.all(Entity::Conversations).await.is_empty());
    assert!(world.all(Entity::Messages).await.is_empty());
    assert!(world.claim(10).await.is_empty());
}
