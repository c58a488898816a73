//! Captured deliveries: what an operator may take out of the service for golden cases and replays.

use leadhost_tests::{Json, On, fields, has, lacks};
use serde_json::{Value, json};
use uuid::Uuid;

use super::roles::with_role;
use super::{Operator, TOKEN};

leadhost_tests::on_every_store! {
    a_captured_delivery_has_everything_that_its_conversion_depends_on,
    deliveries_that_cannot_be_captured_are_named,
    unreadable_requests_for_captures_are_refused,
    a_viewer_captures_nothing_and_each_capture_is_in_the_audit,
    a_delivery_becomes_a_golden_case_without_its_person,
    a_delivery_that_is_no_golden_case_is_refused_with_the_reason,
    a_credential_that_nothing_declares_is_kept_and_not_shown,
}

/// A host that has converted one lead, and the delivery's id.
async fn with_lead(on: On) -> (Operator, Value) {
    let (operator, report) = Operator::with_workspace(on).await;
    let answer = operator.lead(&report, TOKEN, "L1").await.expect(200);
    let id = answer.json()["deliveryId"].clone();
    (operator, id)
}

async fn capture(operator: &Operator, body: &Value) -> Value {
    let answer = operator.post("/deliveries/captures", body).await;
    answer.expect(200).json()
}

async fn a_captured_delivery_has_everything_that_its_conversion_depends_on(on: On) {
    let (operator, id) = with_lead(on).await;
    let captured = capture(&operator, &json!({"deliveries": [id], "plugin": "mapping"})).await;
    let delivery = &captured["deliveries"][0];
    fields!(delivery, {"id": id, "plugin": "mapping", "answers": [], "answersLeftOut": false});
    assert!(delivery["servedBy"]["digest"].is_string());
    let body: Value = serde_json::from_str(delivery["request"]["body"].text()).expect("JSON");
    assert_eq!(body["name"], "Ada Prado");
    lacks!(captured.to_string(), TOKEN);

    let items = delivery["outcome"]["items"].list();
    assert_eq!(items.len(), 1);
    fields!(items, {"0.kind": "lead", "0.fields.phone": ["+5511987654321"]});
    assert_eq!(delivery["outcome"]["refused"], Value::Null);

    let connection = &captured["connections"][0];
    fields!(connection, {
        "id": delivery["connectionId"], "region": "BR", "isChecked": true, "instanceId": null,
    });
    assert!(connection["config"].is_object());
}

async fn deliveries_that_cannot_be_captured_are_named(on: On) {
    let (operator, id) = with_lead(on).await;
    let other = capture(&operator, &json!({"deliveries": [id], "plugin": "portal"})).await;
    fields!(other, {"deliveries": [], "ofAnotherPlugin": [id]});

    let person = json!({"workspace": "acme", "phone": "(11) 98765-4321"});
    operator.posted("/contacts/erase", &person, 200).await;
    let nowhere = Uuid::nil().to_string();
    let none = capture(&operator, &json!({"deliveries": [id, nowhere]})).await;
    fields!(none, {"deliveries": [], "unknown": [id, nowhere], "emptied": [], "notReached": []});
}

async fn unreadable_requests_for_captures_are_refused(on: On) {
    let (operator, id) = with_lead(on).await;
    let many = vec![id.clone(); 51];
    for body in [
        json!({}),
        json!({"deliveries": []}),
        json!({"deliveries": many}),
        json!({"deliveries": ["17"]}),
        json!({"deliveries": [id], "last": 3}),
        json!([]),
    ] {
        operator.posted("/deliveries/captures", &body, 400).await;
    }
    let ask = operator.ask("POST", "/deliveries/captures").body("no JSON");
    ask.send().await.expect(400);
}

