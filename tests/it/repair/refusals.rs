//! Repairs that are refused, each with what to do.

use leadhost_domain::plugin::Digest;
use leadhost_tests::{Answer, Json, On, has};
use serde_json::{Value, json};

use super::{Repairing, right};

leadhost_tests::on_every_store! {
    one_repair_runs_at_a_time,
    the_active_version_is_not_repaired,
    unknown_and_ambiguous_versions_are_refused,
    unknown_repairs_and_invalid_orders_are_refused,
}

/// What the answer says to an operator.
fn message(answer: &Answer) -> String {
    answer.json()["error"].text().to_owned()
}

async fn one_repair_runs_at_a_time(on: On) {
    let repairing = Repairing::new(on, 2).await;
    let held = repairing.hold(0).await;
    let first = repairing.begin(json!({"apply": true})).await;
    let second = repairing.order(json!({})).await.expect(409);
    has!(message(&second), &first, "leadhost repair cancel");
    let undo = repairing.act(&first, "undo").await.expect(409);
    has!(message(&undo), "is running");
    repairing.free(held).await;
    assert_eq!(repairing.ended(&first).await["state"], "done");
    repairing.order(json!({})).await.expect(201);
}

async fn the_active_version_is_not_repaired(on: On) {
    let repairing = Repairing::new(on, 1).await;
    let active = Digest::compute(&right());
    let refused = repairing.order(json!({"convertedBy": active.0})).await;
    let said = message(&refused.expect(409));
    has!(said, "activate another version first");
    assert_eq!(repairing.get("/repairs").await["repairs"], json!([]));
}

async fn unknown_and_ambiguous_versions_are_refused(on: On) {
    let repairing = Repairing::new(on, 1).await;
    for unknown in ["9.9.9", "0123456789abcdef"] {
        let refused = repairing.order(json!({"convertedBy": unknown})).await;
        let said = message(&refused.expect(404));
        has!(said, "leadhost plugin list");
    }
    // Both versions give themselves the same number.
    let listed = repairing.get("/plugins").await;
    let number = listed["plugins"][0]["versions"][0]["version"].clone();
    assert!(number.is_string(), "{listed:#}");
    let refused = repairing.order(json!({"convertedBy": number})).await;
    let said = message(&refused.expect(400));
    assert!(said.contains(&repairing.wrong.0[..8]), "{said}");
    let short = &repairing.wrong.0[..12];
    let full = format!("mapping@{short}");
    for other in [
        json!({"convertedBy": short, "plugin": "another"}),
        json!({"convertedBy": format!("another@{short}")}),
        json!({"convertedBy": full, "plugin": "another"}),
    ] {
        repairing.order(other).await.expect(404);
    }
    for named in [
        json!({"convertedBy": short, "plugin": "mapping"}),
        json!({"convertedBy": full}),
    ] {
        let begun = repairing.order(named).await.expect(201).json();
        assert_eq!(begun["convertedBy"], repairing.wrong.0);
        repairing.ended(begun["id"].text()).await;
    }
}

async fn unknown_repairs_and_invalid_orders_are_refused(on: On) {
    let repairing = Repairing::new(on, 1).await;
    for order in [
        json!({"field": "colour"}),
        json!({"since": "yesterday"}),
        json!({"since": "3000000d"}),
        json!({"fields": "phone"}),
    ] {
        repairing.order(order).await.expect(400);
    }
    let elsewhere = json!({"connection": "nowhere"});
    repairing.order(elsewhere).await.expect(404);
    for unknown in ["x", "0190a1b2-0000-7000-8000-000000000000"] {
        let path = format!("/repairs/{unknown}");
        for path in [path.clone(), format!("{path}/changes")] {
            repairing.ask("GET", &path).send().await.expect(404);
        }
        for act in ["cancel", "undo"] {
            repairing.act(unknown, act).await.expect(404);
        }
    }
    let none: Value = repairing.get("/repairs").await;
    assert_eq!(none, json!({"repairs": [], "next": null}));
}
