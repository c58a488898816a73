//! The first acceptance of a delivery and its leads.

use super::world::*;

pub async fn a_lead_becomes_a_contact_and_a_deal(world: &World) {
    let new = titled(world.known_as("L1"), "Garden flat");
    let mut new = with_email(with_phone(new, "+5511987654321"), "rita@example.com");
    new.name = Some("Rita".to_owned());
    new.products = vec!["P-0".to_owned(), "P-1".to_owned()];
    new.deal_props = object(json!({"message": "Oi", "score": 12345678901234567890123_f64}));
    new.contact_props = object(json!({"city": "Recife"}));
    let outcome = world.deliver(vec![lead(new)]).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let item = &outcome.items[0];
    assert_eq!(item.status, ItemStatus::Converted);
    let deals = world.all(Entity::Deals).await;
    let contacts = world.all(Entity::Contacts).await;
    assert_eq!((deals.len(), contacts.len()), (1, 1));
    fields!(contacts[0], {
        "id": item.contact_id, "phone_number": "+5511987654321", "email": "rita@example.com",
        "name": "Rita", "props": {"city": "Recife"},
    });
    fields!(deals[0], {
        "id": item.deal_id, "person_id": contacts[0]["id"], "status": "open",
        "stage_code": "in_qualification", "title": "Garden flat", "external_id": "L1",
        "agent_id": world.first_agent, "created_at": START, "cursor_at": START,
        "props.message": "Oi",
    });
    assert!(deals[0]["product_id"].is_string());
}

pub async fn an_empty_body_and_odd_characters_come_back_as_they_were(world: &World) {
    // A path and a lead cannot contain the zero character, but a delivery can.
    let odd = "a\u{1}b \u{1F600} \"quoted\" \\ \u{2028} end";
    let raw = "a\0b";
    let mut first = world.delivery();
    first.body = Default::default();
    first.path = odd.to_owned();
    first.headers = vec![(odd.to_owned(), raw.to_owned())];
    first.query = vec![(raw.to_owned(), odd.to_owned())];
    let mut second = world.delivery();
    second.body = vec![0_u8, 255, 128, 0].into();
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

pub async fn a_lead_goes_to_the_agent_it_names(world: &World) {
    let mut new = world.lead();
    new.agent = Some(world.second_agent);
    let item = world.bring(new).await;
    let deal = world.deal(item.deal_id.unwrap()).await;
    fields!(deal, {"agent_id": world.second_agent, "product_id": null, "external_id": null});
}

pub async fn one_bad_item_does_not_harm_the_others(world: &World) {
    let items = vec![
        ItemResult::Invalid(InputProblem {
            message: "no phone".to_owned(),
            path: "leads[0]".to_owned(),
        }),
        lead(world.known_as("L1")),
        ItemResult::Ignored("a test ping".to_owned()),
        ItemResult::Unrouted("page 7".to_owned()),
    ];
    let outcome = world.deliver(items).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let expect = [
        ItemStatus::Invalid,
        ItemStatus::Converted,
        ItemStatus::Ignored,
        ItemStatus::Unrouted,
    ];
    assert_eq!(statuses(&outcome.items), expect);
    let message = outcome.items[0].message.as_deref();
    assert_eq!(message, Some("leads[0]: no phone"));
    let detail = world.detail(outcome.delivery).await;
    assert_eq!(detail.items, outcome.items);
    assert_eq!(detail.summary.items, 4);
    assert_eq!(detail.notes, ["read as a form"]);
    assert_eq!(detail.summary.ran, Some(ran("1")));
}

pub async fn a_delivery_is_kept_in_the_given_state(world: &World) {
    for status in [
        DeliveryStatus::Queued,
        DeliveryStatus::Failed,
        DeliveryStatus::Parked,
        DeliveryStatus::Rejected,
        DeliveryStatus::Quarantined,
    ] {
        let outcome = world.commit_one(world.accept_with(status)).await;
        assert_eq!(outcome.status, status);
        let detail = world.detail(outcome.delivery).await;
        assert_eq!(detail.summary.status, status);
        assert_eq!(detail.summary.error.as_deref(), Some("why"));
        assert!(detail.items.is_empty());
    }
    assert!(world.all(Entity::Deals).await.is_empty());
}

pub async fn a_batch_with_a_wrong_write_leaves_nothing(world: &World) {
    let first = world.delivery();
    let items = vec![lead(with_phone(world.known_as("L1"), "+551190"))];
    let writes = [
        world.accept_as(first.clone(), items),
        world.accept(world.leads(["L2"])),
        // The same delivery twice: a defect of the caller.
        world.accept_as(first.clone(), Vec::new()),
    ];
    let before = world.clock(Entity::Deals).await;
    assert!(world.store.commit(&writes).await.is_err());
    assert!(!world.is_kept(first.id).await);
    assert!(world.all(Entity::Deals).await.is_empty());
    assert!(world.all(Entity::Contacts).await.is_empty());
    assert_eq!(world.clock(Entity::Deals).await, before);
    // No keys either: the same leads are new.
    let outcome = world.deliver(world.leads(["L1"])).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
}

pub async fn no_writes_are_no_commit(world: &World) {
    assert!(world.commit(&[]).await.is_empty());
    let nowhere = DeliveryId::new(world.now());
    assert!(!world.is_kept(nowhere).await);
}

/// A commit whose future is dropped at any point happens completely or not at all,
/// and the next one finds the store consistent.
pub async fn a_commit_that_is_dropped_half_way_harms_nothing(world: &World) {
    for step in 0..60 {
        let delivery = world.delivery();
        let id = delivery.id;
        let write = [world.accept_as(delivery, vec![lead(world.lead())])];
        let commit = world.store.commit(&write);
        let dropped = tokio::time::timeout(Duration::from_micros(step * 100), commit).await;
        let item = world.bring(world.lead()).await;
        assert_eq!(item.status, ItemStatus::Converted);
        let stored = world.store.delivery(id).await.unwrap();
        if dropped.is_ok() {
            assert!(stored.is_some());
        }
        if let Some(stored) = stored {
            let deal = stored.items[0].deal_id.unwrap();
            world.deal(deal).await;
        }
    }
}