async fn a_viewer_captures_nothing_and_each_capture_is_in_the_audit(on: On) {
    let (operator, id) = with_lead(on).await;
    let viewer = with_role(&operator, "viewer").await;
    let body = json!({"deliveries": [id]});
    let ask = operator.host.admin("POST", "/admin/v1/deliveries/captures");
    let ask = ask.bearer(&viewer).json(&body);
    let refused = ask.send().await.expect(403).json();
    has!(refused["error"], "needs the role operator");

    let second = with_role(&operator, "operator").await;
    let ask = operator.host.admin("POST", "/admin/v1/deliveries/captures");
    let ask = ask.bearer(&second).json(&body);
    ask.send().await.expect(200);
    let audit = operator.get("/audit?act=capture-deliveries").await;
    let rows = audit["rows"].list();
    assert_eq!(rows.len(), 3, "{audit:#}");
    assert_eq!(rows[0]["outcome"], "done");
    assert_eq!(rows[0]["role"], "operator");
    assert_eq!(rows[0]["detail"], r#"{"deliveries":1}"#);
    assert_eq!(rows[2]["outcome"], "refused");
    lacks!(audit.to_string(), "Ada Prado", "98765-4321");
}

async fn a_delivery_becomes_a_golden_case_without_its_person(on: On) {
    let (operator, id) = with_lead(on).await;
    let id = id.as_str().expect("an id");
    let path = format!("/deliveries/{id}/golden");
    let exported = operator.posted(&path, &json!({}), 200).await;
    fields!(exported, {"plugin": "mapping", "notes": []});
    let text = exported.to_string();
    lacks!(text, "Ada Prado", "98765-4321", TOKEN; "{exported:#}");
    // Its files are a case that the tools of integrators take.
    let folder = tempfile::tempdir().expect("a folder");
    for case in exported["cases"].list() {
        let own = folder.path().join(case["name"].text());
        std::fs::create_dir(&own).expect("a folder");
        for file in case["files"].list() {
            let name = file["name"].text();
            let text = file["text"].text();
            std::fs::write(own.join(name), text).expect("it is written");
        }
    }
    let cases = leadhost_golden::load_dir(folder.path()).expect("cases");
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].name, format!("delivery-{id}"));
    assert_eq!(cases[0].call, leadhost_golden::Call::Convert);
    let body: Value = serde_json::from_slice(&cases[0].body).expect("JSON");
    assert_eq!(body["id"], "L1");
    let phone = body["phone"].text();
    assert_eq!(phone.len(), "11 98765-4321".len(), "{phone}");

    let audit = operator.get("/audit?act=export-golden").await;
    fields!(audit, {"rows.0.outcome": "done", "rows.0.target": id});
    let viewer = with_role(&operator, "viewer").await;
    let ask = operator.host.admin("POST", &format!("/admin/v1{path}"));
    let refused = ask.bearer(&viewer).json(&json!({})).send().await;
    refused.expect(403);
}

async fn a_delivery_that_is_no_golden_case_is_refused_with_the_reason(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let export = async |id: &str| {
        let path = format!("/deliveries/{id}/golden");
        operator.post(&path, &json!({})).await
    };
    export("17").await.expect(404);
    export(&Uuid::nil().to_string()).await.expect(404);

    let connection = report["connections"]["form"].text();
    let sent = operator.host.post(&format!("/ingest-lead/{connection}"));
    let sent = sent.header("x-token", TOKEN).body([0xff_u8, 0xfe].to_vec());
    sent.send().await;
    let list = operator.get("/deliveries").await;
    let id = list["deliveries"][0]["id"].text();
    let refused = export(id).await.expect(409).json();
    has!(refused["error"], "not text", "--raw");
}

async fn a_credential_that_nothing_declares_is_kept_and_not_shown(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let connection = report["connections"]["form"].text();
    let ask = operator.host.post(&format!("/ingest-lead/{connection}"));
    let ask = ask
        .header("x-token", TOKEN)
        .header("x-portal-secret", "made-up-1");
    let page = "https://a.example/?access_token=made-up-2";
    let body = json!({"id": "L1", "name": "Ada Prado", "phone": "11 98765-4321", "token": "made-up-3", "page": page});
    let answer = ask.json(&body).send().await.expect(200).json();
    let id = answer["deliveryId"].text();
    let shown = operator.get(&format!("/deliveries/{id}")).await;
    let golden = format!("/deliveries/{id}/golden");
    let exported = operator.posted(&golden, &json!({}), 200).await;
    for secret in ["made-up-1", "made-up-2", "made-up-3"] {
        assert!(operator.host.keeps(secret).await, "{secret}");
        lacks!(shown.to_string(), secret);
        lacks!(exported.to_string(), secret);
    }
    has!(shown.to_string(), "Ada Prado", "***");
}
