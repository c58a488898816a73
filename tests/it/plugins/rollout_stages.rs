//! The stages beside the canary: the shadow before it and the probation after it. And a host that
//! starts again in the middle.

use leadhost_tests::guests::Variant;
use leadhost_tests::{On, until};
use serde_json::{Value, json};

use super::rollout::{LONG, Rolling, canary, count, follow_all, lost, phones, version, why};

leadhost_tests::on_every_store! {
    a_shadow_compares_every_lead_and_the_results_of_the_stable_version_are_stored,
    a_shadow_ends_when_its_time_is_over,
    an_activation_is_not_refused_beside_a_shadow_and_ends_it,
    a_version_in_probation_that_drops_phones_is_rolled_back_after_its_answers,
    a_version_in_probation_that_traps_is_answered_with_the_result_of_the_previous_one,
    a_version_in_probation_is_aborted_back_to_the_stable_one,
    a_canary_goes_on_after_a_restart_of_its_host,
}

async fn a_shadow_compares_every_lead_and_the_results_of_the_stable_version_are_stored(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    // It needs no consent to the differences: it has no effect.
    let order = json!({ "mode": "shadow", "everySeconds": LONG });
    let begun = rolling.begin(&candidate, order).await;
    assert_eq!(begun["stage"], "shadow", "{begun:#}");
    let versions = rolling.send("odd", 10).await;
    assert_eq!(count(&versions, &rolling.stable), 10);
    let all = |shown: &Value| shown["compared"] == 10;
    let compared = rolling.until("all are compared", all).await;
    assert_eq!(lost(&compared, "phone"), 10, "{compared:#}");
    assert_eq!(
        (&compared["served"], &compared["saved"]),
        (&json!(0), &json!(0))
    );
    let aborted = rolling.change("abort").await.expect(200).json();
    assert_eq!(aborted["stage"], "aborted", "{aborted:#}");
    assert_eq!(rolling.leads().await, (10, 0));
}

async fn a_shadow_ends_when_its_time_is_over(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let order = json!({ "mode": "shadow", "everySeconds": 1 });
    rolling.begin(&candidate, order).await;
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "done", "{ended:#}");
    assert_eq!(rolling.serves(), rolling.stable);
}

async fn an_activation_is_not_refused_beside_a_shadow_and_ends_it(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let other = rolling.keep(phones("1.2.0")).await;
    let order = json!({ "mode": "shadow", "everySeconds": LONG });
    rolling.begin(&candidate, order).await;
    let ask = rolling.ask("POST", "/plugins/misbehave/activate");
    let body = json!({ "digest": other.0 });
    ask.json(&body).send().await.expect(200);
    assert_eq!(rolling.serves(), other);
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "aborted", "{ended:#}");
}

async fn a_version_in_probation_that_drops_phones_is_rolled_back_after_its_answers(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    let promoted = rolling.change("promote").await.expect(200).json();
    assert_eq!(promoted["stage"], "probation", "{promoted:#}");
    // Its own result is stored: the comparison comes after the answer.
    let versions = rolling.send("odd", 1).await;
    assert_eq!(versions, std::slice::from_ref(&candidate));
    until("it is rolled back", async || {
        rolling.send("odd", 1).await;
        (rolling.shown().await["stage"] == "rolled-back").then_some(())
    })
    .await;
    assert_eq!(rolling.serves(), rolling.stable);
    let versions = rolling.send("odd", 1).await;
    assert_eq!(versions, std::slice::from_ref(&rolling.stable));
    let ended = rolling.ended().await;
    assert!(why(&ended).contains("lose a phone"), "{ended:#}");
}

async fn a_version_in_probation_that_traps_is_answered_with_the_result_of_the_previous_one(on: On) {
    let rolling = Rolling::new(on).await;
    let traps = Variant {
        always: "trap",
        ..version("2.0.0")
    };
    let candidate = rolling.keep(traps).await;
    let mut order = canary(&[1], LONG);
    // Otherwise it would be rolled back, and the previous version would be active.
    order["guards"] = json!(false);
    rolling.begin(&candidate, order).await;
    rolling.change("promote").await.expect(200);
    let versions = rolling.send("odd", 5).await;
    assert_eq!(count(&versions, &rolling.stable), 5);
    assert_eq!(rolling.leads().await, (5, 0));
    assert_eq!(rolling.serves(), candidate);
    let all = |shown: &Value| shown["saved"] == 5;
    rolling.until("all of them are reported", all).await;
}

async fn a_version_in_probation_is_aborted_back_to_the_stable_one(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    rolling.change("promote").await.expect(200);
    assert_eq!(rolling.serves(), candidate);
    let aborted = rolling.change("abort").await.expect(200).json();
    assert_eq!(aborted["stage"], "aborted", "{aborted:#}");
    assert_eq!(rolling.serves(), rolling.stable);
}

async fn a_canary_goes_on_after_a_restart_of_its_host(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let steps: Vec<u8> = (1..=20).collect();
    rolling.begin(&candidate, canary(&steps, 1)).await;
    let paused = rolling.pause().await;
    let number = number(&rolling).await;
    let rolling = rolling.restart().await;
    let again = rolling.until("the new host follows", follow_all).await;
    assert_eq!(again["percent"], paused["percent"], "{again:#}");
    assert_eq!(again["paused"], true, "{again:#}");
    rolling.change("resume").await.expect(200);
    let before = paused["percent"].as_u64();
    let later = |shown: &Value| shown["percent"].as_u64() > before;
    rolling.until("a later step", later).await;
    assert_eq!(self::number(&rolling).await, number);
}

/// What tells the last rollout from others of the plugin.
async fn number(rolling: &Rolling) -> i64 {
    let rollouts = rolling.host.store().rollouts().await.expect("a store");
    rollouts[0].number
}
