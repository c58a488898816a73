//! Retention, and the operators' view of stored deliveries.

use super::world::*;

pub async fn finished_deliveries_are_removed_after_their_retention_and_leads_stay(world: &World) {
    let old = world.deliver(world.leads(["L1"])).await;
    let failed = world.received(DeliveryStatus::Failed).await;
    let waiting = world.deliver(vec![fetch(world.fetch("L2"))]).await;
    world.advance(DAY).await;
    let young = world.deliver(vec![lead(world.lead())]).await;
    world.advance(89 * DAY).await;
    assert_eq!(world.swept(100).await, 0, "on its last day it stays");
    world.advance(1).await;
    assert_eq!(world.swept(100).await, 1);
    assert_eq!(world.swept(100).await, 0);
    assert!(!world.is_kept(old.delivery).await);
    for kept in [failed, waiting.delivery, young.delivery] {
        assert!(world.is_kept(kept).await);
    }
    // The lead and its key are not part of the delivery.
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
    let repeat = world.bring(world.known_as("L1")).await;
    assert_eq!(repeat.status, ItemStatus::Duplicate);
}

pub async fn quarantined_deliveries_are_removed_sooner(world: &World) {
    let kept = world.received(DeliveryStatus::Quarantined).await;
    world.advance(30 * DAY).await;
    assert_eq!(world.swept(100).await, 0);
    world.advance(1).await;
    assert_eq!(world.swept(100).await, 1);
    assert!(!world.is_kept(kept).await);
}

pub async fn a_sweep_takes_no_more_than_asked_and_the_oldest_first(world: &World) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.deliver(Vec::new()).await.delivery);
        world.advance(1).await;
    }
    world.advance(91 * DAY).await;
    assert_eq!(world.swept(2).await, 2);
    assert!(!world.is_kept(ids[1]).await);
    assert!(world.is_kept(ids[2]).await);
    assert_eq!(world.swept(2).await, 2);
    assert_eq!(world.swept(2).await, 1);
}

pub async fn held_deliveries_are_not_swept(world: &World) {
    let kept = [
        world.deliver(world.leads(["L1"])).await.delivery,
        world.received(DeliveryStatus::Parked).await,
        world.received(DeliveryStatus::Quarantined).await,
    ];
    world.advance(91 * DAY).await;
    for id in kept {
        world.claim_delivery(id).await;
    }
    assert_eq!(world.swept(100).await, 0);
    for id in kept {
        assert!(world.is_kept(id).await);
    }
    // Their holder is dead.
    world.advance(60).await;
    assert_eq!(world.swept(100).await, 3);
    assert!(world.try_claim(kept[0]).await.is_none());
}

pub async fn content_keys_are_removed_after_their_window(world: &World) {
    let mut new = world.lead();
    new.dedupe = Some(DedupeKey {
        key: "content:x".to_owned(),
        window: Some(Duration::from_secs(10)),
    });
    world.bring(new).await;
    world.bring(world.known_as("L1")).await;
    world.advance(9).await;
    assert_eq!(world.swept(100).await, 0);
    world.advance(2).await;
    assert_eq!(world.swept(100).await, 1);
    assert_eq!(world.swept(100).await, 0);
}

pub async fn the_backlog_counts_waiting_deliveries(world: &World) {
    let empty = world.backlog().await.unwrap();
    assert_eq!(empty.oldest_waiting, None);
    let first = world.now();
    world.deliver(vec![fetch(world.fetch("L1"))]).await;
    world.advance(1).await;
    for status in [
        DeliveryStatus::Failed,
        DeliveryStatus::Parked,
        DeliveryStatus::Quarantined,
    ] {
        world.received(status).await;
    }
    world.bring(world.lead()).await;
    let backlog = world.backlog().await.unwrap();
    assert_eq!((backlog.queued, backlog.fetches), (0, 1));
    assert_eq!((backlog.failed, backlog.parked), (1, 1));
    assert_eq!(backlog.quarantined, 1);
    assert_eq!(backlog.oldest_waiting, Some(first));
}

fn all() -> DeliveryFilter {
    DeliveryFilter {
        limit: 10,
        ..Default::default()
    }
}

