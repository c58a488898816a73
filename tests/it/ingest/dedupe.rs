//! Deduplication of leads.

use std::collections::BTreeSet;

use leadhost_tests::{Declared, Host, On, guests};
use serde_json::{Value, json};

use super::{FORM, form, lead};

leadhost_tests::on_every_store! {
    the_same_id_again_is_the_same_deal,
    the_same_id_fifty_times_at_once_is_one_deal,
    without_an_id_the_same_content_is_the_same_lead_for_ten_minutes,
    a_connection_may_take_each_repeat_for_a_new_lead,
    an_update_of_its_source_changes_the_deal_and_stamps_it,
}

async fn send(host: &Host, declared: &Declared, body: &Value) -> Value {
    let ask = host.post(&declared.address("form")).json(body);
    ask.send().await.expect(200).json()
}

async fn the_same_id_again_is_the_same_deal(on: On) {
    let (host, declared) = form(on).await;
    let first = send(&host, &declared, &lead("f-1", "Lia", "11 98888-0001")).await;
    host.advance(30 * 24 * 3_600).await;
    let again = send(&host, &declared, &lead("f-1", "Lia Prado", "11 98888-0009")).await;
    assert_eq!(again["status"], "duplicate");
    assert_eq!(again["leads"][0]["duplicate"], true);
    for id in ["dealId", "contactId", "externalId"] {
        assert_eq!(again["leads"][0][id], first["leads"][0][id], "{id}");
    }
    assert_eq!(host.rows(&declared, "deals").await.len(), 1);
}

async fn the_same_id_fifty_times_at_once_is_one_deal(on: On) {
    let (host, declared) = form(on).await;
    let body = lead("f-1", "Lia Prado", "11 98888-0001");
    let asks: Vec<_> = (0..50)
        .map(|_| {
            let ask = host.post(&declared.address("form")).json(&body);
            tokio::spawn(ask.send())
        })
        .collect();
    let mut statuses = Vec::new();
    let mut ids = BTreeSet::new();
    for ask in asks {
        let answer = ask.await.unwrap().expect(200).json();
        statuses.push(answer["status"].as_str().unwrap().to_owned());
        let lead = &answer["leads"][0];
        ids.insert(format!("{} {}", lead["dealId"], lead["contactId"]));
    }
    statuses.sort();
    assert_eq!(statuses[0], "converted");
    assert!(statuses[1..].iter().all(|status| status == "duplicate"));
    assert_eq!(ids.len(), 1);
    assert_eq!(host.rows(&declared, "deals").await.len(), 1);
    assert_eq!(host.rows(&declared, "contacts").await.len(), 1);
}

/// A lead without an id of its own.
fn nameless(message: &str) -> Value {
    json!({"nome": "Lia", "telefone": "11 98888-0001", "imovel": "AP-10", "mensagem": message})
}

async fn without_an_id_the_same_content_is_the_same_lead_for_ten_minutes(on: On) {
    let (host, declared) = form(on).await;
    let first = send(&host, &declared, &nameless("Olá")).await;
    assert_eq!(first["status"], "converted");
    host.advance(599).await;
    let again = send(&host, &declared, &nameless("Olá")).await;
    assert_eq!(again["status"], "duplicate");
    assert_eq!(again["leads"][0]["dealId"], first["leads"][0]["dealId"]);
    let other = send(&host, &declared, &nameless("Outra coisa")).await;
    assert_eq!(other["status"], "converted");
    host.advance(2).await;
    let later = send(&host, &declared, &nameless("Olá")).await;
    assert_eq!(later["status"], "converted");
    assert_ne!(later["leads"][0]["dealId"], first["leads"][0]["dealId"]);
    assert_eq!(
        later["leads"][0]["contactId"],
        first["leads"][0]["contactId"]
    );
}

async fn a_connection_may_take_each_repeat_for_a_new_lead(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::example_form()).await;
    let declared = host
        .declare(&format!("{FORM}dedupe_by_content = false\n"))
        .await;
    for _ in 0..2 {
        let answer = send(&host, &declared, &nameless("Olá")).await;
        assert_eq!(answer["status"], "converted");
    }
    assert_eq!(host.rows(&declared, "deals").await.len(), 2);
}

async fn an_update_of_its_source_changes_the_deal_and_stamps_it(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::rust_component("converter-mapping"))
        .await;
    let declared = host
        .declare(
            r#"
[[connections]]
name = "form"
partner = "acme"
plugin = "mapping"
[connections.config.fields]
externalId = "id"
name = "nome"
phones = "telefone"
message = "mensagem"
[connections.config.fields.action]
path = "acao"
map = { NOVO = "create", ALTERADO = "update" }
"#,
        )
        .await;
    let body = |action: &str, message: &str| json!({"acao": action, "id": "p-1", "nome": "Lia", "telefone": "11 98888-0001", "mensagem": message});
    let first = send(&host, &declared, &body("NOVO", "Olá")).await;
    assert_eq!(first["status"], "converted");
    let before = host.rows(&declared, "deals").await;
    let changed = send(&host, &declared, &body("ALTERADO", "Outra coisa")).await;
    assert_eq!(changed["leads"][0]["status"], "updated");
    assert_eq!(changed["leads"][0]["dealId"], first["leads"][0]["dealId"]);
    let after = host.rows(&declared, "deals").await;
    assert_eq!(after.len(), 1);
    assert!(after[0].to_string().contains("Outra coisa"), "{}", after[0]);
    let stamp = |rows: &[Value]| rows[0]["cursor_at"].as_str().unwrap().to_owned();
    assert!(stamp(&after) > stamp(&before));
    let same = send(&host, &declared, &body("ALTERADO", "Outra coisa")).await;
    assert_eq!(same["leads"][0]["status"], "duplicate");
    assert_eq!(stamp(&host.rows(&declared, "deals").await), stamp(&after));
}
