//! The retention of a full quarantine: a share for each address, and the newest
//! deliveries of each.

use std::net::IpAddr;

use super::world::*;

const JUNK: u8 = 9;

fn bound() -> usize {
    usize::try_from(limits::QUARANTINED_PER_CONNECTION).unwrap()
}

fn unproven(status: DeliveryStatus) -> ConversionResult {
    ConversionResult {
        error: Some("why".to_owned()),
        presented: Some(vec![7, 0, 7]),
        ..ended(status)
    }
}

fn from(world: &World, address: u8, result: ConversionResult) -> (DeliveryId, Write) {
    let delivery = world.delivery();
    let acceptance = Acceptance {
        keys: Vec::new(),
        peer: Some(IpAddr::from([192, 0, 2, address])),
        result,
        delivery,
    };
    (acceptance.delivery.id, Write::Accept(Box::new(acceptance)))
}

fn junk(world: &World, address: u8) -> (DeliveryId, Write) {
    from(world, address, unproven(DeliveryStatus::Quarantined))
}

/// Quarantines a delivery a second after the previous ones. Returns how many it evicts.
async fn late(world: &World, address: u8) -> (DeliveryId, u32) {
    let (id, write) = junk(world, address);
    let evicted = world.commit_one(write).await.evicted;
    world.advance(1).await;
    (id, evicted)
}

/// The same while the quarantine is not full.
async fn one(world: &World, address: u8) -> DeliveryId {
    let (id, evicted) = late(world, address).await;
    assert_eq!(evicted, 0);
    id
}

/// Quarantines many deliveries of one address in one batch, a second after the
/// previous ones.
async fn many(world: &World, address: u8, count: usize) -> Vec<DeliveryId> {
    let (ids, writes): (Vec<_>, Vec<_>) = (0..count).map(|_| junk(world, address)).unzip();
    for written in world.commit(&writes).await {
        assert_eq!(done(written).status, DeliveryStatus::Quarantined);
    }
    world.advance(1).await;
    ids
}

async fn kept_of(world: &World, ids: &[DeliveryId]) -> usize {
    let mut kept = 0;
    for id in ids {
        kept += usize::from(world.is_kept(*id).await);
    }
    kept
}

async fn assert_full(world: &World) {
    let kept = world.backlog().await.unwrap().quarantined;
    assert_eq!(kept, limits::QUARANTINED_PER_CONNECTION);
}

pub async fn a_quarantine_is_bounded_and_its_newest_are_kept(world: &World) {
    let first = one(world, JUNK).await;
    many(world, JUNK, bound() - 2).await;
    let (ids, writes): (Vec<_>, Vec<_>) = (0..2).map(|_| junk(world, JUNK)).unzip();
    let written = world.commit(&writes).await;
    let evicted: Vec<_> = written.into_iter().map(|of| done(of).evicted).collect();
    assert_eq!(evicted, [0, 1]);
    assert_full(world).await;
    assert!(!world.is_kept(first).await);
    assert_eq!(kept_of(world, &ids).await, 2);
    // The connection still works.
    let item = world.bring(world.lead()).await;
    assert_eq!(item.status, ItemStatus::Converted);
}

pub async fn each_address_has_a_share_of_a_quarantine(world: &World) {
    let before = one(world, 1).await;
    let junk = many(world, JUNK, bound() - 1).await;
    let (after, evicted) = late(world, 2).await;
    assert_eq!(evicted, 1);
    let (newest, evicted) = late(world, JUNK).await;
    assert_eq!(evicted, 1);
    assert_eq!(kept_of(world, &[before, after, newest]).await, 3);
    assert_eq!(kept_of(world, &junk).await, junk.len() - 2);
    assert_full(world).await;
    // Another connection has its own quarantine.
    let mut delivery = world.delivery();
    delivery.connection = world.portal.clone();
    let elsewhere = accept(delivery, unproven(DeliveryStatus::Quarantined));
    assert_eq!(world.commit_one(elsewhere).await.evicted, 0);
}

pub async fn a_batch_sees_the_deliveries_that_it_quarantined(world: &World) {
    let before = one(world, 1).await;
    let (after, lead) = junk(world, 2);
    let all = (0..bound() + 10).map(|_| junk(world, JUNK));
    let (junk, mut writes): (Vec<_>, Vec<_>) = all.unzip();
    writes.insert(5, lead);
    let written = world.commit(&writes).await;
    let evicted: u32 = written.into_iter().map(|of| done(of).evicted).sum();
    assert_eq!(evicted, 12);
    assert_full(world).await;
    assert_eq!(kept_of(world, &[before, after]).await, 2);
    assert_eq!(kept_of(world, &junk[..12]).await, 0);
    assert_eq!(kept_of(world, &junk[12..]).await, junk.len() - 12);
}

pub async fn a_delivery_larger_than_a_quarantine_is_not_kept(world: &World) {
    let small = one(world, 1).await;
    let (_, write) = junk(world, 2);
    let Write::Accept(mut large) = write else {
        unreachable!("it is accepted");
    };
    let most = usize::try_from(limits::QUARANTINED_BYTES_PER_CONNECTION).unwrap();
    large.delivery.body = vec![b'x'; most + 1].into();
    let id = large.delivery.id;
    let written = world.commit(&[Write::Accept(large)]).await;
    assert!(matches!(written[0], WriteOutcome::NotKept));
    assert!(!world.is_kept(id).await);
    assert!(world.is_kept(small).await);
}

pub async fn held_deliveries_stay_in_quarantine(world: &World) {
    let first = one(world, JUNK).await;
    let second = one(world, JUNK).await;
    many(world, JUNK, bound() - 2).await;
    let held = world.claim_delivery(first).await;
    assert_eq!(late(world, 1).await.1, 1);
    assert!(world.is_kept(first).await);
    assert!(!world.is_kept(second).await);
    let (delivery, lease) = (first, held.lease);
    world.commit_one(Write::Release { delivery, lease }).await;
    assert_eq!(late(world, 1).await.1, 1);
    assert!(!world.is_kept(first).await);
}

pub async fn a_delivery_that_turns_out_unproven_counts_for_the_quarantine(world: &World) {
    let result = ConversionResult {
        next_attempt_at: Some(world.now()),
        ..unproven(DeliveryStatus::Queued)
    };
    let (unchecked, write) = from(world, 1, result.clone());
    world.commit_one(write).await;
    let (proven, write) = from(world, 2, result);
    world.commit_one(write).await;
    world.advance(1).await;
    let oldest = one(world, JUNK).await;
    many(world, JUNK, bound() - 1).await;

    let held = world.claim_delivery(proven).await;
    let released = convert(&held, Mode::Retry, vec![lead(world.lead())]);
    assert_eq!(world.commit_one(released).await.evicted, 0);
    let held = world.claim_delivery(unchecked).await;
    let result = unproven(DeliveryStatus::Quarantined);
    let outcome = world
        .commit_one(convert_to(&held, Mode::Retry, result))
        .await;
    assert_eq!(outcome.evicted, 1);
    assert!(!world.is_kept(oldest).await);
    assert!(world.is_kept(unchecked).await);
    assert_full(world).await;
    // The quarantined delivery has its address; a delivery with a proven sender has none.
    for (noted, rows) in [
        (
            "select count(*) from deliveries where peer = '192.0.2.1'",
            1,
        ),
        (
            "select count(*) from deliveries where peer = '192.0.2.2'",
            0,
        ),
    ] {
        assert_eq!(world.rows(noted).await, rows, "{noted}");
    }
}
