//! The changes of a repair, and its receipt.

use leadhost_tests::{Json, On, Options, fields, has, until};
use serde_json::{Value, json};

use super::{Repairing, phone};

leadhost_tests::on_every_store! {
    a_repair_writes_what_the_version_lost_and_its_receipt_is_exact,
    edits_of_a_person_stay_and_are_counted,
    a_repair_that_only_counts_writes_nothing,
    only_the_deliveries_of_its_time_and_connection_are_repaired,
    deliveries_that_cannot_be_replayed_are_counted,
    a_delivery_that_a_host_works_on_is_waited_for,
}

async fn a_repair_writes_what_the_version_lost_and_its_receipt_is_exact(on: On) {
    let repairing = Repairing::new(on, 5).await;
    assert_eq!(repairing.phones().await, vec![Value::Null; 5]);
    let repaired = repairing.repaired(json!({"apply": true})).await;
    let id = super::id(&repaired);
    repairing.check_whole(&id).await;
    assert_eq!(repaired["found"], 5);
    let mut deliveries = json!({"replayed": 5});
    for other in "failed rejected quarantined leased emptied gone".split(' ') {
        deliveries[other] = json!(0);
    }
    assert_eq!(repaired["deliveries"], deliveries);
    let deals = json!({"rows": 5, "fields": {"props.contact": 5}});
    assert_eq!(repaired["deals"], deals);
    let contacts = json!({"rows": 5, "fields": {"keys": 5, "phone_number": 5}});
    fields!(repaired, {
        "contacts": contacts, "created": 0, "kept": 0, "undo": null,
        "convertedBy": repairing.wrong.0,
    });
    // Another one finds nothing that the version converted, and has ended at once.
    let nothing = repairing.order(json!({"apply": true})).await;
    fields!(nothing.expect(201).json(), {"state": "done", "found": 0});
    let listed = repairing.get("/repairs").await;
    let listed = listed["repairs"].list();
    assert_eq!(listed.len(), 2);
    let audit = repairing.get("/audit?act=start-repair").await;
    let rows = audit["rows"].list().iter();
    let done: Vec<_> = rows.filter(|row| row["outcome"] == "done").collect();
    assert_eq!(done.len(), 2, "{audit:#}");
    assert_eq!(done[1]["target"], "mapping");
    let detail = done[1]["detail"].text();
    has!(detail, &id);
    // The second one ended with its start.
    let ends = until("the end is in the audit", async || {
        let ends = repairing.get("/audit?act=end-repair").await;
        let ends = ends["rows"].list().clone();
        (!ends.is_empty()).then_some(ends)
    })
    .await;
    assert_eq!(ends.len(), 1, "{ends:#?}");
    fields!(ends, {"0.target": "mapping", "0.label": "service"});
    let detail = ends[0]["detail"].text();
    let detail: Value = serde_json::from_str(detail).expect("JSON");
    fields!(detail, {
        "repair": id.as_str(), "state": "done", "deals": &repaired["deals"]["rows"], "contacts": 5,
    });
}

async fn edits_of_a_person_stay_and_are_counted(on: On) {
    let repairing = Repairing::new(on, 2).await;
    let deal = repairing.leads[1].deal;
    let edit = repairing.host.ask("PATCH", &format!("/deal/{deal}"));
    let edit = edit.header("x-service-api-key", &repairing.declared.key("partner"));
    let edit = edit.json(&json!({"propertyExternalId": "AP-2"}));
    edit.send().await.expect(202);
    let product = async || {
        let row = repairing.host.row(&repairing.declared, "deals", deal);
        row.await["product_id"].clone()
    };
    let edited = product().await;
    for apply in [false, true] {
        let repaired = repairing.repaired(json!({"apply": apply})).await;
        assert_eq!(repaired["kept"], 1, "{repaired:#}");
        assert_eq!(repaired["contacts"]["fields"]["phone_number"], 2);
        assert_eq!(repaired["deals"]["fields"], json!({"props.contact": 2}));
    }
    assert_eq!(product().await, edited);
    assert_eq!(repairing.phones().await, [json!(phone(0)), json!(phone(1))]);
}

