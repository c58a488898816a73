//! Items that wait for a fetch, and the outcomes that settle them.

use super::world::*;

/// A delivery that waits for a fetch of `L1`, which somebody holds.
async fn held(world: &World) -> (DeliveryOutcome, HeldFetch) {
    let first = world.deliver(vec![fetch(world.fetch("L1"))]).await;
    (first, world.claim_fetch().await)
}

/// What the fetch found.
fn found(held: &HeldFetch, items: Vec<ItemResult>) -> Write {
    settle(held, FetchOutcome::Items(items))
}

fn answer_write(held: &HeldFetch, response: &HttpResponse) -> Write {
    Write::Answer(Box::new(answered(held, response.clone())))
}

pub async fn a_fetch_waits_and_comes_back_whole(world: &World) {
    let asked = world.fetch("L1");
    let (outcome, held) = held(world).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    assert_eq!(outcome.items[0].status, ItemStatus::Waiting);
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
    assert_eq!((held.until, held.response), (asked.until, None));
}

pub async fn a_waiting_fetch_has_its_key_already(world: &World) {
    world.item(fetch(world.fetch("L1"))).await;
    for repeat in [fetch(world.fetch("L1")), lead(world.known_as("L1"))] {
        let item = world.item(repeat).await;
        assert_eq!((item.status, item.deal_id), (ItemStatus::Duplicate, None));
    }
    assert!(world.all(Entity::Deals).await.is_empty());
}

pub async fn remarks_on_a_fetch_are_added_to_the_deliverys_notes(world: &World) {
    let fetches = ["L1", "L2"].map(|id| fetch(world.fetch(id)));
    let first = world.deliver(fetches.into()).await;
    for id in ["L1", "L2"] {
        let held = world.claim_fetch().await;
        let mut write = found(&held, world.leads([id]));
        if let Write::Settle(settlement) = &mut write {
            settlement.notes = vec!["the same of both".to_owned()];
        }
        world.commit_one(write).await;
    }
    let notes = world.detail(first.delivery).await.notes;
    assert_eq!(notes, ["read as a form", "the same of both"]);
}

pub async fn an_answered_fetch_becomes_its_lead(world: &World) {
    let (first, held) = held(world).await;
    let outcome = found(&held, world.leads(["L1"]));
    let outcome = world.commit_one(outcome).await;
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
    let mut items = world.leads(["L1", "L3"]);
    items.push(ItemResult::Ignored("an ad".to_owned()));
    let outcome = world.commit_one(found(&held, items)).await;
    let items = outcome.items.iter();
    let ids: Vec<_> = items
        .map(|item| (item.index, item.external_id.as_deref()))
        .collect();
    let expect = [(0, Some("L1")), (1, Some("L2")), (2, Some("L3")), (3, None)];
    assert_eq!(ids, expect);
    assert_eq!(world.detail(outcome.delivery).await.items, outcome.items);
}

pub async fn a_fetch_may_lead_to_a_further_fetch(world: &World) {
    let (_, held) = held(world).await;
    let mut next = world.fetch("L1");
    next.hop = 2;
    next.state = Vec::new();
    let outcome = world.commit_one(found(&held, vec![fetch(next)])).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    let second = world.claim_fetch().await;
    assert_eq!((second.hop, second.state.as_slice()), (2, &[][..]));
    assert_eq!(second.ran, ran("2"));
    assert!(second.lease.0 > held.lease.0);
}

pub async fn an_answer_is_kept_for_the_attempt_after_a_crash(world: &World) {
    let (_, held) = held(world).await;
    let response = HttpResponse {
        status: 200,
        headers: vec![("x".to_owned(), "y".to_owned())],
        body: vec![0, 159, 146, 150],
    };
    let outcome = world.commit_one(answer_write(&held, &response)).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    assert!(world.claim(1).await.is_empty(), "it is still held");
    world.advance(61).await;
    let again = world.claim_fetch().await;
    assert_eq!(again.response.as_ref(), Some(&response));
    world.assert_stale(answer_write(&held, &response)).await;
}

pub async fn a_retry_is_due_again_later_and_asks_again(world: &World) {
    let (_, held) = held(world).await;
    let retry = FetchOutcome::Retry {
        at: world.in_a_minute(),
        error: "503 from the source".to_owned(),
    };
    let outcome = world.commit_one(settle(&held, retry)).await;
    assert_eq!(outcome.status, DeliveryStatus::Queued);
    let message = outcome.items[0].message.as_deref();
    assert_eq!(message, Some("503 from the source"));
    world.advance(59).await;
    assert!(world.claim(1).await.is_empty());
    world.advance(1).await;
    let again = world.claim_fetch().await;
    assert_eq!((again.attempts, again.response), (1, None));
}

pub async fn a_fetch_given_up_frees_its_key(world: &World) {
    let (first, held) = held(world).await;
    let error = "404".to_owned();
    let failed = settle(&held, FetchOutcome::Failed { error });
    let outcome = world.commit_one(failed).await;
    assert_eq!(outcome.status, DeliveryStatus::Parked);
    assert_eq!(outcome.items[0].status, ItemStatus::Failed);
    // The source may send it again, and an operator may replay it.
    let repeat = world.bring(world.known_as("L1")).await;
    assert_eq!(repeat.status, ItemStatus::Converted);
    let again = vec![fetch(world.fetch("L1"))];
    let replayed = world.replay(first.delivery, LOOK, again).await;
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
    let (at, reason) = (world.now(), "the token was revoked".to_owned());
    let pause = ConnectionPause {
        since: at,
        reason: reason.clone(),
    };
    let stop = settle(&held, FetchOutcome::Stop { at, reason });
    world.commit_one(stop).await;
    assert_eq!(world.declared(&world.site).await.paused, Some(pause));
    let jobs = world.claim(10).await;
    assert_eq!(jobs.len(), 1, "only the other connection's");
    assert!(matches!(&jobs[0], Job::Fetch(held) if held.connection == world.portal));
    let outcome = world.deliver(world.leads(["L9"])).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted, "leads come in");
    world.pause_connection(&world.site, None).await.unwrap();
    assert_eq!(world.claim(10).await.len(), 2);
}

pub async fn an_answer_with_nothing_in_it_is_ignored(world: &World) {
    let (_, held) = held(world).await;
    let outcome = world.commit_one(found(&held, Vec::new())).await;
    assert_eq!(outcome.status, DeliveryStatus::Ignored);
}

pub async fn only_the_holder_of_a_fetch_may_settle_it(world: &World) {
    let (_, held) = held(world).await;
    world.advance(61).await;
    let other = world.claim_fetch().await;
    let found = |held| found(held, world.leads(["L1"]));
    world.assert_stale(found(&held)).await;
    // Both in one batch: the second finds it settled.
    let both = world.commit(&[found(&other), found(&other)]).await;
    assert!(matches!(
        both[..],
        [WriteOutcome::Done(_), WriteOutcome::Stale]
    ));
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn a_replay_takes_a_waiting_fetch_from_its_holder(world: &World) {
    let (first, held) = held(world).await;
    let again = vec![fetch(world.fetch("L1"))];
    let again = world.replay(first.delivery, LOOK, again).await;
    assert_eq!(again.items[0].status, ItemStatus::Waiting);
    let late = found(&held, world.leads(["L1"]));
    world.assert_stale(late).await;
    world.claim_fetch().await;
}