pub async fn deliveries_are_listed_newest_first_by_each_filter(world: &World) {
    let mut ids = Vec::new();
    for number in 0..4 {
        world.advance(1).await;
        let write = if number == 2 {
            world.accept_with(DeliveryStatus::Rejected)
        } else {
            let mut delivery = world.delivery();
            if number == 3 {
                delivery.connection = world.portal.clone();
            }
            world.accept_as(delivery, vec![lead(world.lead())])
        };
        ids.push(world.commit_one(write).await.delivery);
    }
    let check = async |change: &dyn Fn(&mut DeliveryFilter), expect: &[usize]| {
        let mut filter = all();
        change(&mut filter);
        let found = world.deliveries(&filter).await.expect("it lists");
        let found: Vec<_> = found.iter().map(|summary| summary.id).collect();
        let expect: Vec<_> = expect.iter().map(|at| ids[*at]).collect();
        assert_eq!(found, expect, "{filter:?}");
    };
    let at = |micros| Some(START.plus(Duration::from_micros(micros)));
    let rejected = Some(DeliveryStatus::Rejected);
    let queued = Some(DeliveryStatus::Queued);
    let portal = || Some(world.portal.clone());
    check(&|_| (), &[3, 2, 1, 0]).await;
    check(&|one| one.limit = 2, &[3, 2]).await;
    check(&|one| one.before = Some(ids[2]), &[1, 0]).await;
    check(&|one| one.connection = portal(), &[3]).await;
    let workspace = Some(world.workspace);
    check(&|one| one.workspace = workspace, &[3, 2, 1, 0]).await;
    check(&|one| one.status = rejected, &[2]).await;
    check(&|one| one.status = queued, &[]).await;
    let (third, just_after) = (at(3_000_000), at(3_000_001));
    check(&|one| one.since = third, &[3, 2]).await;
    check(&|one| one.until = third, &[1, 0]).await;
    // A delivery of the same millisecond is before the end.
    check(&|one| one.until = just_after, &[2, 1, 0]).await;
    for (since, until, expect) in [(third, just_after, &[2][..]), (None, third, &[])] {
        let narrow = |one: &mut DeliveryFilter| {
            (one.status, one.since, one.until) = (rejected, since, until);
        };
        check(&narrow, expect).await;
    }
    // Converted again by another version.
    let held = world.claim_delivery(ids[1]).await;
    let result = ConversionResult {
        ran: Some(ran("2")),
        ..converted(vec![lead(world.lead())])
    };
    let mode = Mode::Replay { apply: true };
    world.commit_one(convert_to(&held, mode, result)).await;
    let listed = world.deliveries(&all()).await.unwrap();
    let versions = |at: usize| listed[at].ran.as_ref().expect("it ran");
    let (before, now) = (versions(3), versions(2));
    assert_ne!(before.version, now.version);
    let digest = now.digest.to_string();
    for (version, expect) in [
        (now.version.as_str(), &[1][..]),
        (now.digest.short(), &[1]),
        (&digest, &[1]),
        (&before.version, &[3, 2, 0]),
        (&digest[..7], &[]),
        ("%", &[]),
    ] {
        check(&|one| one.version = Some(version.to_owned()), expect).await;
    }
    let listed = world.deliveries(&all()).await.unwrap();
    assert_eq!(listed[0].connection, "portal");
    assert_eq!((listed[0].items, listed[1].items), (1, 0));
    assert_eq!(listed[0].bytes, 15);
    assert_eq!(listed[1].error.as_deref(), Some("why"));
}

pub async fn converted_deliveries_are_counted_among_the_newest_ones(world: &World) {
    let mut times = Vec::new();
    for _ in 0..4 {
        world.deliver(vec![lead(world.lead())]).await;
        times.push(world.now());
        world.advance(1).await;
    }
    world.received(DeliveryStatus::Failed).await;
    world.received(DeliveryStatus::Quarantined).await;
    let mut listed = world.deliveries(&all()).await.unwrap();
    let oldest = listed.pop().expect("a delivery");
    let digest = oldest.ran.expect("it ran").digest;
    let all = all_of_site(world);
    let check = async |filter: ConvertedFilter, rows: u32, looked: u64, found: u64| {
        let counted = world.count_deliveries(&filter, rows).await.unwrap();
        assert_eq!(counted, DeliveryCount { looked, found }, "{filter:?}");
    };
    check(all.clone(), 10, 6, 5).await;
    check(all.clone(), 3, 3, 2).await;
    let recent = ConvertedFilter {
        since: Some(times[2]),
        ..all.clone()
    };
    check(recent, 10, 4, 3).await;
    let converted_by = |digest| ConvertedFilter {
        digest: Some(digest),
        ..all.clone()
    };
    let found = world.count_deliveries(&converted_by(digest), 10).await;
    assert!(found.unwrap().found >= 4);
    check(converted_by(Digest("0".repeat(64))), 10, 6, 0).await;
    let failed = ConvertedFilter {
        failed: true,
        ..all
    };
    check(failed, 10, 6, 1).await;
}