async fn a_repair_that_only_counts_writes_nothing(on: On) {
    let repairing = Repairing::new(on, 3).await;
    let before = repairing.rows().await;
    let looked = repairing.repaired(json!({})).await;
    assert_eq!(repairing.rows().await, before);
    assert!(repairing.changes(&super::id(&looked)).await.is_empty());
    fields!(looked, {"apply": false, "deliveries.replayed": 3});
    let contacts = json!({"rows": 3, "fields": {"keys": 3, "phone_number": 3}});
    assert_eq!(looked["contacts"], contacts);
    let deals = json!({"rows": 3, "fields": {"props.contact": 3}});
    assert_eq!(looked["deals"], deals);
    let way_back = async || repairing.get("/plugins").await["plugins"][0]["wayBack"].clone();
    assert_eq!(way_back().await, repairing.wrong.0);
    let repaired = repairing.repaired(json!({"apply": true})).await;
    // Nothing advises the return to a version whose deliveries were repaired.
    assert!(way_back().await.is_null());
    fields!(repaired, {"found": 3, "deals": looked["deals"], "contacts": looked["contacts"]});
}

async fn only_the_deliveries_of_its_time_and_connection_are_repaired(on: On) {
    let repairing = Repairing::new(on, 5).await;
    // The leads are a second apart.
    let order = json!({
        "since": "2030-01-15T12:00:01Z", "until": "2030-01-15T12:00:03Z", "connection": "demo/site",
        "apply": true,
    });
    let repaired = repairing.repaired(order).await;
    assert_eq!(repaired["found"], 2);
    let right = |number: usize| json!(phone(number));
    let expect = [Value::Null, right(1), right(2), Value::Null, Value::Null];
    assert_eq!(repairing.phones().await, expect);
    let rest = repairing.repaired(json!({"apply": true})).await;
    assert_eq!(rest["found"], 3);
}

async fn deliveries_that_cannot_be_replayed_are_counted(on: On) {
    let repairing = Repairing::new(on, 4).await;
    let held = repairing.hold(0).await;
    let id = repairing.begin(json!({"apply": true})).await;
    let is_found = |shown: &Value| shown["found"] == 4;
    repairing
        .until(&id, "its deliveries are found", is_found)
        .await;
    let on = &repairing.host.on;
    let nothing = match on {
        On::Sqlite => "x''",
        On::Postgres(_) => "''",
    };
    let [emptied, gone] = [1, 2].map(|number: usize| on.id(repairing.leads[number].delivery.0));
    let change = format!(
        "update deliveries
         set query = '[]', headers = '[]', body_bytes = 0, body = {nothing}
         where id = {emptied};
         delete from items where delivery_id = {gone};
         delete from deliveries where id = {gone}"
    );
    on.change(repairing.host.folder.path(), &change).await;
    repairing.free(held).await;
    let ended = repairing.ended(&id).await;
    assert_eq!(ended["state"], "done");
    let deliveries = &ended["deliveries"];
    for (outcome, count) in [("replayed", 2), ("emptied", 1), ("gone", 1), ("leased", 0)] {
        assert_eq!(deliveries[outcome], count, "{outcome}: {ended:#}");
    }
    let right = |number: usize| json!(phone(number));
    let expect = [right(0), Value::Null, Value::Null, right(3)];
    assert_eq!(repairing.phones().await, expect);
}

async fn a_delivery_that_a_host_works_on_is_waited_for(on: On) {
    // A repair waits a little longer than a lease.
    let options = Options::patient(on).with("worker.lease_seconds", 1);
    let repairing = Repairing::with(options, 2).await;
    let held = repairing.hold(0).await;
    let repaired = repairing.repaired(json!({"apply": true})).await;
    fields!(repaired, {"deliveries.leased": 1, "deliveries.replayed": 1});
    repairing.free(held).await;
    let rest = repairing.repaired(json!({"apply": true})).await;
    assert_eq!(rest["deliveries"]["replayed"], 1);
    assert_eq!(repairing.phones().await, [json!(phone(0)), json!(phone(1))]);
}
