//! The answers of sources stay with the delivery that fetched them.

use super::world::*;

fn response(body: &[u8]) -> HttpResponse {
    HttpResponse {
        status: 200,
        headers: vec![("x".to_owned(), "y".to_owned())],
        body: body.to_vec(),
    }
}

/// Stores a delivery that waits for fetches of these.
async fn asked<const N: usize>(world: &World, ids: [&str; N]) -> DeliveryId {
    let fetches = ids.map(|id| fetch(world.fetch(id)));
    world.deliver(fetches.into()).await.delivery
}

async fn answer(world: &World, answer: FetchAnswer) {
    world.commit_one(Write::Answer(Box::new(answer))).await;
}

/// Answers the fetch with this body, and settles it with these items.
async fn settled(world: &World, held: &HeldFetch, body: &[u8], items: Vec<ItemResult>) {
    answer(world, answered(held, response(body))).await;
    let found = settle(held, FetchOutcome::Items(items));
    world.commit_one(found).await;
}

async fn kept(world: &World, delivery: DeliveryId) -> Vec<KeptAnswer> {
    world.answers(delivery, 0, 100).await.unwrap()
}

pub async fn answers_stay_with_their_delivery_in_the_order_of_settling(world: &World) {
    let of_two = asked(world, ["L1", "L2"]).await;
    world.advance(1).await;
    let other = asked(world, ["L3"]).await;
    // Both are due at once, so either may be claimed first.
    let mut both = [world.claim_fetch().await, world.claim_fetch().await];
    both.sort_by_key(|held| held.index);
    let [first, second] = both;
    assert_eq!((first.index, second.index), (0, 1));
    // The second item's answer comes first, and the first item's answer leads
    // to another fetch.
    settled(world, &second, b"L2", world.leads(["L2"])).await;
    let mut further = world.fetch("L1");
    further.hop = 2;
    further.due_at = START;
    further.request.path = vec![TextSegment::Literal("/further".to_owned())];
    settled(world, &first, &[], vec![fetch(further.clone())]).await;
    let last = world.claim_fetch().await;
    settled(world, &last, &[0, 159], world.leads(["L1"])).await;

    let answers = kept(world, of_two).await;
    let place = |answer: &KeptAnswer| (answer.index, answer.hop, answer.external_id.clone());
    let places: Vec<_> = answers.iter().map(place).collect();
    let expect = [(1, 1, "L2"), (0, 1, "L1"), (0, 2, "L1")];
    assert_eq!(
        places,
        expect.map(|(i, hop, id)| (i, hop, Some(id.to_owned())))
    );
    assert_eq!(answers[0].request, second.request);
    assert_eq!(answers[0].response, response(b"L2"));
    assert_eq!(answers[1].response, response(&[]));
    assert_eq!(answers[2].request, further.request);
    assert_eq!(answers[2].response, response(&[0, 159]));
    assert!(kept(world, other).await.is_empty());

    let page = world.answers(of_two, answers[0].number, 1).await;
    assert_eq!(page.expect("it reads"), answers[1..2]);
}

pub async fn the_answered_request_is_kept_rather_than_the_pointers(world: &World) {
    let asked = asked(world, ["L1"]).await;
    let held = world.claim_fetch().await;
    let mut newer = answered(&held, response(b"newer"));
    newer.request.path = vec![TextSegment::Literal("/newer".to_owned())];
    newer.state = b"newer".to_vec();
    newer.ran = ran("2");
    answer(world, newer.clone()).await;
    world.advance(61).await;
    // The host that takes it over after a crash gets all of it.
    let again = world.claim_fetch().await;
    assert_eq!(again.request, newer.request);
    assert_eq!((&again.state, &again.ran), (&newer.state, &newer.ran));
    assert_eq!(again.response.as_ref(), Some(&newer.response));
    let found = FetchOutcome::Items(world.leads(["L1"]));
    world.commit_one(settle(&again, found)).await;
    assert_eq!(kept(world, asked).await[0].request, newer.request);
}

pub async fn the_answer_of_a_failed_fetch_is_not_kept(world: &World) {
    let asked = asked(world, ["L1", "L2"]).await;
    let both = [world.claim_fetch().await, world.claim_fetch().await];
    let (at, error) = (world.now(), "not there yet".to_owned());
    let retried = FetchOutcome::Retry {
        at,
        error: error.clone(),
    };
    let failed = FetchOutcome::Failed { error };
    for (held, outcome) in both.iter().zip([retried, failed]) {
        answer(world, answered(held, response(b"nothing"))).await;
        world.commit_one(settle(held, outcome)).await;
    }
    assert!(kept(world, asked).await.is_empty());
}

pub async fn an_item_that_is_fetched_again_keeps_its_newest_answer(world: &World) {
    let asked = asked(world, ["L1"]).await;
    let held = world.claim_fetch().await;
    let ignored = vec![ItemResult::Ignored("a test".to_owned())];
    settled(world, &held, b"old", ignored).await;
    let again = vec![fetch(world.fetch("L1"))];
    world.replay(asked, LOOK, again).await;
    let held = world.claim_fetch().await;
    settled(world, &held, b"new", world.leads(["L1"])).await;
    let answers = kept(world, asked).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].response, response(b"new"));
}

pub async fn answers_are_removed_with_their_delivery(world: &World) {
    let mut deliveries = Vec::new();
    for id in ["L1", "L2"] {
        deliveries.push(asked(world, [id]).await);
        let held = world.claim_fetch().await;
        settled(world, &held, id.as_bytes(), world.leads([id])).await;
        world.advance(DAY).await;
    }
    let retention = kept_for(Duration::from_hours(48));
    world.advance(1).await;
    let sweep = world.sweep(&retention, world.now(), 100).await;
    assert_eq!(sweep.expect("it sweeps"), 1);
    assert!(kept(world, deliveries[0]).await.is_empty());
    assert_eq!(kept(world, deliveries[1]).await.len(), 1);
}

pub async fn a_released_delivery_is_unchanged(world: &World) {
    let parked = world.received(DeliveryStatus::Parked).await;
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
    world.assert_stale(release()).await;
}
