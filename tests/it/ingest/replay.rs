//! An operator replays a delivery.

use leadhost_domain::id::DeliveryId;
use leadhost_pipeline::replay;
use leadhost_store::DeliveryOutcome;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Host, On, has};

use super::{form, lead, misbehaving, replay_options};

leadhost_tests::on_every_store! {
    a_replay_with_a_changed_converter_shows_the_differences_and_apply_writes_them,
    two_leads_of_one_phone_keep_their_own_fields_and_a_replay_renames_no_contact,
}

async fn again(host: &Host, id: DeliveryId, apply: bool) -> DeliveryOutcome {
    let options = replay_options(apply, false);
    replay::one(&host.app.pipeline, id, options)
        .await
        .expect("it is replayed")
}

async fn a_replay_with_a_changed_converter_shows_the_differences_and_apply_writes_them(on: On) {
    let (host, declared) = misbehaving(on, "good", "", 0).await;
    let answer = host.deliver(&declared, "good").await;
    let id = host.delivery(&answer).await.summary.id;
    let changed = Variant::version("1.1.0").prefix("at ");
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
    has!(after[0].to_string(), "at 20");
    assert!(after[0]["cursor_at"].as_str() > before[0]["cursor_at"].as_str());
    assert_eq!(
        host.stored(id).await.summary.ran.expect("it ran").digest,
        digest
    );
    assert!(again(&host, id, true).await.items[0].diff.is_empty());
}

async fn two_leads_of_one_phone_keep_their_own_fields_and_a_replay_renames_no_contact(on: On) {
    let (host, declared) = form(on).await;
    let send = async |id: &str, name: &str| {
        let body = lead(id, name, "11 98888-0001");
        let answer = host.deliver_json(&declared, "form", &body).await;
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
