//! A stored delivery is converted again: retries and replays.

use std::time::Duration;

use leadhost_domain::contact;
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::id::{ContactId, DeliveryId};
use leadhost_domain::lead::Action;
use leadhost_domain::limits;
use leadhost_domain::row::Entity;
use leadhost_store::{
    ContactMerge, ConversionResult, DealFilter, ItemResult, Mode, PersonBy, WriteOutcome,
};
use leadhost_tests::has;
use serde_json::json;

use super::world::*;

const LOOK: Mode = Mode::Replay { apply: false };
const APPLY: Mode = Mode::Replay { apply: true };

pub async fn a_failed_delivery_is_accepted_as_usual_when_it_is_retried(world: &World) {
    let failed = world
        .commit_one(world.accept_with(DeliveryStatus::Failed))
        .await;
    let items = vec![lead(world.known_as("L1")), lead(world.known_as("L2"))];
    let outcome = world.replay(failed.delivery, Mode::Retry, items).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
    let detail = world.detail(failed.delivery).await;
    assert_eq!(detail.items.len(), 2);
    assert_eq!(detail.summary.error, None);
    assert_eq!(detail.next_attempt_at, None);
}

pub async fn the_log_of_a_plugin_stays_until_a_version_is_called_again(world: &World) {
    let failure = |status, version: Option<&str>, notes: &[&str]| ConversionResult {
        status: Some(status),
        error: Some("why".to_owned()),
        ran: version.map(ran),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        next_attempt_at: Some(world.now()),
        ..converted(Vec::new())
    };
    let queued = world
        .commit_one(world.accept_with(DeliveryStatus::Queued))
        .await;
    let id = queued.delivery;
    let retry = async |result: ConversionResult| {
        let held = world.claim_delivery(id).await;
        let write = convert_to(&held, Mode::Retry, result);
        world.commit_one(write).await;
        let mut notes = world.detail(id).await.notes;
        notes.retain(|note| !note.starts_with("earlier, until "));
        notes
    };
    let wrote = ["panicked at src/lib.rs:3:5", "no phone"];
    assert_eq!(
        retry(failure(DeliveryStatus::Failed, Some("2"), &wrote)).await,
        wrote
    );
    // The host is busy; then the circuit is open.
    assert_eq!(
        retry(failure(DeliveryStatus::Queued, None, &[])).await,
        wrote
    );
    assert_eq!(
        retry(failure(DeliveryStatus::Failed, Some("2"), &[])).await,
        wrote
    );
    let again = ["panicked at src/lib.rs:9:5"];
    assert_eq!(
        retry(failure(DeliveryStatus::Failed, Some("2"), &again)).await,
        again
    );
    // Another version fails without a word.
    assert_eq!(
        retry(failure(DeliveryStatus::Failed, Some("3"), &[])).await,
        [""; 0]
    );
}

pub async fn earlier_failures_stay_among_the_notes(world: &World) {
    let queued = async || {
        let write = world.accept_with(DeliveryStatus::Queued);
        world.commit_one(write).await.delivery
    };
    let fail = async |id: DeliveryId, version: &str, attempts: u32, error: &str| {
        let held = world.claim_delivery(id).await;
        let result = ConversionResult {
            status: Some(DeliveryStatus::Failed),
            error: Some(error.to_owned()),
            ran: Some(ran(version)),
            attempts,
            notes: Vec::new(),
            next_attempt_at: Some(world.now()),
            ..converted(Vec::new())
        };
        let write = convert_to(&held, Mode::Retry, result);
        world.commit_one(write).await;
    };
    let id = queued().await;
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
        let items = vec![lead(world.known_as("L1"))];
        let outcome = world.replay(id, mode, items).await;
        assert_eq!(outcome.status, DeliveryStatus::Converted, "{mode:?}");
        let detail = world.detail(id).await;
        assert_eq!(detail.summary.error, None, "{mode:?}");
        assert_eq!(detail.notes, expect, "{mode:?}");
    }
    // Only the newest ones are kept.
    let id = queued().await;
    for version in 0..limits::EARLIER_FAILURES + 2 {
        fail(id, &version.to_string(), 1, "a trap").await;
    }
    let notes = world.detail(id).await.notes;
    assert_eq!(notes.len(), limits::EARLIER_FAILURES);
    has!(notes[0], "last on form 1: "; "{notes:?}");
}

