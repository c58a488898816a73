//! The export: complete, ordered, bounded.

use super::world::*;

async fn leads(world: &World, count: usize) {
    let items = (0..count)
        .map(|number| lead(with_phone(world.lead(), &format!("+5511{number:07}"))))
        .collect();
    world.deliver(items).await;
}

pub async fn an_empty_feed_is_an_empty_page_at_zero(world: &World) {
    for entity in Entity::ALL {
        if is_followed_within(entity) {
            continue;
        }
        let page = world.page(entity, 0, None, 10).await;
        assert!(page.rows.is_empty() && !page.more);
        assert_eq!((page.upper, page.clock), (0, 0));
    }
}

fn is_followed_within(entity: Entity) -> bool {
    matches!(entity, Entity::Tickets | Entity::Products)
}

pub async fn internal_feeds_are_never_exported(world: &World) {
    for entity in Entity::ALL.into_iter().filter(|e| is_followed_within(*e)) {
        let page = world.export(&world.scope, entity, 0, None, 10).await;
        assert!(page.is_err(), "{entity:?}");
    }
}

pub async fn every_key_is_on_every_row(world: &World) {
    world.bring(world.lead()).await;
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    let of_contact = keys(&world.all(Entity::Contacts).await[0]);
    let expect = "banned_at cursor_at email id name phone_number props workspace_id";
    assert_eq!(of_contact, expect);
    let deal = &world.all(Entity::Deals).await[0];
    let expect = "agent_id created_at cursor_at external_id id owner_id person_id product_id \
         props stage_code status title updated_at workspace_id";
    assert_eq!(keys(deal), expect);
    assert_eq!(deal["workspace_id"], json!(world.workspace));
}

/// Rows of any size: a page has this many bytes of them, or one row.
pub async fn a_page_of_long_rows_ends_at_its_bytes_and_the_next_continues(world: &World) {
    let part = limits::EXPORT_PAGE_BYTES / 10;
    let tenths = [4, 4, 1, 4, 9, 12, 1, 1, 1];
    for tenths in tenths {
        let mut new = world.lead();
        new.deal_props = object(json!({"message": "x".repeat(tenths * part)}));
        world.long_items(vec![lead(new)]).await;
    }
    let sizes = async |limit: u32| {
        let (mut found, mut after, mut upper) = (Vec::new(), 0, None);
        loop {
            let page = world.page(Entity::Deals, after, upper, limit).await;
            let rows = page.rows.iter().map(|row| row.bytes / part);
            found.push(rows.collect::<Vec<_>>());
            let last = page.rows.last().expect("a row");
            (after, upper) = (last.stamp, Some(page.upper));
            if !page.more {
                return found;
            }
        }
    };
    let by_bytes = [vec![4, 4, 1], vec![4], vec![9], vec![12], vec![1, 1, 1]];
    assert_eq!(sizes(100).await, by_bytes);
    assert_eq!(sizes(3).await, by_bytes);
    let by_rows = [
        vec![4, 4],
        vec![1, 4],
        vec![9],
        vec![12],
        vec![1, 1],
        vec![1],
    ];
    assert_eq!(sizes(2).await, by_rows);
    // A text that grows when it is written as JSON ends a page as well.
    let mut new = world.lead();
    let after = world.clock(Entity::Deals).await;
    new.title = Some("\u{1}".repeat(limits::EXPORT_PAGE_BYTES / 8));
    world.long_items(vec![lead(new.clone())]).await;
    world.long_items(vec![lead(new)]).await;
    let page = world.page(Entity::Deals, after, None, 100).await;
    assert_eq!((page.rows.len(), page.more), (1, true));
    let after = page.rows[0].stamp;
    let page = world.page(Entity::Deals, after, None, 100).await;
    assert_eq!((page.rows.len(), page.more), (1, false));
}

pub async fn rows_of_a_batch_are_stamped_in_the_order_of_its_items(world: &World) {
    let items = (0..20).map(|n| lead(world.known_as(&format!("L{n:02}"))));
    world.deliver(items.collect()).await;
    let deals = world.all(Entity::Deals).await;
    let ids: Vec<_> = deals
        .iter()
        .map(|deal| deal["external_id"].text())
        .collect();
    let expect: Vec<_> = (0..20).map(|n| format!("L{n:02}")).collect();
    assert_eq!(ids, expect);
}

pub async fn the_clock_does_not_run_ahead_by_the_size_of_a_batch(world: &World) {
    leads(world, 100).await;
    let first = world.clock(Entity::Deals).await;
    assert_eq!(first, START.0, "the last row of the batch has the time");
    world.advance(1).await;
    leads(world, 100).await;
    let second = world.clock(Entity::Deals).await;
    assert_eq!(second, START.plus(Duration::from_secs(1)).0);
}

pub async fn a_clock_that_stands_or_steps_back_still_gives_new_stamps(world: &World) {
    leads(world, 10).await;
    let before = world.clock(Entity::Deals).await;
    world.advance(-3_600).await;
    leads(world, 10).await;
    let page = world.page(Entity::Deals, before, None, 100).await;
    assert_eq!(page.rows.len(), 10);
    assert_eq!(page.clock, before + 10);
}

pub async fn each_entity_has_a_clock_of_its_own(world: &World) {
    world.bring(with_phone(world.lead(), "+551191")).await;
    let contacts = world.clock(Entity::Contacts).await;
    world.advance(1).await;
    world.bring(with_phone(world.lead(), "+551191")).await;
    assert_eq!(world.clock(Entity::Contacts).await, contacts);
    assert!(world.clock(Entity::Deals).await > contacts);
}

pub async fn texts_are_exported_letter_by_letter(world: &World) {
    // Digits, exponents and characters that a database might normalise.
    let text = r#"{"a":1.50,"big":123456789012345678901234567890,"deep":[{"b":[],"a":null}],"e":1E3,"far":1e400,"minus":-0.0,"text":"\u0001\u2028\"\\ é 😀"}"#;
    let mut new = world.known_as("L1");
    new.deal_props = serde_json::from_str(text).expect("an object");
    // Numbers that a double would change are texts with the same digits.
    let mut expect = Value::Object(new.deal_props.clone());
    leadhost_domain::json::exact(&mut expect);
    world.bring(new).await;
    let page = world.page(Entity::Deals, 0, None, 10).await;
    let json = page.texts()[0];
    has!(json, &format!("\"props\":{expect}"));
    has!(
        json,
        ":1.50,",
        ":\"1e+400\",",
        ":\"123456789012345678901234567890\","
    );
}
