//! An operator replays a delivery.

use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::id::DeliveryId;
use leadhost_pipeline::replay::{self, ReplayOptions};
use leadhost_store::DeliveryOutcome;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Host, On, guests};

use super::{form, harm, lead};

leadhost_tests::on_every_store! {
    the_owner_of_a_lead_is_no_duplicate_of_itself,
    a_replay_with_a_changed_converter_shows_the_differences_and_apply_writes_them,
    a_replay_that_fails_leaves_the_lead_as_it_is,
    two_leads_of_one_phone_keep_their_own_fields_and_a_replay_renames_no_contact,
}

async fn again(host: &Host, id: DeliveryId, apply: bool) -> DeliveryOutcome {
    let options = ReplayOptions {
        apply,
        release: false,
        ..ReplayOptions::default()
    };
    replay::one(&host.app.pipeline, id, options)
        .await
        .expect("it is replayed")
}

async fn the_owner_of_a_lead_is_no_duplicate_of_itself(on: On) {
    let (host, declared) = form(on).await;
    let body = lead("f-1", "Lia Prado", "11 98888-0001");
    let send = async || {
        let ask = host.post(&declared.address("form")).json(&body);
        let answer = ask.send().await.expect(200);
        host.delivery(&answer).await.summary.id
    };
    let (owner, repeat) = (send().await, send().await);
    for apply in [false, true] {
        let outcome = again(&host, owner, apply).await;
        assert_eq!(outcome.status, DeliveryStatus::Converted);
        assert_eq!(outcome.items[0].status, ItemStatus::Converted);
        assert!(outcome.items[0].diff.is_empty(), "{outcome:?}");
        assert_eq!(
            again(&host, repeat, apply).await.status,
            DeliveryStatus::Duplicate
        );
    }
    assert_eq!(host.rows(&declared, "deals").await.len(), 1);
}

async fn a_replay_with_a_changed_converter_shows_the_differences_and_apply_writes_them(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("good", "", 0)).await;
    let answer = host
        .post(&declared.address("good"))
        .send()
        .await
        .expect(200);
    let id = host.delivery(&answer).await.summary.id;
    let changed = Variant {
        version: "1.1.0",
        prefix: "at ",
        ..Variant::default()
    };
    let digest = host.converter(changed.component()).await;

    let before = host.rows(&declared, "deals").await;
    let shown = again(&host, id, false).await;
    let [difference] = &shown.items[0].diff[..] else {
        panic!("one field differs: {shown:?}");
    };
    assert_eq!(difference.field, "deal.props.message");
    assert!(!difference.applied);
    assert_eq!(
        host.rows(&declared, "deals").await,
        before,
        "nothing was written"
    );

    let applied = again(&host, id, true).await;
    assert!(applied.items[0].diff[0].applied);
    assert_eq!(applied.items[0].deal_id, shown.items[0].deal_id);
    let after = host.rows(&declared, "deals").await;
    assert!(after[0].to_string().contains("at 20"), "{}", after[0]);
    assert!(after[0]["cursor_at"].as_str() > before[0]["cursor_at"].as_str());
    assert_eq!(
        host.stored(id).await.summary.ran.expect("it ran").digest,
        digest
    );
    assert!(again(&host, id, true).await.items[0].diff.is_empty());
}

async fn a_replay_that_fails_leaves_the_lead_as_it_is(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("good", "", 0)).await;
    let answer = host
        .post(&declared.address("good"))
        .send()
        .await
        .expect(200);
    let id = host.delivery(&answer).await.summary.id;
    host.declare(&harm("good", "trap", 0)).await;
    let outcome = again(&host, id, true).await;
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert_eq!(host.rows(&declared, "deals").await.len(), 1);
}

async fn two_leads_of_one_phone_keep_their_own_fields_and_a_replay_renames_no_contact(on: On) {
    let (host, declared) = form(on).await;
    let send = async |id: &str, name: &str| {
        let body = lead(id, name, "11 98888-0001");
        let ask = host.post(&declared.address("form")).json(&body);
        let answer = ask.send().await.expect(200);
        host.delivery(&answer).await.summary.id
    };
    let first = send("f-1", "Lia Prado").await;
    let second = send("f-2", "Rui Prado").await;
    let said = |rows: &[serde_json::Value]| -> Vec<String> {
        let names = rows.iter().map(|row| &row["props"]["contact"]["name"]);
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let deals = host.rows(&declared, "deals").await;
    assert_eq!(said(&deals), ["Lia Prado", "Rui Prado"]);
    assert_eq!(deals[0]["person_id"], deals[1]["person_id"]);
    for id in [second, first, second] {
        let outcome = again(&host, id, true).await;
        assert!(outcome.items[0].diff.is_empty(), "{outcome:?}");
    }
    let contacts = host.rows(&declared, "contacts").await;
    assert_eq!(contacts.len(), 1);
    assert_eq!(contacts[0]["name"], "Lia Prado");
}
