//! A delivery and its leads, for the first time.

use leadhost::domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost::domain::row::Entity;
use serde_json::json;

use super::world::*;

pub async fn a_lead_becomes_a_contact_and_a_deal(world: &World) {
    let mut new = with_phone(world.known_as("L1"), "+5511987654321");
    new = with_email(new, "rita@example.com");
    new.name = Some("Rita".to_owned());
    new.title = Some("Garden flat".to_owned());
    new.products = vec!["P-0".to_owned(), "P-1".to_owned()];
    new.deal_props = object(json!({"message": "Oi", "score": 12345678901234567890123_f64}));
    new.contact_props = object(json!({"city": "Recife"}));
    let outcome = world.commit_one(world.accept(vec![lead(new)])).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let item = &outcome.items[0];
    assert_eq!(item.status, ItemStatus::Converted);
    let deals = world.all(Entity::Deals).await;
    let contacts = world.all(Entity::Contacts).await;
    assert_eq!((deals.len(), contacts.len()), (1, 1));
    assert_eq!(deals[0]["id"], json!(item.deal_id));
    assert_eq!(deals[0]["person_id"], contacts[0]["id"]);
    assert_eq!(contacts[0]["id"], json!(item.contact_id));
    assert_eq!(contacts[0]["phone_number"], "+5511987654321");
    assert_eq!(contacts[0]["email"], "rita@example.com");
    assert_eq!(contacts[0]["name"], "Rita");
    assert_eq!(contacts[0]["props"], json!({"city": "Recife"}));
    assert_eq!(deals[0]["status"], "open");
    assert_eq!(deals[0]["stage_code"], "in_qualification");
    assert_eq!(deals[0]["title"], "Garden flat");
    assert_eq!(deals[0]["external_id"], "L1");
    assert_eq!(deals[0]["agent_id"], json!(world.first_agent));
    assert!(deals[0]["product_id"].is_string());
    assert_eq!(deals[0]["created_at"], json!(START));
    assert_eq!(deals[0]["cursor_at"], json!(START));
    assert_eq!(deals[0]["props"]["message"], "Oi");
}

pub async fn an_empty_body_and_odd_characters_come_back_as_they_were(world: &World) {
    let odd = "a\0b \u{1F600} \"quoted\" \\ \u{2028} end";
    let mut first = world.delivery();
    first.body = Vec::new();
    first.path = odd.to_owned();
    first.headers = vec![(odd.to_owned(), odd.to_owned())];
    let mut second = world.delivery();
    second.body = vec![0, 255, 128, 0];
    let mut new = world.lead();
    new.name = Some(odd.to_owned());
    new.deal_props = object(json!({ odd: odd }));
    let writes = [
        world.accept_as(first.clone(), Vec::new()),
        world.accept_as(second.clone(), vec![lead(new)]),
    ];
    world.commit(&writes).await;
    let detail = world.detail(first.id).await;
    assert_eq!(detail.request.body, first.body);
    assert_eq!(detail.request.path, odd);
    assert_eq!(detail.request.headers, first.headers);
    assert_eq!(detail.request.query, first.query);
    assert_eq!(world.detail(second.id).await.request.body, second.body);
    assert_eq!(world.all(Entity::Contacts).await[0]["name"], odd);
    assert_eq!(world.all(Entity::Deals).await[0]["props"][odd], odd);
}
