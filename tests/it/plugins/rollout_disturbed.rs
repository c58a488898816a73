//! Rollouts and verifications while something else changes: the clock of the host steps, a
//! connection gets another configuration, a person is erased, a stored body is gone.

use leadhost_domain::id::DeliveryId;
use leadhost_pipeline::rollout;
use leadhost_tests::{On, fields};
use serde_json::{Value, json};

use super::rollout::{LONG, Rolling, canary, connection, follow_all, phones, shadow};

leadhost_tests::on_every_store! {
    a_canary_keeps_its_step_when_the_clock_of_the_host_steps,
    a_canary_goes_on_with_a_connection_whose_configuration_changes,
    an_erasure_during_a_canary_disturbs_no_comparison,
    a_delivery_that_is_emptied_while_it_waits_in_a_shadow_counts_as_dropped,
    a_verification_counts_emptied_deliveries_apart,
}

/// Begins a canary of all deliveries that finds no difference.
async fn begun(on: On) -> Rolling {
    let (rolling, _) = Rolling::begun(on, phones("1.1.0"), canary(&[100], LONG)).await;
    rolling
}

/// Waits until this many comparisons were reported, and returns the rollout.
async fn compared(rolling: &Rolling, number: u64) -> Value {
    let all = |shown: &Value| shown["compared"].as_u64() >= Some(number) && follow_all(shown);
    rolling.until("all are compared", all).await
}

async fn a_canary_keeps_its_step_when_the_clock_of_the_host_steps(on: On) {
    const HOURS: i64 = 3_600;
    let rolling = begun(on).await;
    let mut sent = 0;
    for step in [48 * HOURS, -96 * HOURS, 49 * HOURS] {
        rolling.host.advance(step).await;
        rolling.send("odd", 3).await;
        sent += 3;
        let shown = compared(&rolling, sent).await;
        fields!(shown, {"stage": "canary", "percent": 100, "same": sent}; "after {step} s");
    }
    rolling.promote().await;
    assert_eq!(rolling.leads().await, (9, 0));
}

async fn a_canary_goes_on_with_a_connection_whose_configuration_changes(on: On) {
    let rolling = begun(on).await;
    rolling.send("odd", 3).await;
    compared(&rolling, 3).await;
    // Both versions now read two phones of each lead.
    let changed = rolling
        .host
        .declare(&connection("odd", "{ size = 2 }"))
        .await;
    assert_eq!(changed.id("odd"), rolling.declared.id("odd"));
    rolling.send("odd", 3).await;
    fields!(compared(&rolling, 6).await, {"same": 6, "stage": "canary"});
    rolling.abort().await;
    assert_eq!(rolling.leads().await, (6, 0));
}

async fn an_erasure_during_a_canary_disturbs_no_comparison(on: On) {
    let rolling = begun(on).await;
    rolling.send("odd", 2).await;
    compared(&rolling, 2).await;
    let contacts = rolling.host.rows(&rolling.declared, "contacts").await;
    let person = json!({ "id": contacts[0]["id"] });
    let ask = rolling.ask("POST", "/contacts/erase").json(&person);
    ask.send().await.expect(200);
    let versions = rolling.send("odd", 2).await;
    assert_eq!(versions.len(), 2);
    fields!(compared(&rolling, 4).await, {"same": 4, "stage": "canary"});
}

/// Sends a delivery, and removes its body as an erasure does. Returns its id.
async fn emptied(rolling: &Rolling) -> DeliveryId {
    let host = &rolling.host;
    let ask = host.post(&rolling.declared.address("odd")).body("{}");
    let answer = ask.send().await.expect(200);
    let delivery = host.delivery(&answer).await.summary.id;
    let nothing = match host.on {
        On::Sqlite => "x''",
        On::Postgres(_) => "''",
    };
    let id = host.on.id(delivery.0);
    let change = format!(
        "update deliveries
         set query = '[]', headers = '[]', body_bytes = 0, body = {nothing} where id = {id}"
    );
    host.on.change(host.folder.path(), &change).await;
    delivery
}

async fn a_delivery_that_is_emptied_while_it_waits_in_a_shadow_counts_as_dropped(on: On) {
    let rolling = Rolling::new(on).await;
    let delivery = emptied(&rolling).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    rolling.begin(&candidate, shadow()).await;
    // As if it had been answered before its body was removed.
    rollout::answered(&rolling.host.app.pipeline, "misbehave", delivery);
    rolling.send("odd", 1).await;
    let both = |shown: &Value| shown["compared"] == 1 && shown["dropped"] == 1;
    let shown = rolling.until("both are counted", both).await;
    assert_eq!(shown["waiting"], 0, "{shown:#}");
}

async fn a_verification_counts_emptied_deliveries_apart(on: On) {
    let rolling = Rolling::new(on).await;
    rolling.send("odd", 2).await;
    emptied(&rolling).await;
    let ask = rolling.ask("POST", "/plugins/verify");
    let candidate = phones("1.1.0").component();
    let verified = ask.body(candidate).send().await.expect(200).json();
    for (name, number) in [("chosen", 3), ("emptied", 1), ("compared", 2), ("same", 2)] {
        assert_eq!(verified[name], number, "{name}: {verified:#}");
    }
}
