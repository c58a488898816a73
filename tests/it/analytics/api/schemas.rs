//! The schemas of rows are correct: the service's answers fit them.

use leadhost_http::openapi::{self, SchemaValidator};
use leadhost_tests::{Host, Json, On, eventually};
use serde_json::{Value, json};

use super::Board;

leadhost_tests::on_every_store! {
    every_kind_of_row_fits_its_schema,
}

fn schema(name: &str) -> Value {
    openapi::rows()[name].clone()
}

#[track_caller]
fn fits(name: &str, rows: &[Value]) {
    let validator = SchemaValidator::new(&json!({}), &schema(name));
    assert!(!rows.is_empty(), "there is no {name}");
    for row in rows {
        assert_eq!(validator.complaint(row), None, "{name}: {row}");
    }
    // The schema is not vacuous: a row without one of its keys does not fit.
    let first = rows[0].as_object().expect("an object");
    let needed = schema(name)["required"].clone();
    for key in needed.as_array().expect("a list") {
        let mut less = first.clone();
        less.remove(key.as_str().expect("a name"));
        let complaint = validator.complaint(&Value::from(less));
        assert!(complaint.is_some(), "{name} {key}");
    }
}

async fn every_kind_of_row_fits_its_schema(on: On) {
    let host = Host::working(on).await;
    let mut board = Board::on(host).await;
    board.people_write("voice", 2).await;
    board.notify("+5511987650404", "site").await;
    let failed = json!({"id": "sandbox:nobody", "status": "failed", "code": "131"});
    let failed = json!({ "status": failed });
    board.events("voice", &[failed]).await;
    board.host.pass(7_201).await;
    eventually("a ticket is open", async || {
        board.count().await;
        let page = board.page("tickets/day").await;
        page["count"] == 1
    })
    .await;
    board.lead("+5511987650404").await;

    for (name, entity) in [
        ("conversation", "conversations"),
        ("message", "messages"),
        ("contact", "contacts"),
        ("deal", "deals"),
    ] {
        fits(name, &board.host.rows(&board.declared, entity).await);
    }
    let ids = board.host.rows(&board.declared, "contacts/ids").await;
    fits("id", &ids);
    let report = "/v1/reports/message_errors?updated_since=2030-01-15";
    let report = board
        .host
        .get(report)
        .header("authorization", &board.bearer());
    let report = report.send().await.expect(200).json();
    fits("message_error", report["data"].list());
    for set in ["conversations", "tickets"] {
        for group_by in ["", "?group_by=source,agent_id,agent_type"] {
            let page = board.page(&format!("{set}/day{group_by}")).await;
            let rows = page["data"].list();
            fits(&format!("analytics_{set}"), rows);
        }
    }
    let fresh = board.get("freshness").await.expect(200).json();
    fits("analytics_freshness", fresh["data"].list());
}
