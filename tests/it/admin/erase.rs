//! Permanent removal by operators, over the admin API.

use leadhost_domain::key::KeyKind;
use leadhost_tests::{Json, On, fields, has, lacks};
use serde_json::{Value, json};

use super::{Operator, TOKEN};

leadhost_tests::on_every_store! {
    a_person_is_shown_first_and_erased_with_a_receipt,
    a_person_is_found_by_each_of_its_names,
    a_person_who_is_no_contact_is_erased_by_phone,
    an_unknown_person_and_an_ambiguous_name_are_refused,
    unconverted_deliveries_are_listed_and_kept_unless_they_are_included,
    data_that_an_erasure_kept_is_erased_later_by_the_contacts_id,
    a_deal_is_removed_once,
    a_removed_product_is_no_longer_found,
}

async fn with_people(on: On) -> (Operator, Value) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "L1").await.expect(200);
    (operator, report)
}

/// The exported deals, read with a new key.
async fn deals(operator: &Operator) -> Vec<Value> {
    let listed = operator.get("/workspaces").await;
    let id = listed["workspaces"][0]["id"].text();
    let id = id.parse().expect("a workspace's id");
    let host = &operator.host;
    let (key, _) = host.key(KeyKind::Workspace, Some(id), None).await;
    let ask = host.get("/v1/export/deals").bearer(&key);
    let page = ask.send().await.expect(200).json();
    page["data"].list().clone()
}

const PHONE: &str = "(11) 98765-4321";

async fn a_person_is_shown_first_and_erased_with_a_receipt(on: On) {
    let (operator, _) = with_people(on).await;
    let ask = |dry_run: bool| json!({"workspace": "acme", "phone": PHONE, "dryRun": dry_run});
    let would = operator.posted("/contacts/erase", &ask(true), 200).await;
    fields!(would, {"dryRun": true, "erased.contacts": 1, "erased.deliveries": 1});
    assert_eq!(deals(&operator).await.len(), 1, "nothing is gone yet");
    assert_eq!(operator.get("/erasures").await["erasures"], json!([]));
    let receipt = operator.posted("/contacts/erase", &ask(false), 200).await;
    assert_eq!(receipt["workspace"], "acme");
    assert_eq!(receipt["contactId"], would["contactId"]);
    assert_eq!(receipt["foundBy"], "phone");
    assert_eq!(receipt["erased"], would["erased"]);
    assert!(receipt["keyId"].is_string() && receipt["doneAt"].is_string());
    assert!(receipt["notReached"][0].is_string());
    lacks!(receipt.to_string(), "98765", "Ada");
    assert!(deals(&operator).await.is_empty());
    // The record has what the receipt had, except for the fields that belong to one
    // answer.
    let listed = operator.get("/erasures?workspace=acme").await;
    let listed = &listed["erasures"];
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    for field in ["id", "contactId", "beganAt", "erased", "remaining", "keyId"] {
        assert_eq!(listed[0][field], receipt[field], "{field}");
    }
    operator.host.advance(1).await;
    // The phone no longer finds a person; the id still finds the erasure.
    operator.posted("/contacts/erase", &ask(false), 404).await;
    let by_id = json!({"id": receipt["contactId"]});
    let again = operator.post("/contacts/erase", &by_id).await;
    assert_eq!(again.expect(200).json()["erased"]["deals"], 0);
    let listed = operator.get("/erasures?limit=1").await;
    assert_eq!(listed["erasures"].list().len(), 1);
    let next = listed["next"].text();
    let older = operator.get(&format!("/erasures?before={next}")).await;
    assert_eq!(older["erasures"][0]["id"], receipt["id"]);
    for wrong in ["before=x", "workspace=nope", "limit=many"] {
        let answer = operator.ask("GET", &format!("/erasures?{wrong}")).send();
        let status = answer.await.status;
        assert!((400..500).contains(&status), "{wrong}: {status}");
    }
}

