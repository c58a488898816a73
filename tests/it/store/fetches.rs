//! Items that wait for a fetch, and the outcomes that settle them.

use std::time::Duration;

use leadhost_domain::connection::ConnectionPause;
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::exchange::HttpResponse;
use leadhost_domain::row::Entity;
use leadhost_store::{FetchOutcome, ItemResult, Job, Mode, Write, WriteOutcome};

use super::world::*;

fn items(items: Vec<ItemResult>) -> FetchOutcome {
    FetchOutcome::Items(items)
}

pub async fn a_fetch_waits_and_comes_back_whole(world: &World) {
    let asked = world.fetch("L1");
    let outcome = world.deliver(vec![fetch(asked.clone())]).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    assert_eq!(outcome.items[0].status, ItemStatus::Waiting);
    let held = world.claim_fetch().await;
    assert_eq!(held.delivery, outcome.delivery);
    assert_eq!(held.workspace, world.workspace);
    assert_eq!(held.received_at, START);
    assert_eq!((held.index, held.hop, held.attempts), (0, 1, 0));
    assert_eq!(held.connection, world.site);
    assert_eq!(held.received_by, world.site);
    assert_eq!(held.external_id.as_deref(), Some("L1"));
    assert_eq!(held.request, asked.request);
    assert_eq!(held.state, asked.state);
    assert_eq!(held.ran, ran("1"));
    assert_eq!(held.until, asked.until);
    assert_eq!(held.response, None);
}

pub async fn a_waiting_fetch_has_its_key_already(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    for repeat in [fetch(world.fetch("L1")), lead(world.known_as("L1"))] {
        let item = world.item(repeat).await;
        assert_eq!(item.status, ItemStatus::Duplicate);
        assert_eq!(item.deal_id, None);
    }
    assert!(world.all(Entity::Deals).await.is_empty());
}

pub async fn remarks_on_a_fetch_are_added_to_the_deliverys_notes(world: &World) {
    let first = world
        .deliver(vec![fetch(world.fetch("L1")), fetch(world.fetch("L2"))])
        .await;
    for id in ["L1", "L2"] {
        let held = world.claim_fetch().await;
        let mut write = settle(&held, items(vec![lead(world.known_as(id))]));
        let Write::Settle(settlement) = &mut write else {
            panic!("it settles");
        };
        settlement.notes = vec!["the same of both".to_owned()];
        world.commit_one(write).await;
    }
    let notes = world.detail(first.delivery).await.notes;
    assert_eq!(notes, ["read as a form", "the same of both"]);
}

pub async fn an_answered_fetch_becomes_its_lead(world: &World) {
    let first = world.deliver(vec![fetch(world.fetch("L1"))]).await;
    let held = world.claim_fetch().await;
    let outcome = world
        .commit_one(settle(&held, items(vec![lead(world.known_as("L1"))])))
        .await;
    assert_eq!(outcome.delivery, first.delivery);
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(outcome.items.len(), 1);
    assert!(outcome.items[0].deal_id.is_some());
    world.advance(3_600).await;
    assert!(world.claim(10).await.is_empty());
    let repeat = world.item(fetch(world.fetch("L1"))).await;
    assert_eq!(repeat.status, ItemStatus::Duplicate);
    assert_eq!(repeat.deal_id, outcome.items[0].deal_id);
    assert_eq!(world.backlog().await.unwrap().fetches, 0);
}

pub async fn the_first_item_takes_the_fetchs_place_and_others_follow(world: &World) {
    let accepted = vec![fetch(world.fetch("L1")), lead(world.known_as("L2"))];
    world.deliver(accepted).await;
    let held = world.claim_fetch().await;
    let found = vec![
        lead(world.known_as("L1")),
        lead(world.known_as("L3")),
        ItemResult::Ignored("an ad".to_owned()),
    ];
    let outcome = world.commit_one(settle(&held, items(found))).await;
    let ids: Vec<_> = outcome
        .items
        .iter()
        .map(|item| (item.index, item.external_id.as_deref()))
        .collect();
    let expect = [(0, Some("L1")), (1, Some("L2")), (2, Some("L3")), (3, None)];
    assert_eq!(ids, expect);
    assert_eq!(world.detail(outcome.delivery).await.items, outcome.items);
}

pub async fn a_fetch_may_lead_to_a_further_fetch(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    let held = world.claim_fetch().await;
    let mut next = world.fetch("L1");
    next.hop = 2;
    next.state = Vec::new();
    let outcome = world
        .commit_one(settle(&held, items(vec![fetch(next)])))
        .await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    let second = world.claim_fetch().await;
    assert_eq!((second.hop, second.state.as_slice()), (2, &[][..]));
    assert_eq!(second.ran, ran("2"));
    assert!(second.lease.0 > held.lease.0);
}

