//! Work under a lease.

use leadhost::domain::delivery::DeliveryStatus;
use leadhost::domain::id::DeliveryId;
use leadhost::domain::plugin::Digest;
use leadhost::domain::time::Micros;
use leadhost::store::{Acceptance, ConversionResult, Job, NewDelivery, Write};

use super::world::*;

/// A delivery in this state that is due then.
fn waiting(world: &World, status: DeliveryStatus, due: Micros) -> (NewDelivery, Write) {
    let delivery = world.delivery();
    let result = ConversionResult {
        status: Some(status),
        next_attempt_at: Some(due),
        attempts: 1,
        presented: Some(vec![7, 0, 7]),
        ..converted(Vec::new())
    };
    let write = Write::Accept(Box::new(Acceptance {
        delivery: delivery.clone(),
        result,
    }));
    (delivery, write)
}

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
    let (second, write) = waiting(world, DeliveryStatus::Failed, late);
    world.commit_one(write).await;
    let early = late.plus(-10);
    let (first, write) = waiting(world, DeliveryStatus::Queued, early);
    world.commit_one(write).await;
    let (_, write) = waiting(world, DeliveryStatus::Queued, late.plus(1));
    world.commit_one(write).await;
    let mut asked = world.fetch("L1");
    asked.due_at = late.plus(-5);
    let third = world.commit_one(world.accept(vec![fetch(asked)])).await;
    assert_eq!(ids(&world.claim(1).await), [first.id]);
    assert_eq!(ids(&world.claim(10).await), [third.delivery, second.id]);
    assert!(world.claim(10).await.is_empty());
    assert!(world.claim(0).await.is_empty());
}

pub async fn a_held_delivery_comes_with_all_that_it_needs(world: &World) {
    let (new, write) = waiting(world, DeliveryStatus::Failed, world.now());
    world.commit_one(write).await;
    let mut jobs = world.claim(1).await;
    let Some(Job::Convert(held)) = jobs.pop() else {
        panic!("it was due");
    };
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
    let (new, write) = waiting(world, DeliveryStatus::Queued, world.now());
    world.commit_one(write).await;
    assert_eq!(world.claim(1).await.len(), 1);
    world.advance(59).await;
    assert!(world.claim(1).await.is_empty());
    world.advance(1).await;
    assert_eq!(ids(&world.claim(1).await), [new.id]);
}

pub async fn one_delivery_is_claimed_in_any_state_by_one_at_a_time(world: &World) {
    for status in [DeliveryStatus::Rejected, DeliveryStatus::Quarantined] {
        let kept = world.commit_one(world.accept_with(status)).await;
        assert!(world.claim(10).await.is_empty(), "it is not due by itself");
        let held = world.claim_delivery(kept.delivery).await;
        assert_eq!(held.status, status);
        let (now, until) = (world.now(), world.now().plus(Micros::MINUTE));
        let second = world.store.claim_delivery(kept.delivery, now, until).await;
        assert!(second.unwrap().is_none());
    }
    let nowhere = DeliveryId::new(world.now());
    let (now, until) = (world.now(), world.now().plus(Micros::MINUTE));
    let none = world.store.claim_delivery(nowhere, now, until).await;
    assert!(none.unwrap().is_none());
}

pub async fn failed_work_of_a_plugin_is_claimed_for_another_digest_only(world: &World) {
    let first = world
        .commit_one(world.accept_with(DeliveryStatus::Failed))
        .await;
    world.advance(1).await;
    let second = world
        .commit_one(world.accept_with(DeliveryStatus::Parked))
        .await;
    world.advance(1).await;
    world
        .commit_one(world.accept_with(DeliveryStatus::Rejected))
        .await;
    world
        .commit_one(world.accept_with(DeliveryStatus::Queued))
        .await;
    let claim = async |plugin: &'static str, digest: Digest, limit: u32| {
        let (now, until) = (world.now(), world.now().plus(Micros::MINUTE));
        let held = world
            .store
            .claim_failed(plugin, &digest, limit, now, until)
            .await;
        let held = held.expect("it claims");
        held.iter().map(|held| held.delivery.id).collect::<Vec<_>>()
    };
    let new = Digest::of(b"2");
    assert!(claim("form", ran("1").digest, 10).await.is_empty());
    assert!(claim("other", new.clone(), 10).await.is_empty());
    assert_eq!(claim("form", new.clone(), 1).await, [first.delivery]);
    assert_eq!(claim("form", new.clone(), 10).await, [second.delivery]);
    assert!(claim("form", new, 10).await.is_empty());
}