fn all_of_site(world: &World) -> ConvertedFilter {
    ConvertedFilter {
        workspace: world.workspace,
        connection: world.site.clone(),
        failed: false,
        since: None,
        digest: None,
    }
}

pub async fn the_newest_of_each_outcome_come_in_turn(world: &World) {
    const CONVERTED: DeliveryStatus = DeliveryStatus::Converted;
    const REJECTED: DeliveryStatus = DeliveryStatus::Rejected;
    let mut ids = Vec::new();
    let mut times = Vec::new();
    for status in [
        REJECTED,
        REJECTED,
        DeliveryStatus::Ignored,
        CONVERTED,
        CONVERTED,
        DeliveryStatus::Failed,
        CONVERTED,
        DeliveryStatus::Quarantined,
    ] {
        times.push(world.now());
        let write = match status {
            CONVERTED => world.accept(vec![lead(world.lead())]),
            other => world.accept_with(other),
        };
        ids.push(world.commit_one(write).await.delivery);
        world.advance(1).await;
    }
    let all = all_of_site(world);
    let check = async |filter: &_, rows, limit, expect: &[(usize, DeliveryStatus)]| {
        let found = world.newest_of_outcomes(filter, rows, limit).await;
        let expect = expect.iter().map(|(at, status)| (ids[*at], *status));
        assert_eq!(found.unwrap(), expect.collect::<Vec<_>>(), "{filter:?}");
    };
    let ignored = (2, DeliveryStatus::Ignored);
    let first = [(6, CONVERTED), ignored, (1, REJECTED)];
    check(&all, 100, 3, &first).await;
    let second = [(4, CONVERTED), (0, REJECTED), (3, CONVERTED)];
    check(&all, 100, 100, &[first, second].concat()).await;
    // Only the newest rows are looked at, whatever their outcome.
    check(&all, 4, 100, &[(6, CONVERTED), (4, CONVERTED)]).await;
    let recent = ConvertedFilter {
        since: Some(times[4]),
        ..all.clone()
    };
    check(&recent, 100, 100, &[(6, CONVERTED), (4, CONVERTED)]).await;
    let unknown = ConvertedFilter {
        digest: Some(Digest("0".repeat(64))),
        ..all
    };
    check(&unknown, 100, 100, &[]).await;
}

pub async fn the_floor_of_a_list_is_the_row_after_its_newest_ones(world: &World) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.deliver(Vec::new()).await.delivery);
        world.advance(1).await;
    }
    let before = || DeliveryFilter {
        before: Some(ids[2]),
        ..all()
    };
    let of = |id| DeliveryFilter {
        connection: Some(id),
        ..all()
    };
    for (filter, rows, expect) in [
        (all(), 2, Some(ids[2])),
        (all(), 4, Some(ids[0])),
        (all(), 5, None),
        (before(), 1, Some(ids[0])),
        (before(), 2, None),
        (of(world.site.clone()), 2, Some(ids[2])),
        (of(ConnectionId::generate()), 1, None),
    ] {
        let floor = world.delivery_floor(&filter, rows).await.unwrap();
        assert_eq!(floor, expect, "{rows} of {filter:?}");
    }

    // A list looks at the floor and what is newer.
    let from = Some(ids[2]);
    let listed = world.deliveries(&DeliveryFilter { from, ..all() }).await;
    let listed: Vec<_> = listed.unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(listed, [ids[4], ids[3], ids[2]]);

    let last = world.last_deliveries().await.unwrap();
    assert_eq!(last.len(), 1);
    let newest = world.detail(ids[4]).await.summary;
    assert_eq!(last[&world.site], newest.received_at);
}