pub async fn a_failure_is_remembered_with_its_attempts_and_its_next_time(world: &World) {
    let queued = world
        .commit_one(world.accept_with(DeliveryStatus::Queued))
        .await;
    let held = world.claim_delivery(queued.delivery).await;
    let at = world.now().plus(Duration::from_mins(1));
    let result = ConversionResult {
        status: Some(DeliveryStatus::Failed),
        attempts: 2,
        next_attempt_at: Some(at),
        error: Some("a trap".to_owned()),
        ran: Some(ran("2")),
        ..converted(Vec::new())
    };
    let outcome = world
        .commit_one(convert_to(&held, Mode::Retry, result))
        .await;
    assert_eq!(outcome.status, DeliveryStatus::Failed);
    let detail = world.detail(queued.delivery).await;
    assert_eq!(detail.summary.attempts, 2);
    assert_eq!(detail.summary.error.as_deref(), Some("a trap"));
    assert_eq!(detail.summary.ran, Some(ran("2")));
    assert_eq!(detail.next_attempt_at, Some(at));
}

pub async fn a_replay_of_the_owner_never_answers_duplicate(world: &World) {
    let first = world.deliver(vec![lead(world.known_as("L1"))]).await;
    for mode in [LOOK, APPLY, Mode::Retry] {
        let items = vec![lead(world.known_as("L1"))];
        let again = world.replay(first.delivery, mode, items).await;
        assert_eq!(again.status, DeliveryStatus::Converted);
        assert_eq!(again.items[0].status, ItemStatus::Converted);
        assert_eq!(again.items[0].deal_id, first.items[0].deal_id);
        assert!(again.items[0].diff.is_empty());
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn a_replay_that_finds_the_key_at_another_contact_moves_the_deal_there(world: &World) {
    let known = world
        .bring(with_phone(world.known_as("L0"), "+551191"))
        .await;
    world.advance(1).await;
    // A version that loses phones makes a new contact of a known person.
    let without = with_email(world.known_as("L1"), "rita@example.com");
    let first = world.deliver(vec![lead(without)]).await;
    let (deal, other) = (first.items[0].deal_id, first.items[0].contact_id);
    assert_ne!(other, known.contact_id);
    let id = |contact: Option<ContactId>| json!(contact.expect("a person").to_string());
    let with = with_email(
        with_phone(world.known_as("L1"), "+551191"),
        "rita@example.com",
    );
    for mode in [LOOK, APPLY, APPLY] {
        world.advance(1).await;
        let items = vec![lead(with.clone())];
        let again = world.replay(first.delivery, mode, items).await;
        let reported: Vec<_> = again.items[0]
            .diff
            .iter()
            .filter(|diff| diff.field == "deal.person")
            .map(|diff| (diff.before.clone(), diff.after.clone(), diff.applied))
            .collect();
        let deals = world.all(Entity::Deals).await;
        let of = json!(deal.unwrap().to_string());
        let row = deals
            .iter()
            .find(|row| row["id"] == of)
            .expect("it is there");
        let person = row["person_id"].clone();
        if reported.is_empty() {
            // It was moved before.
            assert_eq!(person, id(known.contact_id));
            assert_eq!(again.items[0].contact_id, known.contact_id);
            continue;
        }
        let applied = mode == APPLY;
        assert_eq!(reported, [(id(other), id(known.contact_id), applied)]);
        let whose = if applied { known.contact_id } else { other };
        assert_eq!(person, id(whose));
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
            email: Some("rita@example.com".to_owned()),
            ..Default::default()
        },
    ] {
        let found = world.deals(&world.scope, &filter, 10).await.unwrap();
        let found: Vec<_> = found.deals.into_iter().map(|one| one.deal.id).collect();
        assert!(found.contains(&deal.unwrap().to_string()), "{filter:?}");
    }
    let past = world
        .deal_past(world.workspace, deal.unwrap(), 10)
        .await
        .unwrap()
        .expect("it is there");
    assert_eq!(past.history[0].changes[0].field, "person_id");
}

pub async fn a_replay_that_only_looks_leaves_the_version_that_made_the_leads(world: &World) {
    let first = world.deliver(vec![lead(world.known_as("L1"))]).await;
    for (mode, version) in [(LOOK, "1"), (APPLY, "2")] {
        let held = world.claim_delivery(first.delivery).await;
        let result = ConversionResult {
            ran: Some(ran("2")),
            notes: vec!["read by another version".to_owned()],
            ..converted(vec![lead(world.known_as("L1"))])
        };
        world.commit_one(convert_to(&held, mode, result)).await;
        let detail = world.detail(first.delivery).await;
        assert_eq!(detail.summary.ran, Some(ran(version)), "{mode:?}");
        let is_new = detail.notes == ["read by another version"];
        assert_eq!(is_new, mode == APPLY, "{mode:?}");
    }
}

pub async fn a_contact_whose_deals_have_moved_leaves_its_keys_to_the_other(world: &World) {
    let known = world
        .bring(with_phone(world.known_as("L0"), "+551191"))
        .await;
    let without = with_email(world.known_as("L1"), "rita@example.com");
    let first = world.deliver(vec![lead(without)]).await;
    let (from, into) = (
        first.items[0].contact_id.unwrap(),
        known.contact_id.unwrap(),
    );
    let merge = async |from, into| {
        let merged = world.merge_contact(world.workspace, from, into, None);
        merged.await.expect("the store answers") == ContactMerge::Merged
    };
    assert!(!merge(from, into).await, "a deal belongs to it");
    assert!(!merge(into, into).await, "it is itself");
    let with = with_email(
        with_phone(world.known_as("L1"), "+551191"),
        "rita@example.com",
    );
    world.replay(first.delivery, APPLY, vec![lead(with)]).await;
    let unknown = ContactId::new(world.now());
    assert!(!merge(from, unknown).await, "there is no other");
    world.advance(5).await;
    assert!(merge(from, into).await);
    assert!(!merge(from, into).await, "it is gone");
    let contacts = world.all(Entity::Contacts).await;
    let ids: Vec<_> = contacts.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, [json!(into.to_string())]);
    // Clients of the feed learn that it is gone.
    let clock = world.page(Entity::Contacts, 0, None, 1).await.clock;
    assert_eq!(clock, world.now().0);
    // Its address now belongs to the other contact and is no longer shared.
    let again = world
        .bring(with_email(world.lead(), "rita@example.com"))
        .await;
    assert_eq!(again.contact_id, Some(into));
    let person = world
        .person(
            world.workspace,
            &PersonBy::Key(contact::email_key("rita@example.com")),
        )
        .await
        .expect("the store answers")
        .expect("the person exists");
    assert_eq!(person.id, into);
    let mut keys = person.keys;
    keys.sort();
    assert_eq!(keys, ["email:rita@example.com", "phone:+551191"]);
}

