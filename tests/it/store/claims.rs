//! Work under a lease.

use super::world::*;

/// A delivery in this state that is due at this time.
fn waiting(world: &World, status: DeliveryStatus, due: Micros) -> (NewDelivery, Write) {
    let delivery = world.delivery();
    let result = ConversionResult {
        next_attempt_at: Some(due),
        attempts: 1,
        presented: Some(vec![7, 0, 7]),
        ..ended(status)
    };
    (delivery.clone(), accept(delivery, result))
}

/// Stores it.
async fn waits(world: &World, status: DeliveryStatus, due: Micros) -> NewDelivery {
    let (delivery, write) = waiting(world, status, due);
    world.commit_one(write).await;
    delivery
}

/// Makes this many deliveries of `site` that become due in sequence, the last one
/// at this time.
async fn crowd(world: &World, many: u64, last: Micros) -> Vec<DeliveryId> {
    let mut ids = Vec::new();
    let mut writes = Vec::new();
    for place in 0..many {
        let due = last.minus(Duration::from_micros(many - 1 - place));
        let (delivery, write) = waiting(world, DeliveryStatus::Queued, due);
        ids.push(delivery.id);
        writes.push(write);
    }
    world.commit(&writes).await;
    ids
}

/// Makes a fetch of `portal` that is due at this time.
async fn fetched(world: &World, id: &str, due: Micros) -> DeliveryId {
    let mut delivery = world.delivery();
    delivery.connection = world.portal.clone();
    let mut asked = world.fetch(id);
    asked.connection = world.portal.clone();
    asked.due_at = due;
    let write = world.accept_as(delivery, vec![fetch(asked)]);
    world.commit_one(write).await.delivery
}

async fn claim(world: &World, turns: &ClaimTurns) -> Vec<DeliveryId> {
    let jobs = world.store.claim(turns, world.now(), world.in_a_minute());
    ids(&jobs.await.expect("it claims"))
}

pub async fn connections_take_turns_however_much_one_has_waiting(world: &World) {
    let now = world.now();
    let many = crowd(world, 50, now.minus(Duration::from_micros(10))).await;
    let first = fetched(world, "L1", now.minus(Duration::from_micros(1))).await;
    let second = fetched(world, "L2", now).await;
    let taken = claim(world, &ClaimTurns::new(4)).await;
    assert_eq!(taken.len(), 4);
    for mine in [first, second, many[0], many[1]] {
        assert!(taken.contains(&mine), "{taken:?}");
    }
    // Alone again, it gets all free places.
    assert_eq!(claim(world, &ClaimTurns::new(4)).await, many[2..6]);
}

pub async fn work_that_a_host_holds_counts_for_its_connection(world: &World) {
    let now = world.now();
    let many = crowd(world, 9, now.minus(Duration::from_micros(10))).await;
    let lead = fetched(world, "L1", now).await;
    let of_site = |pieces| {
        let in_hand = InHand {
            pieces,
            conversions: pieces,
        };
        BTreeMap::from([(world.site.clone(), in_hand)])
    };
    let turns = ClaimTurns {
        limit: 9,
        spare: 0,
        share: 4,
        conversions: 2,
        in_hand: of_site(1),
        after: None,
    };
    let taken = claim(world, &turns).await;
    assert_eq!(taken.len(), 2);
    assert!(taken.contains(&lead) && taken.contains(&many[0]));
    // Spare places are for connections without work in hand.
    let spare = ClaimTurns {
        limit: 0,
        spare: 3,
        ..turns
    };
    assert!(claim(world, &spare).await.is_empty());
    let late = fetched(world, "L2", now).await;
    assert_eq!(claim(world, &spare).await, [late]);
}

pub async fn waiting_work_is_counted_by_connection(world: &World) {
    let now = world.now();
    assert!(world.waiting().await.expect("it counts").is_empty());
    crowd(world, 3, now.plus(Duration::from_hours(24))).await;
    world.received(DeliveryStatus::Parked).await;
    // A delivery that waits for its fetch is converted already.
    fetched(world, "L1", now).await;
    let counts = world.waiting().await.expect("it counts");
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(counts, [(world.site.clone(), 3)]);
}

#[track_caller]
fn ids(jobs: &[Job]) -> Vec<DeliveryId> {
    jobs.iter()
        .map(|job| match job {
            Job::Convert(held) => held.delivery.id,
            Job::Fetch(held) => held.delivery,
            Job::Send(_) => panic!("no message was stored"),
        })
        .collect()
}

