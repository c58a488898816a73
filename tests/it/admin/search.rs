//! Deliveries that did not become leads are found by what their requests have of a person: in the admin
//! API and in the console.

use leadhost_tests::guests;
use leadhost_tests::{Json, On, has};
use serde_json::{Value, json};

use super::console::Browser;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    a_delivery_without_a_lead_is_found_by_phone_email_and_external_id,
    an_erased_delivery_is_found_no_more,
    a_search_says_which_deliveries_it_leaves_out,
}

/// A connection of each way in which a delivery does not become a lead.
async fn operator(on: On) -> (Operator, Value) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.host.converter(guests::misbehave()).await;
    let mut file = workspace();
    let connections = file["connections"].as_array_mut().unwrap();
    for (name, word) in [("trap", "trap"), ("phones", "phones")] {
        connections.push(json!({
            "name": name, "partner": "crm", "plugin": "misbehave",
            "config": {"do": word, "size": 10_000},
        }));
    }
    connections.push(json!({"name": "open", "partner": "crm", "plugin": "mapping"}));
    connections.push(json!({
        "name": "masked", "partner": "crm", "plugin": "mapping",
        "secrets": {"token": "a-secret-1"},
        "config": {"carriedSecrets": [{"place": "json", "name": "reference"}]},
        "checks": [{
            "secret": "token", "scheme": "equals", "proof": {"place": "json", "name": "reference"}
        }],
    }));
    let report = operator.apply(&file).await.expect(200).json();
    (operator, report)
}

async fn send(operator: &Operator, report: &Value, connection: &str, body: &str) -> u16 {
    let id = report["connections"][connection].text();
    let asked = operator.host.post(&format!("/ingest-lead/{id}"));
    asked.body(body.to_owned()).send().await.status
}

async fn found(operator: &Operator, query: &str) -> Vec<String> {
    let list = operator.get(&format!("/deliveries?{query}")).await;
    assert!(list["onlyLeadsBefore"].is_null(), "{list}");
    let list = list["deliveries"].list().clone();
    let status = |one: &Value| one["status"].text().to_owned();
    list.iter().map(status).collect()
}

async fn a_delivery_without_a_lead_is_found_by_phone_email_and_external_id(on: On) {
    let (operator, report) = operator(on).await;
    let whole = |number: usize| {
        json!({
            "lead_id": format!("L-{number}"), "name": "Rita Moura",
            "email": format!("Rita{number}@Example.com"),
            "phone": format!("+55 (11) 98765-43{number:02}"), "reference": "r-1",
        })
        .to_string()
    };
    for (number, connection, broken, http, expect) in [
        (1, "form", false, 401, "quarantined"),
        (2, "trap", false, 200, "failed"),
        (3, "phones", false, 200, "rejected"),
        (4, "open", true, 400, "rejected"),
        (5, "form", true, 401, "quarantined"),
        (6, "masked", false, 401, "quarantined"),
    ] {
        let mut body = whole(number);
        if broken {
            body.pop();
        }
        let status = send(&operator, &report, connection, &body).await;
        assert_eq!(status, http, "{number}");
        for text in [
            format!("11%2098765-43{number:02}"),
            format!("%2B5511 98765 43{number:02}").replace(' ', "%20"),
            format!("rita{number}@example.com"),
            format!("L-{number}"),
        ] {
            let query = format!("q={text}");
            assert_eq!(found(&operator, &query).await, [expect], "{number}: {text}");
            let other = format!("q={text}&status=ignored");
            assert!(found(&operator, &other).await.is_empty(), "{text}");
        }
    }
    let uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
    let body = whole(7).replace("L-7", uuid);
    send(&operator, &report, "trap", &body).await;
    assert_eq!(found(&operator, &format!("q={uuid}")).await, ["failed"]);
    // What a sender proves itself with is masked, and finds nothing.
    let masked = "q=r-1&connection=acme%2Fmasked";
    assert!(found(&operator, masked).await.is_empty());
    for nobody in ["11%2098765-4399", "rita@example.com", "L-", "l-1"] {
        let query = format!("q={nobody}");
        assert!(found(&operator, &query).await.is_empty(), "{nobody}");
    }
    // A lead is found once, through its contact.
    operator.lead(&report, TOKEN, "L-9").await.expect(200);
    for text in ["11%2098765-4321", "L-9"] {
        let query = format!("q={text}");
        assert_eq!(found(&operator, &query).await, ["converted"], "{text}");
    }
    let browser = Browser::signed_in(&operator).await;
    let list = operator.get("/deliveries?q=rita2@example.com").await;
    let id = list["deliveries"][0]["id"].text();
    let page = browser.page("/deliveries?q=rita2@example.com").await;
    has!(page, &format!("/console/deliveries/{id}"));
    let page = browser.page("/contacts?q=rita2@example.com").await;
    let link = "/console/deliveries?q=rita2";
    has!(page, "No contact.", link);
}

async fn an_erased_delivery_is_found_no_more(on: On) {
    let (operator, report) = operator(on).await;
    operator.lead(&report, TOKEN, "L-1").await.expect(200);
    operator
        .lead(&report, "not-the-token", "L-2")
        .await
        .expect(401);
    assert_eq!(found(&operator, "q=L-2").await, ["quarantined"]);
    let person = json!({"workspace": "acme", "phone": "11 98765-4321", "unconverted": true});
    operator.posted("/contacts/erase", &person, 200).await;
    assert!(found(&operator, "q=L-2").await.is_empty());
    let keys = operator.host.count("select count(*) from delivery_keys");
    assert_eq!(keys.await, 0);
}

async fn a_search_says_which_deliveries_it_leaves_out(on: On) {
    let (operator, _) = operator(on).await;
    // As a store that had the workspace before it had search keys.
    let (on, folder) = (&operator.host.on, operator.host.folder.path());
    on.change(folder, "update workspaces set keyed_from = created_at")
        .await;
    let list = operator.get("/deliveries?q=L-1").await;
    let time = list["onlyLeadsBefore"].text().to_owned();
    let page = Browser::signed_in(&operator)
        .await
        .page("/deliveries?q=L-1")
        .await;
    let said = "only those that became leads are searched";
    has!(page, said, &time[..10]);
    assert!(operator.get("/deliveries").await["onlyLeadsBefore"].is_null());
    operator.host.advance(90 * 24 * 3_600).await;
    let list = operator.get("/deliveries?q=L-1").await;
    assert!(list["onlyLeadsBefore"].is_null(), "{list}");
}