pub async fn a_replay_shows_the_differences_and_writes_them_only_when_asked(world: &World) {
    let mut new = with_phone(world.known_as("L1"), "+551191");
    new.title = Some("Flat".to_owned());
    let first = world.deliver(vec![lead(new.clone())]).await;
    let deal = first.items[0].deal_id.unwrap();
    world.advance(5).await;
    new.title = Some("Garden flat".to_owned());
    new.contact_props = object(json!({"city": "Natal"}));
    let clock = world.page(Entity::Deals, 0, None, 1).await.clock;

    let looked = world
        .replay(first.delivery, LOOK, vec![lead(new.clone())])
        .await;
    let diff = &looked.items[0].diff;
    assert_eq!(diff.len(), 2);
    assert_eq!(diff[0].field, "deal.title");
    assert_eq!(diff[0].before, json!("Flat"));
    assert_eq!(diff[0].after, json!("Garden flat"));
    assert!(diff.iter().all(|field| !field.applied));
    assert_eq!(world.deal(deal).await["title"], "Flat");
    assert_eq!(world.page(Entity::Deals, 0, None, 1).await.clock, clock);

    let applied = world
        .replay(first.delivery, APPLY, vec![lead(new.clone())])
        .await;
    assert!(applied.items[0].diff.iter().all(|field| field.applied));
    assert_eq!(applied.items[0].status, ItemStatus::Converted);
    assert_eq!(world.deal(deal).await["title"], "Garden flat");
    assert_eq!(world.deal(deal).await["cursor_at"], json!(world.now()));
    let contacts = world.all(Entity::Contacts).await;
    assert_eq!(contacts[0]["props"], json!({"city": "Natal"}));

    let nothing = world.replay(first.delivery, APPLY, vec![lead(new)]).await;
    assert!(nothing.items[0].diff.is_empty());
}

