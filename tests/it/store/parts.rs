//! A conversion that is too large for one write is committed in parts.

use super::removal;
use super::world::*;

/// Leads of a large delivery.
const LEADS: usize = 70;

/// Makes a delivery that waits for its conversion, and claims it.
async fn waiting(world: &World) -> HeldDelivery {
    let result = ConversionResult {
        next_attempt_at: Some(world.now()),
        ..ended(DeliveryStatus::Queued)
    };
    world.commit_one(accept(world.delivery(), result)).await;
    world.claim_conversion().await
}

fn named(number: usize) -> String {
    format!("L{number}")
}

fn leads(world: &World) -> Vec<ItemResult> {
    (0..LEADS)
        .map(|number| lead(world.known_as(&named(number))))
        .collect()
}

fn parts_of(held: &HeldDelivery, mode: Mode, items: Vec<ItemResult>) -> Vec<Write> {
    let Write::Convert(whole) = convert(held, mode, items) else {
        unreachable!("it converts");
    };
    let parts = whole.in_parts().into_iter();
    parts.map(|part| Write::Convert(Box::new(part))).collect()
}

/// Commits the first two parts of a conversion of these. Returns the others.
async fn cut_off(world: &World, held: &HeldDelivery, items: Vec<ItemResult>) -> Vec<Write> {
    let mut parts = parts_of(held, Mode::Retry, items);
    let rest = parts.split_off(2);
    for part in parts {
        world.commit_one(part).await;
    }
    rest
}

/// The next holder, when the lease has run out.
async fn taken_over(world: &World) -> HeldDelivery {
    world.advance(60).await;
    world.claim_conversion().await
}

/// Commits the parts in sequence. Returns the last outcome.
async fn commit_all(world: &World, parts: Vec<Write>) -> DeliveryOutcome {
    let mut last = None;
    for part in parts {
        last = Some(world.commit_one(part).await);
    }
    last.expect("there are parts")
}

pub async fn a_large_conversion_waits_until_its_last_part_is_there(world: &World) {
    let held = waiting(world).await;
    let mut items = leads(world);
    // A repeat within the delivery, in another part than the original.
    items.push(lead(world.known_as(&named(3))));
    let mut parts = parts_of(&held, Mode::Retry, items);
    assert!(parts.len() > 3, "{}", parts.len());
    assert!(parts.iter().all(|part| part.cost() <= limits::PART_COST));
    let last = parts.pop().expect("a part");
    for part in parts {
        let outcome = world.commit_one(part).await;
        assert_eq!(outcome.status, DeliveryStatus::Queued);
        let stored = world.detail(held.delivery.id).await;
        assert_eq!(stored.summary.status, DeliveryStatus::Queued);
        assert!(stored.next_attempt_at.is_some());
        assert!(world.claim(10).await.is_empty(), "it is held");
    }
    let outcome = world.commit_one(last).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let stored = world.detail(held.delivery.id).await;
    assert_eq!(stored.summary.status, DeliveryStatus::Converted);
    assert_eq!(stored.next_attempt_at, None);
    assert_eq!(stored.summary.ran, Some(ran("1")));
    assert_eq!(stored.items.len(), LEADS + 1);
    let of = |status| {
        let items = stored.items.iter();
        items.filter(|item| item.status == status).count()
    };
    assert_eq!(of(ItemStatus::Converted), LEADS);
    assert_eq!(stored.items[LEADS].status, ItemStatus::Duplicate);
    assert_eq!(stored.items[LEADS].deal_id, stored.items[3].deal_id);
    assert_eq!(world.all(Entity::Deals).await.len(), LEADS);
    assert!(world.claim(10).await.is_empty());
}

pub async fn a_large_conversion_that_was_cut_off_is_finished_by_the_next(world: &World) {
    let first = waiting(world).await;
    let late = cut_off(world, &first, leads(world)).await.remove(0);
    let there = world.all(Entity::Deals).await.len();
    assert!((1..LEADS).contains(&there), "{there}");
    let second = taken_over(world).await;
    assert_eq!(second.delivery.id, first.delivery.id);
    world.assert_stale(late).await;
    let outcome = commit_all(world, parts_of(&second, Mode::Retry, leads(world))).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let stored = world.detail(first.delivery.id).await;
    assert_eq!(stored.items.len(), LEADS);
    let statuses = statuses(&stored.items);
    assert_eq!(statuses, [ItemStatus::Converted; LEADS]);
    assert_eq!(world.all(Entity::Deals).await.len(), LEADS);
}

