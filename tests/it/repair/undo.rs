//! A repair is undone, except for what was changed since.

use std::time::Duration;

use leadhost_domain::id::HostId;
use leadhost_store::RetentionPeriods;
use leadhost_tests::{Json, On, fields, guests, has, until};
use serde_json::{Value, json};

use super::{RIGHT, Repairing, content, id, lead, phone};

leadhost_tests::on_every_store! {
    an_undo_takes_back_what_the_repair_changed,
    after_an_undo_the_impact_counts_the_leads_again_and_they_can_be_repaired_again,
    a_repair_is_undone_once_and_only_if_it_wrote_something,
    a_conversation_follows_the_deal_that_a_repair_moves_and_its_undo_returns,
    a_change_with_which_the_store_fails_is_left_and_ends_the_undo,
    a_cancelled_undo_takes_nothing_more_back_and_can_be_continued,
    a_receipt_of_which_rows_were_swept_is_not_undone,
}

async fn an_undo_takes_back_what_the_repair_changed(on: On) {
    // More than one commit undoes.
    let repairing = Repairing::new(on, 12).await;
    let before = content(repairing.rows().await);
    let repaired = repairing.repaired(json!({"apply": true})).await;
    let id = id(&repaired);
    repairing.check_whole(&id).await;
    repairing.host.advance(1).await;
    let undone = repairing.undone(&id).await;
    let undo = json!({"undone": 36, "changedSince": 0, "stays": 0, "inUse": 0, "left": 0});
    assert_eq!(undone["undo"], undo);
    let ends = until("both ends are in the audit", async || {
        let ends = repairing.get("/audit?act=end-repair").await;
        let ends = ends["rows"].list().clone();
        (ends.len() == 2).then_some(ends)
    })
    .await;
    let detail = |row: &Value| -> Value {
        let detail = row["detail"].text();
        serde_json::from_str(detail).expect("JSON")
    };
    assert_eq!(detail(&ends[0])["undo"], undo);
    assert_eq!(detail(&ends[1])["undo"], Value::Null);
    assert_eq!(content(repairing.rows().await), before);
    for change in repairing.changes(&id).await {
        assert_eq!(change["undone"], "undone", "{change:#}");
    }
    // The deal's history names the repair.
    let deal = repairing.leads[0].deal;
    let history = repairing.get(&format!("/deals/{deal}")).await;
    let newest = &history["history"][0];
    fields!(newest, {"by": "repair", "repairId": id, "changes.0.field": "props.contact"});
    let repairs = &history["history"][1];
    let expect = (&json!("source"), &json!(id));
    assert_eq!((&repairs["by"], &repairs["repairId"]), expect);
    assert_eq!(
        repairs["changes"],
        json!([{
            "field": "props.contact",
            "before": newest["changes"][0]["after"],
            "beforeName": null,
            "after": newest["changes"][0]["before"],
            "afterName": null,
        }])
    );
    // After the undo, the phones no longer lead to the contacts.
    let mut other = lead(100);
    other["fone"] = json!(phone(0));
    let other = repairing.tell(&other).await;
    assert_ne!(other.contact, repairing.leads[0].contact);
}

async fn after_an_undo_the_impact_counts_the_leads_again_and_they_can_be_repaired_again(on: On) {
    let repairing = Repairing::new(on, 3).await;
    let impact = async || {
        let body = json!({"digest": repairing.wrong.0});
        let ask = repairing.ask("POST", "/plugins/mapping/impact").json(&body);
        ask.send().await.expect(200).json()
    };
    let chosen = async || impact().await["chosen"].clone();
    assert_eq!(chosen().await, 3);
    // It only counts.
    repairing.repaired(json!({})).await;
    assert_eq!(impact().await["repairs"], json!([]));
    let id = id(&repairing.repaired(json!({"apply": true})).await);
    fields!(impact().await, {"chosen": 0, "repairs.0.id": id, "repairs.0.deliveries.replayed": 3});
    repairing.undone(&id).await;
    fields!(impact().await, {"chosen": 3, "repairs": []});
    let again = repairing.repaired(json!({"apply": true})).await;
    assert_eq!(again["deliveries"]["replayed"], 3, "{again:#}");
    repairing.check_whole(&super::id(&again)).await;
    assert_eq!(chosen().await, 0);
}

async fn a_repair_is_undone_once_and_only_if_it_wrote_something(on: On) {
    let repairing = Repairing::new(on, 1).await;
    let looked = id(&repairing.repaired(json!({})).await);
    let refused = repairing.act(&looked, "undo").await.expect(409);
    has!(refused.json()["error"].to_string(), "without --apply");
    let id = id(&repairing.repaired(json!({"apply": true})).await);
    repairing.undone(&id).await;
    for act in ["undo", "cancel"] {
        repairing.act(&id, act).await.expect(409);
    }
    assert_eq!(repairing.phones().await, [Value::Null]);
}

