//! A repair runs in the background, on one host at a time, and survives that host.

use std::time::Duration;

use leadhost_domain::repair::{Repair, RepairCounts};
use leadhost_tests::{Json, On, Options, fields, has, until};
use serde_json::{Value, json};

use super::Repairing;

leadhost_tests::on_every_store! {
    a_repair_is_continued_after_a_restart,
    an_impact_names_the_repair_that_runs_even_if_it_only_counts,
    a_host_that_was_cut_off_in_the_middle_doubles_nothing,
    a_delivery_that_is_repaired_twice_is_in_the_receipt_once,
    a_cancelled_repair_changes_no_further_delivery,
    people_who_lose_their_last_deal_are_merged,
    a_repair_ends_if_its_version_becomes_active_again,
    a_repair_alone_is_no_live_traffic_to_which_it_would_give_way,
}

async fn a_repair_alone_is_no_live_traffic_to_which_it_would_give_way(on: On) {
    // More than are converted at once.
    let repairing = Repairing::new(on, 10).await;
    let calls = || repairing.host.app.core.plugins.live_calls();
    let before = calls();
    let ended = repairing.repaired(json!({"apply": true})).await;
    fields!(ended, {"state": "done", "deliveries.replayed": 10});
    assert_eq!(calls(), before);
    repairing.check_whole(&super::id(&ended)).await;
}

async fn a_repair_is_continued_after_a_restart(on: On) {
    let repairing = Repairing::new(on, 6).await;
    let held = repairing.hold(3).await;
    let id = repairing.begin(json!({"apply": true})).await;
    repairing.has_replayed(&id, 3).await;
    let repairing = repairing.restart().await;
    fields!(repairing.shown(&id).await, {"state": "running", "endedAt": null});
    repairing.free(held).await;
    fields!(repairing.ended(&id).await, {"state": "done", "found": 6, "deliveries.replayed": 6});
    repairing.check_whole(&id).await;
}

async fn an_impact_names_the_repair_that_runs_even_if_it_only_counts(on: On) {
    let repairing = Repairing::new(on, 2).await;
    let named = async || {
        let body = json!({"digest": repairing.wrong.0});
        let ask = repairing.ask("POST", "/plugins/mapping/impact").json(&body);
        let impact = ask.send().await.expect(200).json();
        impact["repairs"].list().clone()
    };
    for apply in [false, true] {
        let held = repairing.hold(1).await;
        let id = repairing.begin(json!({"apply": apply})).await;
        repairing.has_replayed(&id, 1).await;
        let running = named().await;
        assert_eq!(running.len(), 1, "{running:#?}");
        fields!(running, {"0.id": id, "0.state": "running", "0.apply": apply});
        repairing.free(held).await;
        repairing.ended(&id).await;
        let ended = named().await;
        assert_eq!(!ended.is_empty(), apply, "{ended:#?}");
    }
}

async fn a_host_that_was_cut_off_in_the_middle_doubles_nothing(on: On) {
    cut_off(on, json!({"apply": true})).await;
}

async fn a_delivery_that_is_repaired_twice_is_in_the_receipt_once(on: On) {
    // With a field the deliveries still count for the version, so they are found again.
    cut_off(on, json!({"field": "phone", "apply": true})).await;
}

/// Another host takes the repair in its middle, and knows of nothing that was replayed.
async fn cut_off(on: On, order: Value) {
    let repairing = Repairing::new(on, 5).await;
    let held = repairing.hold(3).await;
    let id = repairing.begin(order).await;
    repairing.has_replayed(&id, 3).await;
    let store = repairing.host.store();
    until("it is taken", async || {
        let open = store.open_repair().await.expect("a store");
        let open = open.expect("it is open");
        let taken = store.take_repair(&open).await.expect("a store")?;
        let forgotten = Repair {
            cursor: None,
            counts: RepairCounts {
                found: Some(5),
                ..RepairCounts::default()
            },
            ..taken
        };
        let noted = store.note_repair(&forgotten).await.expect("a store");
        noted.then_some(())
    })
    .await;
    repairing.free(held).await;
    fields!(repairing.ended(&id).await, {"state": "done", "found": 5, "deliveries.replayed": 5});
    repairing.check_whole(&id).await;
}