pub async fn due_work_is_claimed_oldest_first_and_by_the_limit(world: &World) {
    let late = world.now();
    let second = waits(world, DeliveryStatus::Failed, late).await;
    let early = late.minus(Duration::from_micros(10));
    let first = waits(world, DeliveryStatus::Queued, early).await;
    let later = late.plus(Duration::from_micros(1));
    waits(world, DeliveryStatus::Queued, later).await;
    let mut asked = world.fetch("L1");
    asked.due_at = late.minus(Duration::from_micros(5));
    let third = world.deliver(vec![fetch(asked)]).await;
    assert_eq!(ids(&world.claim(1).await), [first.id]);
    assert_eq!(ids(&world.claim(10).await), [third.delivery, second.id]);
    assert!(world.claim(10).await.is_empty());
    assert!(world.claim(0).await.is_empty());
}

pub async fn a_held_delivery_comes_with_all_that_it_needs(world: &World) {
    let new = waits(world, DeliveryStatus::Failed, world.now()).await;
    let held = world.claim_conversion().await;
    assert_eq!(held.status, DeliveryStatus::Failed);
    assert_eq!(held.attempts, 1);
    assert_eq!(held.ran, Some(ran("1")));
    assert_eq!(held.presented, Some(vec![7, 0, 7]));
    assert_eq!(held.delivery.body, new.body);
    assert_eq!(held.delivery.headers, new.headers);
    assert_eq!(held.delivery.received_at, new.received_at);
    assert_eq!(held.delivery.connection, new.connection);
}

pub async fn a_lease_that_ran_out_frees_the_work(world: &World) {
    let new = waits(world, DeliveryStatus::Queued, world.now()).await;
    assert_eq!(world.claim(1).await.len(), 1);
    world.advance(59).await;
    assert!(world.claim(1).await.is_empty());
    world.advance(1).await;
    assert_eq!(ids(&world.claim(1).await), [new.id]);
}

pub async fn one_delivery_is_claimed_in_any_state_by_one_at_a_time(world: &World) {
    for status in [DeliveryStatus::Rejected, DeliveryStatus::Quarantined] {
        let kept = world.received(status).await;
        assert!(world.claim(10).await.is_empty(), "it is not due by itself");
        assert_eq!(world.claim_delivery(kept).await.status, status);
        assert!(world.try_claim(kept).await.is_none());
    }
    let nowhere = DeliveryId::new(world.now());
    assert!(world.try_claim(nowhere).await.is_none());
}

pub async fn deliveries_are_claimed_together_but_for_those_that_are_held(world: &World) {
    let mut ids = Vec::new();
    for status in [
        DeliveryStatus::Rejected,
        DeliveryStatus::Queued,
        DeliveryStatus::Parked,
    ] {
        ids.push(world.received(status).await);
        world.advance(1).await;
    }
    world.claim_delivery(ids[1]).await;
    let nowhere = DeliveryId::new(world.now());
    let asked = [&ids[..], &[nowhere]].concat();
    let claim = async || {
        let until = world.now().plus(Duration::from_secs(60));
        let held = world
            .store
            .claim_deliveries(asked.clone(), world.now(), until)
            .await;
        held.expect("a store").into_keys().collect::<Vec<_>>()
    };
    assert_eq!(claim().await, [ids[0], ids[2]]);
    assert_eq!(claim().await, []);
}

pub async fn failed_work_of_a_plugin_is_claimed_for_another_digest_only(world: &World) {
    let first = world.received(DeliveryStatus::Failed).await;
    world.advance(1).await;
    let second = world.received(DeliveryStatus::Parked).await;
    world.advance(1).await;
    world.received(DeliveryStatus::Rejected).await;
    world.received(DeliveryStatus::Queued).await;
    let claim = async |plugin: &'static str, digest: Digest, limit: u32| {
        let (now, until) = (world.now(), world.in_a_minute());
        let held = world.claim_failed(plugin, &digest, None, limit, now, until);
        let held = held.await.expect("it claims");
        held.iter().map(|held| held.delivery.id).collect::<Vec<_>>()
    };
    let new = Digest::compute(b"2");
    assert!(claim("form", ran("1").digest, 10).await.is_empty());
    assert!(claim("other", new.clone(), 10).await.is_empty());
    assert_eq!(claim("form", new.clone(), 1).await, [first]);
    assert_eq!(claim("form", new.clone(), 10).await, [second]);
    assert!(claim("form", new, 10).await.is_empty());
}