async fn a_conversation_follows_the_deal_that_a_repair_moves_and_its_undo_returns(on: On) {
    let repairing = Repairing::new(on, 0).await;
    let host = &repairing.host;
    host.converter(guests::sandbox()).await;
    repairing.activate_wrong().await;
    let declared = repairing.declare_instance(r#"phones = "outro""#).await;
    // Both have the phone of another person; the first keeps that person when the second leaves.
    let stays = json!({"id": "stays", "nome": "Ivo", "fone": phone(41), "outro": phone(41)});
    let stays = repairing.tell(&stays).await;
    let moves = json!({"id": "moves", "nome": "Rui", "fone": phone(40), "outro": phone(41)});
    let moves = repairing.tell(&moves).await;
    assert_eq!(stays.contact, moves.contact);
    repairing.notify(&declared, &phone(40)).await;
    let deal_of_conversation = async || {
        let rows = host.rows(&repairing.declared, "conversations").await;
        assert_eq!(rows.len(), 1);
        rows[0]["deal_id"].clone()
    };
    assert!(deal_of_conversation().await.is_null());
    repairing.declare_instance(RIGHT).await;
    repairing.activate_right().await;
    let repaired = repairing.repaired(json!({"apply": true})).await;
    assert_eq!(deal_of_conversation().await, moves.deal.to_string());
    repairing.undone(&id(&repaired)).await;
    assert!(deal_of_conversation().await.is_null());
}

async fn a_change_with_which_the_store_fails_is_left_and_ends_the_undo(on: On) {
    let repairing = Repairing::new(on, 3).await;
    let id = id(&repairing.repaired(json!({"apply": true})).await);
    let (on, folder) = (&repairing.host.on, repairing.host.folder.path());
    let contact = on.id(repairing.leads[1].contact.0);
    // The store refuses to take the phone of this contact back.
    let (stuck, free) = match on {
        On::Sqlite => (
            format!(
                "create trigger stuck before update on contacts
                 when new.id = {contact} and new.phone_number is null
                 begin select raise(abort, 'stuck'); end"
            ),
            "drop trigger stuck",
        ),
        On::Postgres(_) => (
            format!(
                "alter table contacts add constraint stuck
                 check (id <> {contact} or phone_number is not null)"
            ),
            "alter table contacts drop constraint stuck",
        ),
    };
    on.change(folder, &stuck).await;
    repairing.act(&id, "undo").await.expect(200);
    let ended = repairing.ended(&id).await;
    assert_eq!(ended["state"], "cancelled", "{ended:#}");
    let changes = repairing.changes(&id).await;
    let left = changes.iter().filter(|change| change["undone"].is_null());
    let left: Vec<_> = left.collect();
    let [left] = left[..] else {
        panic!("one is left: {left:#?}");
    };
    assert_eq!(left["field"], "contact.phone_number");
    let why = ended["why"].text();
    let named = format!("with 1 of the changes to undo (number {})", left["number"]);
    has!(why, &named);
    // Its keys stand for the phone that the contact still has.
    let undo = json!({"undone": 7, "changedSince": 1, "stays": 0, "inUse": 0, "left": 1});
    assert_eq!(ended["undo"], undo);
    let stuck = json!(phone(1));
    assert_eq!(repairing.phones().await, [Value::Null, stuck, Value::Null]);
    // After a correction the rest is undone.
    on.change(folder, free).await;
    let undone = repairing.undone(&id).await;
    let undo = json!({"undone": 8, "changedSince": 1, "stays": 0, "inUse": 0, "left": 0});
    assert_eq!(undone["undo"], undo);
    assert_eq!(repairing.phones().await, vec![Value::Null; 3]);
}

async fn a_cancelled_undo_takes_nothing_more_back_and_can_be_continued(on: On) {
    let repairing = Repairing::new(on, 2).await;
    let id = id(&repairing.repaired(json!({"apply": true})).await);
    // Another host has the job, and does nothing.
    let (store, other) = (repairing.host.store(), HostId::new(repairing.host.now()));
    until("the job is free", async || {
        let held = store.hold_job("repairs", other, Duration::from_hours(1));
        held.await.expect("a store")
    })
    .await;
    repairing.act(&id, "undo").await.expect(200);
    let cancelled = repairing.act(&id, "cancel").await.expect(200).json();
    assert_eq!(cancelled["state"], "cancelled");
    has!(cancelled["why"], "its undo");
    repairing.act(&id, "cancel").await.expect(409);
    assert_eq!(repairing.phones().await, [json!(phone(0)), json!(phone(1))]);
    store.leave_job("repairs", other).await.expect("a store");
    let undone = repairing.undone(&id).await;
    let undo = json!({"undone": 6, "changedSince": 0, "stays": 0, "inUse": 0, "left": 0});
    assert_eq!(undone["undo"], undo);
    assert_eq!(repairing.phones().await, vec![Value::Null; 2]);
}

async fn a_receipt_of_which_rows_were_swept_is_not_undone(on: On) {
    let repairing = Repairing::new(on, 1).await;
    let id = id(&repairing.repaired(json!({"apply": true})).await);
    repairing.host.advance(7_200).await;
    let retention = RetentionPeriods {
        deliveries: Duration::from_hours(1),
        quarantine: Duration::from_hours(1),
    };
    let swept = repairing.host.store();
    let swept = swept.sweep(&retention, repairing.host.now(), 1).await;
    swept.expect("a store");
    assert_eq!(repairing.changes(&id).await.len(), 2);
    let refused = repairing.act(&id, "undo").await.expect(409);
    let said = refused.json()["error"].to_string();
    has!(said, "retention.deliveries_days");
    assert_eq!(repairing.shown(&id).await["state"], "expired");
    assert_eq!(repairing.phones().await, [json!(phone(0))]);
}