async fn a_cancelled_repair_changes_no_further_delivery(on: On) {
    let repairing = Repairing::new(on, 4).await;
    let held = repairing.hold(2).await;
    let id = repairing.begin(json!({"apply": true})).await;
    repairing.has_replayed(&id, 2).await;
    let cancelled = repairing.act(&id, "cancel").await.expect(200).json();
    assert_eq!(cancelled["state"], "cancelled");
    assert!(cancelled["why"].is_string(), "{cancelled:#}");
    repairing.free(held).await;
    assert_eq!(repairing.changes(&id).await.len(), 2 * 3);
    repairing.act(&id, "cancel").await.expect(409);
    // The next one does the rest.
    let rest = repairing.repaired(json!({"apply": true})).await;
    assert_eq!(rest["found"], 2);
    assert_eq!(repairing.changes(&id).await.len(), 2 * 3);
    assert!(!repairing.phones().await.contains(&Value::Null));
    // Its changes can be undone.
    let undone = repairing.undone(&id).await;
    assert_eq!(undone["undo"]["undone"], 2 * 3);
    let phones = repairing.phones().await;
    let lost = phones.iter().map(Value::is_null);
    assert_eq!(lost.collect::<Vec<_>>(), [true, true, false, false]);
}

async fn people_who_lose_their_last_deal_are_merged(on: On) {
    let repairing = Repairing::new(on, 2).await;
    // The same person with another address: without a phone it was another contact.
    let mut again = super::lead(0);
    again["id"] = json!("lead-again");
    again["email"] = json!("rita@example.com");
    repairing.configure(super::WRONG).await;
    repairing.activate_wrong().await;
    let again = repairing.tell(&again).await;
    repairing.configure(super::RIGHT).await;
    repairing.activate_right().await;
    let first = repairing.leads[0].contact;
    assert_ne!(again.contact, first);
    let repaired = repairing.repaired(json!({"apply": true})).await;
    assert_eq!(repaired["merged"], 1, "{repaired:#}");
    let contacts = repairing.host.rows(&repairing.declared, "contacts").await;
    assert_eq!(contacts.len(), 2);
    let deal = repairing.host.row(&repairing.declared, "deals", again.deal);
    let deal = deal.await;
    assert_eq!(deal["person_id"], json!(first.to_string()));
    // The receipt has the keys that the other person took over.
    let changes = repairing.changes(&super::id(&repaired)).await;
    let rita = json!(["email:rita@example.com"]);
    let [lost, taken] = ["contact.lost_keys", "contact.keys"].map(|field| {
        let found = changes
            .iter()
            .find(|row| row["field"] == field && (row["before"] == rita || row["after"] == rita));
        found.unwrap_or_else(|| panic!("{changes:#?}"))["rowId"].clone()
    });
    assert_eq!(lost, json!(again.contact.to_string()));
    assert_eq!(taken, json!(first.to_string()));
}

async fn a_repair_ends_if_its_version_becomes_active_again(on: On) {
    let repairing = Repairing::new(on, 3).await;
    let held = repairing.hold(0).await;
    let id = repairing.begin(json!({"apply": true})).await;
    let is_found = |shown: &Value| shown["found"] == 3;
    repairing
        .until(&id, "its deliveries are found", is_found)
        .await;
    let back = repairing.ask("POST", "/plugins/mapping/rollback");
    back.json(&json!({})).send().await.expect(200);
    repairing.free(held).await;
    let ended = repairing.ended(&id).await;
    assert_eq!(ended["state"], "cancelled");
    has!(ended["why"], "active again");
}

#[tokio::test]
async fn another_host_of_a_fleet_continues_a_repair() {
    let on = available!(On::postgres());
    let options = Options::patient(on).with("server.name", "one");
    let repairing = Repairing::with(options, 4).await;
    let held = repairing.hold(2).await;
    let id = repairing.begin(json!({"apply": true})).await;
    repairing.has_replayed(&id, 2).await;
    let other = repairing.host.beside("two").await;
    repairing.host.stop(Duration::from_secs(5)).await;
    let repairing = Repairing {
        host: other,
        ..repairing
    };
    repairing.free(held).await;
    fields!(repairing.ended(&id).await, {"state": "done", "deliveries.replayed": 4});
    repairing.check_whole(&id).await;
}