pub async fn another_version_that_numbers_leads_differently_makes_none_twice(world: &World) {
    let first = waiting(world).await;
    cut_off(world, &first, leads(world)).await;
    let second = taken_over(world).await;
    let mut items = leads(world);
    items.reverse();
    items.insert(0, lead(world.known_as("new")));
    let outcome = commit_all(world, parts_of(&second, Mode::Retry, items)).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let deals = world.all(Entity::Deals).await;
    let ids: std::collections::BTreeSet<_> = deals
        .iter()
        .map(|deal| deal["external_id"].text().to_owned())
        .collect();
    assert_eq!(ids.len(), LEADS + 1);
    assert_eq!(deals.len(), LEADS + 1);
}

pub async fn a_fetch_that_is_settled_between_two_parts_leaves_the_others_their_places(
    world: &World,
) {
    let held = waiting(world).await;
    let mut items = vec![fetch(world.fetch("F1"))];
    // Leads without ids are identified by their places only.
    items.extend((0..LEADS).map(|_| lead(world.lead())));
    let mut parts = parts_of(&held, Mode::Retry, items).into_iter();
    world.commit_one(parts.next().expect("a part")).await;
    let fetched = world.claim_fetch().await;
    let answered = (0..40).map(|_| lead(world.lead())).collect();
    let settled = settle(&fetched, FetchOutcome::Items(answered));
    let outcome = world.commit_one(settled).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    let outcome = commit_all(world, parts.collect()).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), LEADS + 40);
    assert_eq!(world.detail(held.delivery.id).await.items.len(), LEADS + 40);
}

pub async fn a_failure_between_two_parts_keeps_both_the_done_and_the_remaining_ones(world: &World) {
    let first = waiting(world).await;
    cut_off(world, &first, leads(world)).await;
    let there = world.all(Entity::Deals).await.len();
    let second = taken_over(world).await;
    let failed = ConversionResult {
        attempts: 1,
        error: Some("out of time".to_owned()),
        next_attempt_at: Some(world.now().plus_seconds(1)),
        ..ended(DeliveryStatus::Failed)
    };
    let outcome = world
        .commit_one(convert_to(&second, Mode::Retry, failed))
        .await;
    assert_eq!(outcome.status, DeliveryStatus::Failed);
    assert_eq!(world.all(Entity::Deals).await.len(), there);
    world.advance(1).await;
    let third = world.claim_conversion().await;
    let outcome = commit_all(world, parts_of(&third, Mode::Retry, leads(world))).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), LEADS);
}

pub async fn a_replay_leaves_a_large_delivery_unchanged(world: &World) {
    let first = waiting(world).await;
    commit_all(world, parts_of(&first, Mode::Retry, leads(world))).await;
    let held = world.claim_delivery(first.delivery.id).await;
    for part in parts_of(&held, LOOK, leads(world)) {
        let outcome = world.commit_one(part).await;
        assert_eq!(outcome.status, DeliveryStatus::Converted);
    }
    assert_eq!(world.detail(first.delivery.id).await.items.len(), LEADS);
    assert_eq!(world.all(Entity::Deals).await.len(), LEADS);
    assert!(world.claim(10).await.is_empty());
}

pub async fn a_person_erased_between_two_parts_takes_no_other_lead_along(world: &World) {
    let first = waiting(world).await;
    let items = || {
        let mut items = leads(world);
        items[0] = lead(removal::zulmira(world, "Z1"));
        items
    };
    cut_off(world, &first, items()).await;
    let person = removal::person(world).await;
    removal::erase(world, &person).await;
    let second = taken_over(world).await;
    assert!(!second.delivery.is_emptied());
    let outcome = commit_all(world, parts_of(&second, Mode::Retry, items())).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), LEADS - 1);
}
