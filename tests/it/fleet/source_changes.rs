//! Changes of a source that several hosts see.

use std::time::Duration;

use leadhost_domain::id::ConnectionId;
use leadhost_tests::{Host, until};
use serde_json::{Value, json};

use super::fleet;
use crate::ingest::with_form;

async fn send(host: &Host, address: &str, deliveries: usize, body: &Value) {
    for _ in 0..deliveries {
        host.post(address).json(body).send().await.expect(200);
    }
}

/// Stops the host, and waits until it has stored what it has seen.
async fn stop(host: &Host, id: &ConnectionId, generation: i64) {
    host.stop(Duration::from_secs(60)).await;
    until("the sketch is stored", async || {
        let row = host.store().connection_sketch(id).await.unwrap()?;
        (row.generation > generation).then_some(())
    })
    .await;
}

#[tokio::test]
async fn deliveries_that_a_host_saw_before_a_change_do_not_end_the_report_of_another_host() {
    let [one] = available!(fleet(["one"]));
    let declared = with_form(&one).await;
    let (id, address) = (declared.id("form"), declared.address("form"));
    let with_phone = json!({"nome": "Lia", "telefone": "11 98888-0001"});
    let without = json!({"nome": "Lia"});
    send(&one, &address, 225, &with_phone).await;
    stop(&one, &id, 0).await;
    let one = one.restart().await;
    let two = one.beside("two").await;
    send(&two, &address, 40, &with_phone).await;
    send(&one, &address, 60, &without).await;
    let reported = until("the change is reported", async || {
        let row = one.store().connection_sketch(&id).await.unwrap()?;
        row.change.is_some().then_some(row)
    })
    .await;
    stop(&two, &id, reported.generation).await;
    let row = one.store().connection_sketch(&id).await.unwrap();
    assert_eq!(row.expect("a sketch").change, reported.change);
}