pub async fn an_answer_is_kept_for_the_attempt_after_a_crash(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    let held = world.claim_fetch().await;
    let response = HttpResponse {
        status: 200,
        headers: vec![("x".to_owned(), "y".to_owned())],
        body: vec![0, 159, 146, 150],
    };
    let answer = |held| Write::Answer(Box::new(answered(held, response.clone())));
    let outcome = world.commit_one(answer(&held)).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    assert!(world.claim(1).await.is_empty(), "it is still held");
    world.advance(61).await;
    let again = world.claim_fetch().await;
    assert_eq!(again.response, Some(response.clone()));
    let late = world.commit(&[answer(&held)]).await;
    assert!(matches!(late[0], WriteOutcome::Stale));
}

pub async fn a_retry_is_due_again_later_and_asks_again(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    let held = world.claim_fetch().await;
    let at = world.now().plus(Duration::from_mins(1));
    let error = "503 from the source".to_owned();
    let outcome = world
        .commit_one(settle(&held, FetchOutcome::Retry { at, error }))
        .await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    assert_eq!(
        outcome.items[0].message.as_deref(),
        Some("503 from the source")
    );
    assert!(world.claim(1).await.is_empty());
    world.advance(60).await;
    let again = world.claim_fetch().await;
    assert_eq!(again.attempts, 1);
    assert_eq!(again.response, None);
}

pub async fn a_fetch_given_up_frees_its_key(world: &World) {
    let first = world.deliver(vec![fetch(world.fetch("L1"))]).await;
    let held = world.claim_fetch().await;
    let error = "404".to_owned();
    let outcome = world
        .commit_one(settle(&held, FetchOutcome::Failed { error }))
        .await;
    assert_eq!(outcome.status, DeliveryStatus::Parked);
    assert_eq!(outcome.items[0].status, ItemStatus::Failed);
    // The source may send it again, and an operator may replay it.
    let repeat = world.bring(world.known_as("L1")).await;
    assert_eq!(repeat.status, ItemStatus::Converted);
    let mode = Mode::Replay { apply: false };
    let replayed = world
        .replay(first.delivery, mode, vec![fetch(world.fetch("L1"))])
        .await;
    assert_eq!(replayed.items[0].status, ItemStatus::Duplicate);
    assert_eq!(replayed.items[0].deal_id, repeat.deal_id);
}

pub async fn stop_pauses_the_connections_fetches_and_nothing_else(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    world.item(fetch(world.fetch("L2"))).await;
    // Connections take turns, so the other one's fetch comes while this one is
    // held.
    let held = world.claim_fetch().await;
    let mut elsewhere = world.fetch("L3");
    elsewhere.connection = world.portal.clone();
    world.advance(1).await;
    world.item(fetch(elsewhere)).await;
    let at = world.now();
    let reason = "the token was revoked".to_owned();
    world
        .commit_one(settle(
            &held,
            FetchOutcome::Stop {
                at,
                reason: reason.clone(),
            },
        ))
        .await;
    let connection = world.connection(&world.site).await.unwrap().unwrap();
    let pause = ConnectionPause {
        since: world.now(),
        reason,
    };
    assert_eq!(connection.paused, Some(pause));
    let jobs = world.claim(10).await;
    assert_eq!(jobs.len(), 1, "only the other connection's");
    assert!(matches!(&jobs[0], Job::Fetch(held) if held.connection == world.portal));
    let outcome = world.deliver(vec![lead(world.known_as("L9"))]).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted, "leads come in");
    world.pause_connection(&world.site, None).await.unwrap();
    assert_eq!(world.claim(10).await.len(), 2);
}

pub async fn an_answer_with_nothing_in_it_is_ignored(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    let held = world.claim_fetch().await;
    let outcome = world.commit_one(settle(&held, items(Vec::new()))).await;
    assert_eq!(outcome.status, DeliveryStatus::Ignored);
}

pub async fn only_the_holder_of_a_fetch_may_settle_it(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    let held = world.claim_fetch().await;
    world.advance(61).await;
    let other = world.claim_fetch().await;
    let found = || items(vec![lead(world.known_as("L1"))]);
    let late = world.commit(&[settle(&held, found())]).await;
    assert!(matches!(late[0], WriteOutcome::Stale));
    // Both in one batch: the second finds it settled.
    let both = world
        .commit(&[settle(&other, found()), settle(&other, found())])
        .await;
    assert!(matches!(both[0], WriteOutcome::Done(_)));
    assert!(matches!(both[1], WriteOutcome::Stale));
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn a_replay_takes_a_waiting_fetch_from_its_holder(world: &World) {
    let first = world.deliver(vec![fetch(world.fetch("L1"))]).await;
    let held = world.claim_fetch().await;
    let mode = Mode::Replay { apply: false };
    let again = world
        .replay(first.delivery, mode, vec![fetch(world.fetch("L1"))])
        .await;
    assert_eq!(again.items[0].status, ItemStatus::Waiting);
    let late = settle(&held, items(vec![lead(world.known_as("L1"))]));
    assert!(matches!(
        world.commit(&[late]).await[0],
        WriteOutcome::Stale
    ));
    world.claim_fetch().await;
}
