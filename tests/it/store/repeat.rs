//! A repeated lead is one lead.

use super::world::*;

const WINDOW: Duration = Duration::from_mins(10);

fn by_content(world: &World) -> NewLead {
    NewLead {
        dedupe: Some(DedupeKey {
            key: "content:abc".to_owned(),
            window: Some(WINDOW),
        }),
        ..world.lead()
    }
}

pub async fn a_repeat_is_a_duplicate_of_the_first(world: &World) {
    let with = |phone| world.bring(with_phone(world.known_as("L1"), phone));
    let first = with("+551191").await;
    world.advance(365 * DAY).await;
    let again = with("+551192").await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    assert_eq!(again.deal_id, first.deal_id);
    assert_eq!(again.contact_id, first.contact_id);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
}

pub async fn a_repeat_within_one_batch_or_one_delivery_is_a_duplicate(world: &World) {
    let new = || lead(world.known_as("L1"));
    let writes = [world.accept(vec![new(), new()]), world.accept(vec![new()])];
    let written = world.commit(&writes).await;
    let outcomes: Vec<_> = written.into_iter().map(done).collect();
    assert_eq!(outcomes[0].status, DeliveryStatus::Converted);
    assert_eq!(outcomes[1].status, DeliveryStatus::Duplicate);
    let first = &outcomes[0].items[0];
    for repeat in [&outcomes[0].items[1], &outcomes[1].items[0]] {
        assert_eq!(repeat.status, ItemStatus::Duplicate);
        assert_eq!(repeat.deal_id, first.deal_id);
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn the_same_key_at_another_connection_is_another_lead(world: &World) {
    world.bring(world.known_as("L1")).await;
    let mut other = world.known_as("L1");
    other.connection = world.portal.clone();
    let item = world.bring(other).await;
    assert_eq!(item.status, ItemStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn leads_without_a_key_are_never_repeats(world: &World) {
    for _ in 0..2 {
        let item = world.bring(world.lead()).await;
        assert_eq!(item.status, ItemStatus::Converted);
    }
    assert_eq!(world.all(Entity::Contacts).await.len(), 2);
}

pub async fn a_content_key_holds_for_its_window_from_the_owners_time(world: &World) {
    let first = world.bring(by_content(world)).await;
    world.advance(599).await;
    let within = world.bring(by_content(world)).await;
    assert_eq!(within.status, ItemStatus::Duplicate);
    assert_eq!(within.deal_id, first.deal_id);
    // A repeat does not extend the window.
    world.advance(1).await;
    let past = world.bring(by_content(world)).await;
    assert_eq!(past.status, ItemStatus::Converted);
    assert_ne!(past.deal_id, first.deal_id);
    world.advance(300).await;
    let after = world.bring(by_content(world)).await;
    assert_eq!(after.deal_id, past.deal_id, "the key was taken over");
}

pub async fn an_update_changes_the_fields_that_the_source_sends(world: &World) {
    let new = titled(world.known_as("L1"), "Flat");
    let mut new = with_phone(new, "+551191");
    new.name = Some("Rita".to_owned());
    new.deal_props = object(json!({"message": "Oi", "budget": 1}));
    let first = world.bring(new.clone()).await;
    world.advance(60).await;
    let mut new = updating(new);
    new.name = Some("Rita Lima".to_owned());
    new.deal_props = object(json!({"message": "Alô", "floor": 3}));
    new.products = vec!["P-1".to_owned()];
    let update = world.bring(new.clone()).await;
    assert_eq!(update.status, ItemStatus::Updated);
    assert_eq!(update.deal_id, first.deal_id);
    let mut fields: Vec<_> = update.diff.iter().map(|d| d.field.as_str()).collect();
    fields.sort_unstable();
    let expect = [
        "contact.name",
        "deal.product",
        "deal.props.floor",
        "deal.props.message",
    ];
    assert_eq!(fields, expect);
    assert!(update.diff.iter().all(|d| d.applied && !d.edited_by_person));
    fields!(world.deal(first.deal_id.unwrap()).await, {
        "props": {"message": "Alô", "budget": 1, "floor": 3}, "title": "Flat",
        "cursor_at": world.now(), "updated_at": world.now(), "created_at": START,
    });
    assert_eq!(world.all(Entity::Contacts).await[0]["name"], "Rita Lima");
    // A repeated update changes nothing and stamps nothing.
    world.advance(60).await;
    let before = world.clock(Entity::Deals).await;
    let repeat = world.bring(new).await;
    assert_eq!(repeat.status, ItemStatus::Duplicate);
    assert!(repeat.diff.is_empty());
    assert_eq!(world.clock(Entity::Deals).await, before);
}

pub async fn an_update_that_does_not_fit_its_deal_is_reported_in_the_notes(world: &World) {
    let long = |bytes: usize| "x".repeat(bytes);
    let mut new = world.known_as("L1");
    new.deal_props = object(json!({"message": long(30_000), "attributes": {"a": long(20_000)}}));
    let first = world.bring(new.clone()).await;
    new.action = Action::Update;
    new.deal_props = object(json!({"attributes": {"a": long(40_000)}, "source": "site"}));
    let outcome = world.deliver(vec![lead(new.clone())]).await;
    assert_eq!(outcome.items[0].status, ItemStatus::Updated);
    let shown = async || world.deal(first.deal_id.unwrap()).await;
    fields!(shown().await, {
        "props.source": "site", "props.attributes.a": long(20_000), "props.message": long(30_000),
    });
    let notes = world.detail(outcome.delivery).await.notes;
    assert_eq!(
        notes,
        [
            "read as a form",
            "lead L1: some values are longer than a lead keeps (a deal's properties 65536 bytes, and its message 32768 of them), so these are only in the raw delivery: deal.props.attributes"
        ]
    );
    // A smaller value is always accepted.
    new.deal_props = object(json!({"message": "short", "attributes": {"a": long(40_000)}}));
    let outcome = world.deliver(vec![lead(new)]).await;
    let notes = world.detail(outcome.delivery).await.notes;
    assert_eq!(notes, ["read as a form"]);
    let shown = world.deal(first.deal_id.unwrap()).await;
    fields!(shown, {"props.message": "short", "props.attributes.a": long(40_000)});
}

pub async fn an_update_of_an_unknown_lead_creates_it(world: &World) {
    let item = world.bring(updating(world.known_as("L1"))).await;
    assert_eq!(item.status, ItemStatus::Converted);
    let repeat = world.bring(world.known_as("L1")).await;
    assert_eq!(repeat.deal_id, item.deal_id);
}

fn deleting(world: &World) -> NewLead {
    let action = Action::Delete;
    NewLead {
        action,
        ..world.known_as("L1")
    }
}

pub async fn a_delete_marks_the_deal_once(world: &World) {
    let first = world.bring(world.known_as("L1")).await;
    world.advance(1).await;
    let item = world.bring(deleting(world)).await;
    assert_eq!(item.status, ItemStatus::Updated);
    let deal = world.deal(first.deal_id.unwrap()).await;
    fields!(deal, {"props": {"sourceDeleted": true}, "cursor_at": world.now()});
    let again = world.bring(deleting(world)).await;
    assert_eq!(again.status, ItemStatus::Duplicate);
}

pub async fn a_delete_of_an_unknown_lead_is_ignored(world: &World) {
    let item = world.bring(deleting(world)).await;
    assert_eq!(item.status, ItemStatus::Ignored);
    assert!(item.message.is_some());
    assert!(world.all(Entity::Deals).await.is_empty());
}
