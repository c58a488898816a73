//! A stored delivery is converted again: retries and replays.

use super::deals;
use super::world::*;

pub async fn a_failed_delivery_is_accepted_as_usual_when_it_is_retried(world: &World) {
    let failed = world.received(DeliveryStatus::Failed).await;
    let items = world.leads(["L1", "L2"]);
    let outcome = world.replay(failed, Mode::Retry, items).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
    let detail = world.detail(failed).await;
    assert_eq!(detail.items.len(), 2);
    assert_eq!(detail.summary.error, None);
    assert_eq!(detail.next_attempt_at, None);
}

/// A host that holds the delivery retries it, with this result.
async fn retried(world: &World, id: DeliveryId, result: ConversionResult) -> DeliveryOutcome {
    let held = world.claim_delivery(id).await;
    let write = convert_to(&held, Mode::Retry, result);
    world.commit_one(write).await
}

pub async fn the_log_of_a_plugin_stays_until_a_version_is_called_again(world: &World) {
    let id = world.received(DeliveryStatus::Queued).await;
    let wrote: &[_] = &["panicked at src/lib.rs:3:5", "no phone"];
    let again: &[_] = &["panicked at src/lib.rs:9:5"];
    for (status, version, notes, expect) in [
        (DeliveryStatus::Failed, Some("2"), wrote, wrote),
        // The host is busy; then the circuit is open.
        (DeliveryStatus::Queued, None, &[], wrote),
        (DeliveryStatus::Failed, Some("2"), &[], wrote),
        (DeliveryStatus::Failed, Some("2"), again, again),
        // Another version fails without a word.
        (DeliveryStatus::Failed, Some("3"), &[], &[]),
    ] {
        let failure = ConversionResult {
            error: Some("why".to_owned()),
            ran: version.map(ran),
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
            next_attempt_at: Some(world.now()),
            ..ended(status)
        };
        retried(world, id, failure).await;
        let mut found = world.detail(id).await.notes;
        found.retain(|note| !note.starts_with("earlier, until "));
        assert_eq!(found, expect, "{status:?} by {version:?}");
    }
}

pub async fn earlier_failures_stay_among_the_notes(world: &World) {
    let fail = async |id: DeliveryId, version: &str, attempts: u32, error: &str| {
        let failure = ConversionResult {
            error: Some(error.to_owned()),
            ran: Some(ran(version)),
            attempts,
            notes: Vec::new(),
            next_attempt_at: Some(world.now()),
            ..ended(DeliveryStatus::Failed)
        };
        retried(world, id, failure).await;
    };
    let id = world.received(DeliveryStatus::Queued).await;
    fail(id, "1", 1, "the first trap").await;
    fail(id, "1", 2, "the second trap").await;
    fail(id, "2", 1, "another trap").await;
    let until = world.now().to_the_second();
    let expect = [
        format!("earlier, until {until}: failed 2 times, last on form 1: the second trap"),
        format!("earlier, until {until}: failed 1 time, last on form 2: another trap"),
        "read as a form".to_owned(),
    ];
    for mode in [Mode::Retry, LOOK, APPLY] {
        let outcome = world.replay(id, mode, world.leads(["L1"])).await;
        assert_eq!(outcome.status, DeliveryStatus::Converted, "{mode:?}");
        let detail = world.detail(id).await;
        assert_eq!(detail.summary.error, None, "{mode:?}");
        assert_eq!(detail.notes, expect, "{mode:?}");
    }
    // Only the newest ones are kept.
    let id = world.received(DeliveryStatus::Queued).await;
    for version in 0..limits::EARLIER_FAILURES + 2 {
        fail(id, &version.to_string(), 1, "a trap").await;
    }
    let notes = world.detail(id).await.notes;
    assert_eq!(notes.len(), limits::EARLIER_FAILURES);
    has!(notes[0], "last on form 1: "; "{notes:?}");
}

pub async fn a_failure_is_remembered_with_its_attempts_and_its_next_time(world: &World) {
    let queued = world.received(DeliveryStatus::Queued).await;
    let at = Some(world.in_a_minute());
    let failure = ConversionResult {
        attempts: 2,
        next_attempt_at: at,
        error: Some("a trap".to_owned()),
        ran: Some(ran("2")),
        ..ended(DeliveryStatus::Failed)
    };
    let outcome = retried(world, queued, failure).await;
    assert_eq!(outcome.status, DeliveryStatus::Failed);
    let detail = world.detail(queued).await;
    assert_eq!(detail.summary.attempts, 2);
    assert_eq!(detail.summary.error.as_deref(), Some("a trap"));
    assert_eq!(detail.summary.ran, Some(ran("2")));
    assert_eq!(detail.next_attempt_at, at);
}

