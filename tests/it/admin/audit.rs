//! The audit: what operators did, and what became of it.

use leadhost::domain::audit::AuditRow;
use leadhost_tests::On;
use serde_json::{Value, json};

use super::Operator;

leadhost_tests::on_every_store! {
    each_act_is_a_row_before_and_after_it_and_reading_is_none,
    a_refused_act_is_recorded_with_its_reason,
    the_audit_holds_no_secret_and_no_person,
    an_export_has_every_row_in_an_unbroken_chain,
    unreadable_parameters_are_refused,
}

async fn rows(operator: &Operator, query: &str) -> Vec<Value> {
    let audit = operator.get(&format!("/audit{query}")).await;
    audit["rows"].as_array().expect("a list").clone()
}

async fn each_act_is_a_row_before_and_after_it_and_reading_is_none(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let before = rows(&operator, "").await.len();
    operator.get("/connections").await;
    operator.get("/audit").await;
    let pause = json!({"reason": "the token ran out"});
    let paused = operator.post("/connections/form/pause", &pause).await;
    paused.expect(200);
    let found = rows(&operator, "").await;
    assert_eq!(found.len(), before + 2, "{found:#?}");
    let (end, begun) = (&found[0], &found[1]);
    assert_eq!(begun["act"], "pause-connection");
    assert_eq!(begun["target"], "form");
    assert_eq!(begun["outcome"], "begun");
    assert_eq!(begun["begun"], Value::Null);
    assert_eq!(end["outcome"], "done");
    assert_eq!(end["begun"], begun["number"]);
    assert_eq!(end["label"], begun["label"]);
    assert_eq!(end["address"], "127.0.0.1");
    let of_another = rows(&operator, "?actor=nobody").await;
    assert_eq!(of_another, [Value::Null; 0]);
    let paused = rows(&operator, "?act=pause-connection").await;
    assert_eq!(paused.len(), 2);
}

async fn a_refused_act_is_recorded_with_its_reason(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let refused = operator.post("/plugins/mapping/rollback", &json!({})).await;
    refused.expect(409);
    let found = rows(&operator, "?act=roll-back-plugin&limit=1").await;
    assert_eq!(found[0]["outcome"], "refused");
    assert_eq!(found[0]["detail"], r#"{"status":409}"#);
}

async fn the_audit_holds_no_secret_and_no_person(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let lead = operator.lead(&report, super::TOKEN, "1").await;
    lead.expect(200);
    let person = json!({"workspace": "acme", "phone": "+55 11 98765-4321"});
    operator.post("/contacts/erase", &person).await.expect(200);
    let key = json!({"kind": "admin", "label": "second"});
    let made = operator.post("/keys", &key).await.expect(201).json();
    let text = json!(rows(&operator, "").await).to_string();
    for secret in [super::TOKEN, "98765", "Prado"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(!text.contains(made["key"].as_str().expect("a key")));
    assert!(text.contains("second"), "{text}");
}

async fn an_export_has_every_row_in_an_unbroken_chain(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut after = 0;
    let mut last: Option<AuditRow> = None;
    let mut count = 0;
    loop {
        let page = rows(&operator, &format!("?after={after}&limit=3")).await;
        for row in &page {
            let row: AuditRow = serde_json::from_value(row.clone()).expect("a row");
            assert!(row.follows(last.as_ref()), "{row:?}");
            after = row.number;
            last = Some(row);
            count += 1;
        }
        if page.len() < 3 {
            break;
        }
    }
    // The upload and the apply, with a row before and after each.
    assert_eq!(count, 4);
}

async fn unreadable_parameters_are_refused(on: On) {
    let operator = Operator::new(on).await;
    for query in ["before=x", "after=x", "since=yesterday", "limit=many"] {
        let refused = operator.ask("GET", &format!("/audit?{query}")).send().await;
        refused.expect(400);
    }
    let unknown = operator.ask("GET", "/audit?act=nosuch").send().await;
    let unknown = unknown.expect(400).json()["error"].to_string();
    assert!(
        unknown.contains("there are apply, create-key,"),
        "{unknown}"
    );
}