pub async fn a_replay_without_keys_finds_its_items_by_their_place(world: &World) {
    let items = || vec![lead(world.lead()), lead(world.lead())];
    let first = world.deliver(items()).await;
    let again = world.replay(first.delivery, APPLY, items()).await;
    assert_eq!(again.items, first.items);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn a_replay_that_meets_the_key_of_another_delivery_links_to_its_deal(world: &World) {
    let failed = world
        .commit_one(world.accept_with(DeliveryStatus::Failed))
        .await;
    let other = world.bring(world.known_as("L1")).await;
    let items = vec![lead(world.known_as("L1"))];
    let outcome = world.replay(failed.delivery, LOOK, items).await;
    assert_eq!(outcome.status, DeliveryStatus::Duplicate);
    assert_eq!(outcome.items[0].deal_id, other.deal_id);
}

pub async fn a_replay_adds_the_items_that_were_not_finished(world: &World) {
    let items = vec![
        lead(world.known_as("L1")),
        ItemResult::Invalid(leadhost_domain::exchange::InputProblem {
            message: "no phone".to_owned(),
            path: String::new(),
        }),
    ];
    let first = world.deliver(items).await;
    let items = vec![
        lead(world.known_as("L1")),
        lead(world.known_as("L2")),
        lead(world.known_as("L3")),
    ];
    let again = world.replay(first.delivery, LOOK, items).await;
    assert_eq!(again.items.len(), 3);
    assert!(
        again
            .items
            .iter()
            .all(|item| item.status == ItemStatus::Converted)
    );
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
        let stored = world.commit_one(world.accept_with(status)).await;
        let items = vec![
            lead(world.known_as("L1")),
            lead(world.known_as("L1")),
            ItemResult::Ignored("nothing".to_owned()),
        ];
        let shown = world.replay(stored.delivery, Mode::Preview, items).await;
        assert_eq!(shown.status, DeliveryStatus::Converted, "{status:?}");
        let statuses: Vec<_> = shown.items.iter().map(|item| item.status).collect();
        let expect = [
            ItemStatus::Converted,
            ItemStatus::Duplicate,
            ItemStatus::Ignored,
        ];
        assert_eq!(statuses, expect);
        let new = &shown.items[0];
        assert_eq!((new.deal_id, new.contact_id), (None, None));
        let fields: Vec<_> = new.diff.iter().map(|diff| diff.field.as_str()).collect();
        assert_eq!(fields, ["deal.created"]);
        assert!(!new.diff[0].applied);
        let detail = world.detail(stored.delivery).await;
        assert_eq!(detail.summary.status, status);
        assert_eq!(detail.summary.error.as_deref(), Some("why"));
        assert!(detail.items.is_empty(), "{:?}", detail.items);
        assert!(world.all(Entity::Deals).await.is_empty());
        assert!(world.all(Entity::Contacts).await.is_empty());
    }
    // Its claim is over, so it can be converted now.
    let stored = world
        .commit_one(world.accept_with(DeliveryStatus::Ignored))
        .await;
    let items = || vec![lead(world.known_as("L1"))];
    world.replay(stored.delivery, Mode::Preview, items()).await;
    let made = world.replay(stored.delivery, APPLY, items()).await;
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
    let mut changed = world.known_as("L1");
    changed.title = Some("Garden flat".to_owned());
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
    let stored = world
        .commit_one(world.accept_with(DeliveryStatus::Ignored))
        .await;
    let held = world.claim_delivery(stored.delivery).await;
    let result = ConversionResult {
        status: Some(DeliveryStatus::Failed),
        error: Some("a trap".to_owned()),
        next_attempt_at: Some(world.now()),
        ..converted(Vec::new())
    };
    let shown = world
        .commit_one(convert_to(&held, Mode::Preview, result))
        .await;
    assert_eq!(shown.status, DeliveryStatus::Failed);
    let detail = world.detail(stored.delivery).await;
    assert_eq!(detail.summary.status, DeliveryStatus::Ignored);
    assert_eq!(detail.summary.error.as_deref(), Some("why"));
    assert_eq!(detail.next_attempt_at, None);
}

pub async fn a_replay_that_fails_does_not_undo_the_leads(world: &World) {
    let first = world.deliver(vec![lead(world.known_as("L1"))]).await;
    let held = world.claim_delivery(first.delivery).await;
    let result = ConversionResult {
        status: Some(DeliveryStatus::Failed),
        error: Some("a trap".to_owned()),
        ..converted(Vec::new())
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
    let mut new = world.known_as("L1");
    world.bring(new.clone()).await;
    new.action = Action::Update;
    new.title = Some("One".to_owned());
    let update = world.deliver(vec![lead(new.clone())]).await;
    let mut later = new.clone();
    later.title = Some("Two".to_owned());
    world.bring(later).await;
    let again = world.replay(update.delivery, LOOK, vec![lead(new)]).await;
    assert_eq!(again.items[0].status, ItemStatus::Updated);
    assert!(!again.items[0].diff[0].applied);
    let deal = world.deal(update.items[0].deal_id.unwrap()).await;
    assert_eq!(deal["title"], "Two");
}

pub async fn only_the_holder_of_a_delivery_may_convert_it(world: &World) {
    let failed = world
        .commit_one(world.accept_with(DeliveryStatus::Failed))
        .await;
    let held = world.claim_delivery(failed.delivery).await;
    world.advance(61).await;
    let other = world.claim_delivery(failed.delivery).await;
    assert!(other.lease.0 > held.lease.0);
    let items = || vec![lead(world.known_as("L1"))];
    let late = world.commit(&[convert(&held, Mode::Retry, items())]).await;
    assert!(matches!(late[0], WriteOutcome::Stale));
    assert_eq!(world.status(failed.delivery).await, DeliveryStatus::Failed);
    world
        .commit_one(convert(&other, Mode::Retry, items()))
        .await;
    // A settled lease is over too.
    let twice = world.commit(&[convert(&other, Mode::Retry, items())]).await;
    assert!(matches!(twice[0], WriteOutcome::Stale));
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}