pub async fn a_replay_of_the_owner_never_answers_duplicate(world: &World) {
    let first = world.deliver(world.leads(["L1"])).await;
    for mode in [LOOK, APPLY, Mode::Retry] {
        let items = world.leads(["L1"]);
        let again = world.replay(first.delivery, mode, items).await;
        assert_eq!(again.status, DeliveryStatus::Converted);
        assert_eq!(again.items[0].status, ItemStatus::Converted);
        assert_eq!(again.items[0].deal_id, first.items[0].deal_id);
        assert!(again.items[0].diff.is_empty());
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

const EMAIL: &str = "rita@example.com";

/// The lead of a known person, as a version that loses phones reads it, and as it is. The first
/// one makes another contact.
async fn of_a_known_person(world: &World) -> (ItemOutcome, DeliveryOutcome, NewLead) {
    let known = with_phone(world.known_as("L0"), "+551191");
    let known = world.bring(known).await;
    let without = with_email(world.known_as("L1"), EMAIL);
    let first = world.deliver(vec![lead(without.clone())]).await;
    assert_ne!(first.items[0].contact_id, known.contact_id);
    (known, first, with_phone(without, "+551191"))
}

pub async fn a_replay_that_finds_the_key_at_another_contact_moves_the_deal_there(world: &World) {
    let (known, first, with) = of_a_known_person(world).await;
    let (deal, other) = (first.items[0].deal_id.unwrap(), first.items[0].contact_id);
    for (mode, is_new) in [(LOOK, true), (APPLY, true), (APPLY, false)] {
        world.advance(1).await;
        let items = vec![lead(with.clone())];
        let again = world.replay(first.delivery, mode, items).await;
        let diff = again.items[0].diff.iter();
        let reported: Vec<_> = diff
            .filter(|diff| diff.field == "deal.person")
            .map(|diff| (diff.before.clone(), diff.after.clone(), diff.applied))
            .collect();
        let applied = mode == APPLY;
        let moved = (json!(other), json!(known.contact_id), applied);
        let expect: &[_] = if is_new { &[moved] } else { &[] };
        assert_eq!(reported, expect);
        let whose = if applied { known.contact_id } else { other };
        assert_eq!(world.deal(deal).await["person_id"], json!(whose));
    }
    // An erasure of the person finds the delivery, and both contacts find the
    // deal.
    let detail = world.detail(first.delivery).await;
    assert_eq!(detail.items[0].contact_id, known.contact_id);
    for filter in [
        DealFilter {
            phone_key: Some(contact::phone_key("+551191")),
            ..Default::default()
        },
        DealFilter {
            email: Some(EMAIL.to_owned()),
            ..Default::default()
        },
    ] {
        let found = deals::ids(&deals::found(world, &filter).await);
        assert!(found.contains(&deal.to_string()), "{filter:?}");
    }
    let history = deals::past(world, deal).await.history;
    assert_eq!(history[0].changes[0].field, "person_id");
}

pub async fn a_replay_that_only_looks_leaves_the_version_that_made_the_leads(world: &World) {
    let first = world.deliver(world.leads(["L1"])).await;
    for (mode, version) in [(LOOK, "1"), (APPLY, "2")] {
        let held = world.claim_delivery(first.delivery).await;
        let result = ConversionResult {
            ran: Some(ran("2")),
            notes: vec!["read by another version".to_owned()],
            ..converted(world.leads(["L1"]))
        };
        world.commit_one(convert_to(&held, mode, result)).await;
        let detail = world.detail(first.delivery).await;
        assert_eq!(detail.summary.ran, Some(ran(version)), "{mode:?}");
        let is_new = detail.notes == ["read by another version"];
        assert_eq!(is_new, mode == APPLY, "{mode:?}");
    }
}

pub async fn a_contact_whose_deals_have_moved_leaves_its_keys_to_the_other(world: &World) {
    let (known, first, with) = of_a_known_person(world).await;
    let from = first.items[0].contact_id.unwrap();
    let into = known.contact_id.unwrap();
    let merge = async |from, into| {
        let merged = world.merge_contact(world.workspace, from, into, None);
        merged.await.expect("the store answers") == ContactMerge::Merged
    };
    assert!(!merge(from, into).await, "a deal belongs to it");
    assert!(!merge(into, into).await, "it is itself");
    world.replay(first.delivery, APPLY, vec![lead(with)]).await;
    let unknown = ContactId::random();
    assert!(!merge(from, unknown).await, "there is no other");
    world.advance(5).await;
    assert!(merge(from, into).await);
    assert!(!merge(from, into).await, "it is gone");
    let contacts = world.all(Entity::Contacts).await;
    let ids: Vec<_> = contacts.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, [json!(into.to_string())]);
    // Clients of the feed learn that it is gone.
    let clock = world.clock(Entity::Contacts).await;
    assert_eq!(clock, world.now().0);
    // Its address now belongs to the other contact and is no longer shared.
    let again = world.bring(with_email(world.lead(), EMAIL)).await;
    assert_eq!(again.contact_id, Some(into));
    let by = PersonBy::Key(contact::email_key(EMAIL));
    let person = world.person(world.workspace, &by).await;
    let mut person = person.expect("it reads").expect("the person exists");
    assert_eq!(person.id, into);
    person.keys.sort();
    assert_eq!(person.keys, ["email:rita@example.com", "phone:+551191"]);
}

pub async fn a_replay_shows_the_differences_and_writes_them_only_when_asked(world: &World) {
    let new = with_phone(titled(world.known_as("L1"), "Flat"), "+551191");
    let first = world.deliver(vec![lead(new.clone())]).await;
    let deal = first.items[0].deal_id.unwrap();
    world.advance(5).await;
    let mut new = titled(new, "Garden flat");
    new.contact_props = object(json!({"city": "Natal"}));
    let replay = async |mode| {
        let items = vec![lead(new.clone())];
        world.replay(first.delivery, mode, items).await
    };
    let clock = world.clock(Entity::Deals).await;
    let diff = replay(LOOK).await.items.remove(0).diff;
    assert_eq!(diff.len(), 2);
    assert_eq!(diff[0].field, "deal.title");
    assert_eq!(diff[0].before, json!("Flat"));
    assert_eq!(diff[0].after, json!("Garden flat"));
    assert!(diff.iter().all(|field| !field.applied));
    assert_eq!(world.deal(deal).await["title"], "Flat");
    assert_eq!(world.clock(Entity::Deals).await, clock);

    let applied = replay(APPLY).await;
    assert!(applied.items[0].diff.iter().all(|field| field.applied));
    assert_eq!(applied.items[0].status, ItemStatus::Converted);
    fields!(world.deal(deal).await, {"title": "Garden flat", "cursor_at": world.now()});
    let contacts = world.all(Entity::Contacts).await;
    assert_eq!(contacts[0]["props"], json!({"city": "Natal"}));
    assert!(replay(APPLY).await.items[0].diff.is_empty());
}

pub async fn a_replay_without_keys_finds_its_items_by_their_place(world: &World) {
    let items = || vec![lead(world.lead()), lead(world.lead())];
    let first = world.deliver(items()).await;
    let again = world.replay(first.delivery, APPLY, items()).await;
    assert_eq!(again.items, first.items);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn a_replay_that_meets_the_key_of_another_delivery_links_to_its_deal(world: &World) {
    let failed = world.received(DeliveryStatus::Failed).await;
    let other = world.bring(world.known_as("L1")).await;
    let items = world.leads(["L1"]);
    let outcome = world.replay(failed, LOOK, items).await;
    assert_eq!(outcome.status, DeliveryStatus::Duplicate);
    assert_eq!(outcome.items[0].deal_id, other.deal_id);
}

pub async fn a_replay_adds_the_items_that_were_not_finished(world: &World) {
    let invalid = ItemResult::Invalid(InputProblem {
        message: "no phone".to_owned(),
        path: String::new(),
    });
    let items = vec![lead(world.known_as("L1")), invalid];
    let first = world.deliver(items).await;
    let items = world.leads(["L1", "L2", "L3"]);
    let again = world.replay(first.delivery, LOOK, items).await;
    assert_eq!(statuses(&again.items), [ItemStatus::Converted; 3]);
    assert_eq!(again.items[0].deal_id, first.items[0].deal_id);
    assert_eq!(world.all(Entity::Deals).await.len(), 3);
}

pub async fn a_preview_shows_what_an_unfinished_delivery_would_make_and_makes_nothing(
    world: &World,
) {
    for status in [
        DeliveryStatus::Ignored,
        DeliveryStatus::Rejected,
        DeliveryStatus::Unrouted,
        DeliveryStatus::Duplicate,
    ] {
        let stored = world.received(status).await;
        let items = vec![
            lead(world.known_as("L1")),
            lead(world.known_as("L1")),
            ItemResult::Ignored("nothing".to_owned()),
        ];
        let shown = world.replay(stored, Mode::Preview, items).await;
        assert_eq!(shown.status, DeliveryStatus::Converted, "{status:?}");
        let expect = [
            ItemStatus::Converted,
            ItemStatus::Duplicate,
            ItemStatus::Ignored,
        ];
        assert_eq!(statuses(&shown.items), expect);
        let new = &shown.items[0];
        assert_eq!((new.deal_id, new.contact_id), (None, None));
        let fields: Vec<_> = new.diff.iter().map(|diff| diff.field.as_str()).collect();
        assert_eq!(fields, ["deal.created"]);
        assert!(!new.diff[0].applied);
        let detail = world.detail(stored).await;
        assert_eq!(detail.summary.status, status);
        assert_eq!(detail.summary.error.as_deref(), Some("why"));
        assert!(detail.items.is_empty(), "{:?}", detail.items);
        assert!(world.all(Entity::Deals).await.is_empty());
        assert!(world.all(Entity::Contacts).await.is_empty());
    }
    // Its claim is over, so it can be converted now.
    let stored = world.received(DeliveryStatus::Ignored).await;
    let items = || world.leads(["L1"]);
    world.replay(stored, Mode::Preview, items()).await;
    let made = world.replay(stored, APPLY, items()).await;
    assert!(made.items[0].deal_id.is_some());
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn a_preview_shows_the_differences_of_finished_items_and_the_leads_that_it_would_add(
    world: &World,
) {
    let items = vec![
        lead(world.known_as("L1")),
        ItemResult::Ignored("nothing".to_owned()),
    ];
    let first = world.deliver(items).await;
    let changed = titled(world.known_as("L1"), "Garden flat");
    let items = vec![lead(changed), lead(world.known_as("L2"))];
    let shown = world.replay(first.delivery, Mode::Preview, items).await;
    let fields: Vec<Vec<_>> = shown
        .items
        .iter()
        .map(|item| item.diff.iter().map(|diff| diff.field.as_str()).collect())
        .collect();
    assert_eq!(fields, [["deal.title"], ["deal.created"]]);
    assert_eq!(shown.items[0].deal_id, first.items[0].deal_id);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    let deal = world.deal(first.items[0].deal_id.expect("a deal")).await;
    assert_eq!(deal["title"], json!(null));
    let detail = world.detail(first.delivery).await;
    assert_eq!(detail.items, first.items);
}

pub async fn a_preview_that_fails_leaves_the_delivery_as_it_is(world: &World) {
    let stored = world.received(DeliveryStatus::Ignored).await;
    let held = world.claim_delivery(stored).await;
    let result = ConversionResult {
        error: Some("a trap".to_owned()),
        next_attempt_at: Some(world.now()),
        ..ended(DeliveryStatus::Failed)
    };
    let preview = convert_to(&held, Mode::Preview, result);
    let shown = world.commit_one(preview).await;
    assert_eq!(shown.status, DeliveryStatus::Failed);
    let detail = world.detail(stored).await;
    assert_eq!(detail.summary.status, DeliveryStatus::Ignored);
    assert_eq!(detail.summary.error.as_deref(), Some("why"));
    assert_eq!(detail.next_attempt_at, None);
}

pub async fn a_replay_that_fails_does_not_undo_the_leads(world: &World) {
    let first = world.deliver(world.leads(["L1"])).await;
    let held = world.claim_delivery(first.delivery).await;
    let result = ConversionResult {
        error: Some("a trap".to_owned()),
        ..ended(DeliveryStatus::Failed)
    };
    let outcome = world.commit_one(convert_to(&held, LOOK, result)).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(outcome.items.len(), 1);
    // Nor does a version that finds nothing in it.
    let ignored = vec![ItemResult::Ignored("nothing".to_owned())];
    let outcome = world.replay(first.delivery, APPLY, ignored).await;
    assert_eq!(outcome.items, first.items);
}

pub async fn a_replay_of_an_update_shows_and_does_not_repeat_it(world: &World) {
    let new = |title| titled(world.known_as("L1"), title);
    world.bring(world.known_as("L1")).await;
    let one = lead(updating(new("One")));
    let update = world.deliver(vec![one.clone()]).await;
    world.bring(updating(new("Two"))).await;
    let again = world.replay(update.delivery, LOOK, vec![one]).await;
    assert_eq!(again.items[0].status, ItemStatus::Updated);
    assert!(!again.items[0].diff[0].applied);
    let deal = world.deal(update.items[0].deal_id.unwrap()).await;
    assert_eq!(deal["title"], "Two");
}

pub async fn only_the_holder_of_a_delivery_may_convert_it(world: &World) {
    let failed = world.received(DeliveryStatus::Failed).await;
    let held = world.claim_delivery(failed).await;
    world.advance(61).await;
    let other = world.claim_delivery(failed).await;
    assert!(other.lease.0 > held.lease.0);
    let retry = |held| convert(held, Mode::Retry, world.leads(["L1"]));
    world.assert_stale(retry(&held)).await;
    assert_eq!(world.status(failed).await, DeliveryStatus::Failed);
    world.commit_one(retry(&other)).await;
    // A settled lease is over too.
    world.assert_stale(retry(&other)).await;
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}
