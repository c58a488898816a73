//! The audit: rows follow each other and are read in both directions.

use leadhost_domain::audit::{Act, ActOutcome, AuditCheckpoint, AuditRow};
use leadhost_domain::key::Role;

use super::world::*;

fn act(world: &World, label: &str, target: &str) -> Act {
    Act {
        at: world.now(),
        key_id: Some(KeyId::new(world.now())),
        label: label.to_owned(),
        role: Some(Role::Operator),
        address: "127.0.0.1".to_owned(),
        act: "activate-plugin".to_owned(),
        target: target.to_owned(),
        outcome: ActOutcome::Begun,
        begun: None,
        detail: r#"{"name":"\u0000 é"}"#.to_owned(),
    }
}

#[track_caller]
fn assert_chain(rows: &[AuditRow]) {
    let mut before: Option<&AuditRow> = None;
    for row in rows {
        assert!(row.follows(before), "{row:?}");
        before = Some(row);
    }
}

pub async fn rows_of_the_audit_follow_each_other_and_come_back_as_they_were(world: &World) {
    let first = world.add_audit(act(world, "ana", "one")).await.unwrap();
    let end = Act {
        outcome: ActOutcome::Done,
        begun: Some(first.number),
        key_id: None,
        ..act(world, "ana", "one")
    };
    let second = world.add_audit(end).await.expect("stored");
    let rows = world.audit_after(0, 10).await.expect("read");
    assert_eq!(rows, [first, second]);
    assert_chain(&rows);
}

pub async fn rows_of_the_audit_that_are_added_at_once_have_one_order(world: &World) {
    let mut adding = tokio::task::JoinSet::new();
    for number in 0..20 {
        let act = act(world, "ana", &number.to_string());
        let store = Arc::clone(&world.store);
        adding.spawn(async move { store.add_audit(act).await });
    }
    for added in adding.join_all().await {
        added.expect("stored");
    }
    let rows = world.audit_after(0, 100).await.expect("read");
    assert_eq!(rows.len(), 20);
    assert_chain(&rows);
}

pub async fn the_audit_is_listed_newest_first_in_pages_and_by_its_filters(world: &World) {
    for (label, target) in [("ana", "1"), ("bia", "2"), ("ana", "3")] {
        let added = world.add_audit(act(world, label, target)).await;
        added.expect("stored");
    }
    let check = async |change: &dyn Fn(&mut AuditFilter), expect: &[&str]| {
        let mut filter = AuditFilter {
            limit: 10,
            ..AuditFilter::default()
        };
        change(&mut filter);
        let rows = world.audit(&filter).await.expect("read");
        let targets: Vec<_> = rows.into_iter().map(|row| row.target).collect();
        assert_eq!(targets, expect, "{filter:?}");
    };
    check(&|_| (), &["3", "2", "1"]).await;
    check(&|one| (one.limit, one.before) = (1, Some(3)), &["2"]).await;
    check(&|one| one.actor = Some("ana".to_owned()), &["3", "1"]).await;
    check(&|one| one.act = Some("apply".to_owned()), &[]).await;
    let later = world.now().plus(std::time::Duration::from_secs(1));
    check(&|one| one.since = Some(later), &[]).await;
}

/// Removes rows that are older than 30 days, and returns how many.
async fn remove(world: &World, limit: u32) -> u64 {
    let (now, month) = (world.now(), std::time::Duration::from_hours(30 * 24));
    let removed = world.remove_audit(now.minus(month), now, limit).await;
    removed.expect("it removes")
}

/// Returns all rows, which follow each other from the checkpoint on, and the checkpoint.
async fn chain(world: &World) -> (Vec<AuditRow>, AuditCheckpoint) {
    let rows = world.audit_after(0, 100).await.expect("read");
    let extent = world.audit_extent().await.expect("read");
    let mut before = extent.removed.clone();
    for row in &rows {
        assert!(row.continues(&before), "{row:?} after {before:?}");
        before = row.place();
    }
    assert_eq!(extent.newest, before.number);
    (rows, extent.removed)
}

pub async fn old_rows_of_the_audit_are_removed_in_steps_and_the_chain_goes_on(world: &World) {
    let mut places = vec![AuditCheckpoint::default()];
    for number in 1..=6 {
        let added = act(world, "ana", &number.to_string());
        let added = world.add_audit(added).await.expect("stored");
        places.push(added.place());
        world.advance(if number == 5 { 20 * DAY } else { 1 }).await;
    }
    assert_eq!(chain(world).await.1, AuditCheckpoint::default());
    world.advance(10 * DAY).await;
    assert_eq!(remove(world, 10).await, 0, "they are removed once a day");
    world.advance(DAY).await;
    for (limit, removed, last, rows) in [(3, 3, 3, 4), (3, 2, 5, 3), (3, 0, 5, 3)] {
        assert_eq!(remove(world, limit).await, removed);
        let (found, checkpoint) = chain(world).await;
        assert_eq!(checkpoint, places[last]);
        assert_eq!(found.len(), rows, "with a row for each removal");
        let newest = found.last().expect("a row");
        assert_eq!(newest.label, "service");
        assert_eq!(newest.removed(), Some(checkpoint), "{newest:?}");
    }
    // The chain goes on even if every row is old.
    world.advance(400 * DAY).await;
    assert_eq!(remove(world, 10).await, 3);
    let (rows, _) = chain(world).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0].number, 9);
}

pub async fn rows_are_added_to_the_audit_while_others_are_removed(world: &World) {
    for number in 0..20 {
        let act = act(world, "ana", &number.to_string());
        world.add_audit(act).await.expect("stored");
    }
    world.advance(40 * DAY).await;
    let (now, month) = (world.now(), std::time::Duration::from_hours(30 * 24));
    let mut working = tokio::task::JoinSet::new();
    for number in 0..10 {
        let act = act(world, "bia", &number.to_string());
        let store = Arc::clone(&world.store);
        working.spawn(async move { store.add_audit(act).await.map(|_row| 0) });
        let store = Arc::clone(&world.store);
        working.spawn(async move { store.remove_audit(now.minus(month), now, 4).await });
    }
    let removed = working.join_all().await;
    let removed: u64 = removed.into_iter().map(|one| one.expect("stored")).sum();
    assert_eq!(removed, 20);
    let (rows, _) = chain(world).await;
    assert_eq!(rows.len(), 10 + 5, "the added ones, and one for each step");
}