async fn a_person_is_found_by_each_of_its_names(on: On) {
    let (operator, report) = with_people(on).await;
    let id = deals(&operator).await[0]["person_id"].clone();
    for (number, (body, found_by)) in [
        (json!({"id": id}), "id"),
        (
            json!({"workspace": "acme", "phone": "+5511987654321"}),
            "phone",
        ),
        (
            json!({"workspace": "acme", "phone": "5511987654321"}),
            "phone",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        if number > 0 {
            let id = format!("again-{number}");
            operator.lead(&report, TOKEN, &id).await.expect(200);
        }
        let done = operator.post("/contacts/erase", &body).await;
        let receipt = done.expect(200).json();
        assert_eq!(receipt["foundBy"], found_by);
        assert_eq!(receipt["erased"]["deals"], 1, "{body}");
    }
}

async fn a_person_who_is_no_contact_is_erased_by_phone(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    // Its deliveries are in quarantine, so that it has no contact.
    operator.lead(&report, "wrong", "L1").await;
    let body = json!({"workspace": "acme", "phone": PHONE, "unconverted": true});
    let receipt = operator.posted("/contacts/erase", &body, 200).await;
    fields!(receipt, {"erased.deliveries": 1, "erased.contacts": 0, "foundBy": "phone"});
    assert_eq!(operator.get("/deliveries").await["deliveries"], json!([]));
    let again = operator.post("/contacts/erase", &body).await.expect(404);
    has!(
        String::from_utf8_lossy(&again.body),
        "no message or delivery names the person"
    );
}

async fn an_unknown_person_and_an_ambiguous_name_are_refused(on: On) {
    let (operator, _) = with_people(on).await;
    for (body, status) in [
        (json!({}), 400),
        (json!({"workspace": "acme"}), 400),
        (json!({"phone": PHONE}), 400),
        (json!({"email": "ada@example.com"}), 400),
        (
            json!({"workspace": "acme", "phone": PHONE, "email": "ada@example.com"}),
            400,
        ),
        (json!({"workspace": "acme", "phone": "12"}), 400),
        (json!({"workspace": "acme", "phone": ""}), 400),
        (json!({"workspace": "acme", "email": "no address"}), 400),
        (json!({"id": "17"}), 400),
        (json!({"id": 17}), 400),
        (
            json!({"workspace": "acme", "phone": PHONE, "all": true}),
            400,
        ),
        (json!({"workspace": "nope", "phone": PHONE}), 404),
        (json!({"workspace": "acme", "phone": "+5511900000009"}), 404),
        (
            json!({"workspace": "acme", "email": "ada@example.com"}),
            404,
        ),
        (json!({"id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88"}), 404),
    ] {
        operator.post("/contacts/erase", &body).await.expect(status);
    }
    assert_eq!(deals(&operator).await.len(), 1);
    assert_eq!(operator.get("/erasures").await["erasures"], json!([]));
    let ask = operator.host.admin("POST", "/admin/v1/contacts/erase");
    ask.json(&json!({})).send().await.expect(401);
}

async fn unconverted_deliveries_are_listed_and_kept_unless_they_are_included(on: On) {
    let (operator, report) = with_people(on).await;
    // A delivery without proof is quarantined.
    operator.lead(&report, "wrong", "L2").await;
    let kept = operator.get("/deliveries?status=quarantined").await;
    let id = kept["deliveries"][0]["id"].clone();
    assert!(id.is_string(), "{kept}");
    let body = json!({"workspace": "acme", "phone": PHONE});
    let receipt = operator.posted("/contacts/erase", &body, 200).await;
    let named = json!([{"id": id, "status": "quarantined"}]);
    fields!(receipt, {"remaining.deliveries": named, "remaining.moreDeliveries": 0});
    operator.lead(&report, TOKEN, "L3").await.expect(200);
    let body = json!({"workspace": "acme", "phone": PHONE, "unconverted": true});
    let receipt = operator.posted("/contacts/erase", &body, 200).await;
    fields!(receipt, {"remaining.deliveries": [], "erased.deliveries": 2});
    let kept = operator.get("/deliveries").await;
    assert_eq!(kept["deliveries"], json!([]));
}

async fn data_that_an_erasure_kept_is_erased_later_by_the_contacts_id(on: On) {
    let (operator, report) = with_people(on).await;
    // A delivery without proof is quarantined, including one of another person.
    operator.lead(&report, "wrong", "L2").await;
    operator.lead(&report, "wrong", "L3").await;
    let kept = operator.get("/deliveries?status=quarantined").await;
    let ids = (0..2).map(|at| kept["deliveries"][at]["id"].clone());
    let ids: Vec<Value> = ids.collect();
    let erase = async |body: &Value| operator.post("/contacts/erase", body).await;
    let by_phone = json!({"workspace": "acme", "phone": PHONE});
    let receipt = erase(&by_phone).await.expect(200).json();
    let contact = receipt["contactId"].clone();
    let left = receipt["remaining"]["deliveries"].clone();
    assert_eq!(left.as_array().map(Vec::len), Some(2), "{receipt}");
    assert!(
        ids.iter()
            .all(|id| left.to_string().contains(id.as_str().unwrap()))
    );
    // The phone finds them, although it is no contact's now.
    let by_phone = json!({"workspace": "acme", "phone": PHONE, "dryRun": true});
    let would = erase(&by_phone).await.expect(200).json();
    fields!(would, {"remaining.deliveries": left, "erased.contacts": 0});
    // Later deliveries of other people are not affected.
    operator.lead(&report, "wrong", "L4").await;
    let again = erase(&json!({"id": contact})).await.expect(200).json();
    fields!(again, {"remaining.deliveries": left, "erased.deliveries": 0});
    let would = json!({"id": contact, "unconverted": true, "dryRun": true});
    let would = erase(&would).await.expect(200).json();
    fields!(would, {"erased.deliveries": 2, "remaining.deliveries": []});
    let listed = operator.get("/erasures").await;
    assert_eq!(listed["erasures"][1]["remaining"]["deliveries"], left);
    let gone = json!({"id": contact, "unconverted": true});
    let gone = erase(&gone).await.expect(200).json();
    fields!(gone, {"erased": would["erased"], "remaining.deliveries": []});
    let kept = operator.get("/deliveries").await;
    assert_eq!(kept["deliveries"].list().len(), 1);
    let listed = operator.get("/erasures").await;
    for erasure in listed["erasures"].list() {
        assert_eq!(erasure["remaining"]["deliveries"], json!([]), "{erasure}");
    }
}

async fn a_deal_is_removed_once(on: On) {
    let (operator, report) = with_people(on).await;
    let id = deals(&operator).await[0]["id"].clone();
    let path = format!("/deals/{}", id.as_str().expect("an id"));
    let elsewhere = operator.ask("DELETE", &format!("{path}?workspace=nope"));
    elsewhere.send().await.expect(404);
    let ask = operator.ask("DELETE", &path);
    let gone = ask.send().await.expect(200).json();
    let expect = json!({"id": id, "workspace": "acme", "removed": true});
    assert_eq!(gone, expect);
    for path in [path.as_str(), "/deals/x"] {
        operator.ask("DELETE", path).send().await.expect(404);
        operator.ask("GET", path).send().await.expect(404);
    }
    let repeat = operator.lead(&report, TOKEN, "L1").await.expect(200).json();
    assert_eq!(repeat["status"], "duplicate", "{repeat}");
    assert!(deals(&operator).await.is_empty());
}

async fn a_removed_product_is_no_longer_found(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let csv = "externalId,name\nH/1,Casa azul\nH 2,Casa verde\n";
    let put = operator
        .ask("PUT", "/workspaces/acme/products")
        .header("content-type", "text/csv")
        .body(csv.as_bytes().to_vec());
    put.send().await.expect(200);
    let path = "/workspaces/acme/products/H%2F1";
    let gone = operator.ask("DELETE", path).send().await.expect(200).json();
    let expect = json!({"workspace": "acme", "externalId": "H/1", "removed": true});
    assert_eq!(gone, expect);
    operator.ask("DELETE", path).send().await.expect(404);
    let nowhere = operator.ask("DELETE", "/workspaces/nope/products/H%202");
    nowhere.send().await.expect(404);
    let path = "/workspaces/acme/products/H%202";
    operator.ask("DELETE", path).send().await.expect(200);
}
