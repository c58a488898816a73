//! Deduplication of leads.

use std::collections::BTreeSet;

use leadhost_tests::{Declared, Host, Json, On, fields, guests};
use serde_json::{Value, json};

use super::{FORM, form, lead};

leadhost_tests::on_every_store! {
    the_same_id_fifty_times_at_once_is_one_deal,
    without_an_id_the_same_content_is_the_same_lead_for_ten_minutes,
    a_connection_may_take_each_repeat_for_a_new_lead,
}

async fn send(host: &Host, declared: &Declared, body: &Value) -> Value {
    let ask = host.post(&declared.address("form")).json(body);
    ask.send().await.expect(200).json()
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
        statuses.push(answer["status"].text().to_owned());
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

fn nameless(message: &str) -> Value {
    json!({"nome": "Lia", "telefone": "11 98888-0001", "imovel": "AP-10", "mensagem": message})
}

async fn without_an_id_the_same_content_is_the_same_lead_for_ten_minutes(on: On) {
    let (host, declared) = form(on).await;
    let first = send(&host, &declared, &nameless("Olá")).await;
    assert_eq!(first["status"], "converted");
    host.advance(599).await;
    let again = send(&host, &declared, &nameless("Olá")).await;
    fields!(again, {"status": "duplicate", "leads.0.dealId": first["leads"][0]["dealId"]});
    let other = send(&host, &declared, &nameless("Outra coisa")).await;
    assert_eq!(other["status"], "converted");
    host.advance(2).await;
    let later = send(&host, &declared, &nameless("Olá")).await;
    assert_eq!(later["status"], "converted");
    assert_ne!(later["leads"][0]["dealId"], first["leads"][0]["dealId"]);
    fields!(later, {"leads.0.contactId": first["leads"][0]["contactId"]});
}

async fn a_connection_may_take_each_repeat_for_a_new_lead(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::example_form()).await;
    let file = format!("{FORM}dedupe_by_content = false\n");
    let declared = host.declare(&file).await;
    for _ in 0..2 {
        let answer = send(&host, &declared, &nameless("Olá")).await;
        assert_eq!(answer["status"], "converted");
    }
    assert_eq!(host.rows(&declared, "deals").await.len(), 2);
}
