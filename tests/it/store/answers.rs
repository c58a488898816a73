//! The answers of sources stay with the delivery that fetched them.

use std::time::Duration;

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::exchange::{HttpResponse, TextSegment};
use leadhost_domain::id::DeliveryId;
use leadhost_store::{FetchOutcome, HeldFetch, ItemResult, KeptAnswer, Mode, Write, WriteOutcome};

use super::world::*;

fn response(body: &[u8]) -> HttpResponse {
    HttpResponse {
        status: 200,
        headers: vec![("x".to_owned(), "y".to_owned())],
        body: body.to_vec(),
    }
}

/// Answers the fetch with this body, and settles it with these items.
async fn settled(world: &World, held: &HeldFetch, body: &[u8], items: Vec<ItemResult>) {
    let answer = answered(held, response(body));
    world.commit_one(Write::Answer(Box::new(answer))).await;
    world
        .commit_one(settle(held, FetchOutcome::Items(items)))
        .await;
}

async fn kept(world: &World, delivery: DeliveryId) -> Vec<KeptAnswer> {
    world.answers(delivery, 0, 100).await.unwrap()
}

pub async fn answers_stay_with_their_delivery_in_the_order_of_settling(world: &World) {
    let accepted = vec![fetch(world.fetch("L1")), fetch(world.fetch("L2"))];
    let asked = world.deliver(accepted).await.delivery;
    world.advance(1).await;
    let other = vec![fetch(world.fetch("L3"))];
    let other = world.deliver(other).await.delivery;
    // Both are due at once, so either may be claimed first.
    let mut both = [world.claim_fetch().await, world.claim_fetch().await];
    both.sort_by_key(|held| held.index);
    let [first, second] = both;
    assert_eq!((first.index, second.index), (0, 1));
    // The second item's answer comes first, and the first item's answer leads
    // to another fetch.
    settled(world, &second, b"L2", vec![lead(world.known_as("L2"))]).await;
    let mut further = world.fetch("L1");
    further.hop = 2;
    further.due_at = START;
    further.request.path = vec![TextSegment::Literal("/further".to_owned())];
    settled(world, &first, &[], vec![fetch(further.clone())]).await;
    let last = world.claim_fetch().await;
    settled(world, &last, &[0, 159], vec![lead(world.known_as("L1"))]).await;

    let answers = kept(world, asked).await;
    let places: Vec<_> = answers
        .iter()
        .map(|answer| (answer.index, answer.hop, answer.external_id.as_deref()))
        .collect();
    let expect = [(1, 1, Some("L2")), (0, 1, Some("L1")), (0, 2, Some("L1"))];
    assert_eq!(places, expect);
    assert_eq!(answers[0].request, second.request);
    assert_eq!(answers[0].response, response(b"L2"));
    assert_eq!(answers[1].response, response(&[]));
    assert_eq!(answers[2].request, further.request);
    assert_eq!(answers[2].response, response(&[0, 159]));
    assert!(kept(world, other).await.is_empty());

    let page = world.answers(asked, answers[0].number, 1).await;
    assert_eq!(page.expect("it reads"), answers[1..2]);
}

pub async fn the_answered_request_is_kept_rather_than_the_pointers(world: &World) {
    let asked = world.deliver(vec![fetch(world.fetch("L1"))]).await;
    let held = world.claim_fetch().await;
    let mut answer = answered(&held, response(b"newer"));
    answer.request.path = vec![TextSegment::Literal("/newer".to_owned())];
    answer.state = b"newer".to_vec();
    answer.ran = ran("2");
    world
        .commit_one(Write::Answer(Box::new(answer.clone())))
        .await;
    world.advance(61).await;
    // The host that takes it over after a crash gets all of it.
    let again = world.claim_fetch().await;
    assert_eq!(again.request, answer.request);
    assert_eq!(again.state, answer.state);
    assert_eq!(again.ran, answer.ran);
    assert_eq!(again.response.as_ref(), Some(&answer.response));
    let found = FetchOutcome::Items(vec![lead(world.known_as("L1"))]);
    world.commit_one(settle(&again, found)).await;
    let answers = kept(world, asked.delivery).await;
    assert_eq!(answers[0].request, answer.request);
}

pub async fn the_answer_of_a_failed_fetch_is_not_kept(world: &World) {
    let accepted = vec![fetch(world.fetch("L1")), fetch(world.fetch("L2"))];
    let asked = world.deliver(accepted).await.delivery;
    let (retried, failed) = (world.claim_fetch().await, world.claim_fetch().await);
    let error = "not there yet".to_owned();
    let at = world.now();
    for (held, outcome) in [
        (
            &retried,
            FetchOutcome::Retry {
                at,
                error: error.clone(),
            },
        ),
        (&failed, FetchOutcome::Failed { error }),
    ] {
        let answer = answered(held, response(b"nothing"));
        world.commit_one(Write::Answer(Box::new(answer))).await;
        world.commit_one(settle(held, outcome)).await;
    }
    assert!(kept(world, asked).await.is_empty());
}

pub async fn an_item_that_is_fetched_again_keeps_its_newest_answer(world: &World) {
    let accepted = || vec![fetch(world.fetch("L1"))];
    let asked = world.deliver(accepted()).await.delivery;
    let held = world.claim_fetch().await;
    let ignored = vec![ItemResult::Ignored("a test".to_owned())];
    settled(world, &held, b"old", ignored).await;
    let mode = Mode::Replay { apply: false };
    world.replay(asked, mode, accepted()).await;
    let held = world.claim_fetch().await;
    settled(world, &held, b"new", vec![lead(world.known_as("L1"))]).await;
    let answers = kept(world, asked).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].response, response(b"new"));
}

pub async fn answers_are_removed_with_their_delivery(world: &World) {
    let asked = world.deliver(vec![fetch(world.fetch("L1"))]).await.delivery;
    let held = world.claim_fetch().await;
    settled(world, &held, b"L1", vec![lead(world.known_as("L1"))]).await;
    world.advance(86_400).await;
    let young = world.deliver(vec![fetch(world.fetch("L2"))]).await.delivery;
    let held = world.claim_fetch().await;
    settled(world, &held, b"L2", vec![lead(world.known_as("L2"))]).await;
    let retention = kept_for(Duration::from_hours(24));
    world.advance(1).await;
    let sweep = world.sweep(&retention, world.now(), 100).await;
    assert_eq!(sweep.expect("it sweeps"), 1);
    assert!(kept(world, asked).await.is_empty());
    assert_eq!(kept(world, young).await.len(), 1);
}

pub async fn a_released_delivery_is_unchanged(world: &World) {
    let parked = world
        .commit_one(world.accept_with(DeliveryStatus::Parked))
        .await
        .delivery;
    let before = world.detail(parked).await;
    let held = world.claim_delivery(parked).await;
    let release = || Write::Release {
        delivery: parked,
        lease: held.lease,
    };
    let outcome = world.commit_one(release()).await;
    assert_eq!(outcome.status, DeliveryStatus::Parked);
    let after = world.detail(parked).await;
    assert_eq!(after.summary.error, before.summary.error);
    assert_eq!(after.summary.attempts, before.summary.attempts);
    assert_eq!(after.next_attempt_at, before.next_attempt_at);
    // It is free at once, and only its holder may release it.
    world.claim_delivery(parked).await;
    assert!(matches!(
        world.commit(&[release()]).await[0],
        WriteOutcome::Stale
    ));
}
