//! The stages beside the canary: the shadow before it and the probation after it. And a host that
//! starts again in the middle.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::HostId;
use leadhost_domain::rollout::RolloutReport;
use leadhost_store::{Beat, HostReport};
use leadhost_tests::{Host, Json, On, Options, eventually, fields, has};
use serde_json::{Value, json};

use super::rollout::{
    LONG, Rolling, canary, connection, count, follow_all, lost, phones, shadow, unguarded, version,
    why,
};

leadhost_tests::on_every_store! {
    a_shadow_compares_every_lead_and_the_results_of_the_stable_version_are_stored,
    a_shadow_ends_when_its_time_is_over,
    a_shadow_that_ends_among_its_comparisons_counts_every_delivery,
    a_canary_ends_an_open_shadow_and_the_audit_has_it,
    comparisons_that_waited_on_a_dead_host_count_as_dropped,
    a_report_of_another_release_counts_nothing_and_the_rollout_waits_for_its_host,
    an_activation_is_not_refused_beside_a_shadow_and_ends_it,
    a_version_in_probation_that_drops_phones_is_rolled_back_after_its_answers,
    a_version_in_probation_that_traps_is_answered_with_the_result_of_the_previous_one,
    a_version_in_probation_is_compared_on_the_deliveries_that_the_stable_one_failed_on,
    a_source_that_changes_during_a_probation_rolls_nothing_back,
    a_canary_goes_on_after_a_restart_of_its_host,
    a_step_without_comparisons_waits_says_so_and_goes_on_when_they_are_made,
    a_step_that_waits_for_comparisons_is_promoted_by_an_operator,
    an_open_rollout_is_in_the_list_of_plugins_and_in_the_status,
    the_audit_names_the_operator_who_promotes_and_aborts,
    the_audit_names_the_service_and_the_guard_that_rolls_back,
    a_version_whose_probation_was_aborted_is_restored_only_if_that_is_accepted,
    a_version_that_gave_way_to_another_in_its_probation_is_restored_without_a_word,
    a_rollback_beside_an_abort_of_the_probation_leaves_the_stable_version_active,
    an_aborted_shadow_does_not_count_as_a_rollback_of_its_candidate,
    a_probation_ends_at_once_when_another_version_is_activated_or_rolled_back_to,
    a_version_in_probation_that_loops_costs_no_sender_its_answer_and_is_rolled_back,
}

async fn a_shadow_compares_every_lead_and_the_results_of_the_stable_version_are_stored(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    // It needs no consent to the differences: it has no effect.
    let begun = rolling.begin(&candidate, shadow()).await;
    assert_eq!(begun["stage"], "shadow", "{begun:#}");
    let versions = rolling.send("odd", 10).await;
    assert_eq!(count(&versions, &rolling.stable), 10);
    let all = |shown: &Value| shown["compared"] == 10;
    let compared = rolling.until("all are compared", all).await;
    assert_eq!(lost(&compared, "phone"), 10, "{compared:#}");
    // `leadhost status` and the console's first page name this.
    let list = rolling.ask("GET", "/rollouts").send().await;
    let list = list.expect(200).json();
    let drift = list["rollouts"][0]["drift"][0].text();
    assert!(drift.starts_with("10 of 10 leads lose a phone"), "{list:#}");
    fields!(compared, {"served": 0, "saved": 0});
    rolling.abort().await;
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

/// Returns how many deliveries were compared, wait for it, or were dropped.
fn accounted(shown: &Value) -> u64 {
    let counts = ["compared", "waiting", "dropped"];
    let counts = counts.map(|name| shown[name].as_u64().expect("a count"));
    counts.iter().sum()
}

async fn a_shadow_that_ends_among_its_comparisons_counts_every_delivery(on: On) {
    const SENT: usize = 30;
    let (rolling, _) = Rolling::begun(on, phones("1.1.0"), shadow()).await;
    rolling.send("odd", SENT).await;
    // One of them may be in the middle of its comparison.
    rolling.abort().await;
    let ended = rolling.ended().await;
    assert_eq!(accounted(&ended), SENT as u64, "{ended:#}");
    fields!(ended, {"waiting": 0, "same": ended["compared"]});
}

async fn a_canary_ends_an_open_shadow_and_the_audit_has_it(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    rolling.begin(&candidate, shadow()).await;
    let first = number(&rolling).await;
    // Another shadow does not end it.
    let refused = rolling.order(&candidate, shadow()).await.expect(409).json();
    has!(refused["error"], "which `test` started at ");
    let begun = rolling.begin(&candidate, canary(&[1], LONG)).await;
    assert_eq!(begun["stage"], "canary", "{begun:#}");
    assert!(number(&rolling).await > first);
    let (ended, detail) = row(&rolling, "end-rollout").await;
    assert_eq!(ended["label"], "test", "{ended:#}");
    fields!(detail, {"stage": "aborted", "why": "`test` started a canary"});
}

/// Reports what another host has seen of the rollout. Returns the host, which shows no other sign of life.
async fn report(rolling: &Rolling, seen: Value) -> HostId {
    let store = rolling.host.store();
    let rollout = store.rollouts().await.expect("a store").remove(0);
    let host = HostId::new(rolling.host.now());
    let report = RolloutReport {
        name: rollout.name,
        number: rollout.number,
        host,
        host_name: "other".to_owned(),
        generation: rollout.generation,
        error: None,
        at: rolling.host.now(),
        seen,
    };
    store.report_rollout(&report).await.expect("a store");
    host
}

async fn comparisons_that_waited_on_a_dead_host_count_as_dropped(on: On) {
    let (rolling, _) = Rolling::begun(on, phones("1.1.0"), shadow()).await;
    report(&rolling, json!({ "waiting": 573, "dropped": 2 })).await;
    fields!(rolling.shown().await, {"waiting": 0, "dropped": 575});
    rolling.abort().await;
    fields!(rolling.ended().await, {"waiting": 0, "dropped": 575});
}

async fn a_report_of_another_release_counts_nothing_and_the_rollout_waits_for_its_host(on: On) {
    let (rolling, _) = Rolling::begun(on, phones("1.1.0"), shadow()).await;
    let host = report(
        &rolling,
        json!({ "tally": "in another form", "dropped": 2 }),
    )
    .await;
    fields!(rolling.shown().await, {"stage": "shadow", "dropped": 0, "behind": []});
    if rolling.host.store().is_shared() {
        let alive = Beat {
            host,
            name: "other".to_owned(),
            version: "0.0.1".to_owned(),
            report: HostReport::default(),
        };
        rolling.host.store().beat(&alive).await.expect("a store");
        let shown = rolling.shown().await;
        fields!(shown["behind"][0], {"host": "other"});
        has!(shown["behind"][0]["reason"].text(), "another release");
    }
    rolling.abort().await;
    fields!(rolling.ended().await, {"dropped": 0});
}

async fn an_activation_is_not_refused_beside_a_shadow_and_ends_it(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let other = rolling.keep(phones("1.2.0")).await;
    rolling.begin(&candidate, shadow()).await;
    rolling.activate(&other).await;
    assert_eq!(rolling.serves(), other);
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "aborted", "{ended:#}");
}

async fn a_version_in_probation_that_drops_phones_is_rolled_back_after_its_answers(on: On) {
    let (rolling, candidate) = Rolling::in_probation(on, version("1.1.0")).await;
    // Its own result is stored: the comparison comes after the answer.
    let versions = rolling.send("odd", 1).await;
    assert_eq!(versions, std::slice::from_ref(&candidate));
    rolling.send_until_rolled_back().await;
    assert_eq!(rolling.serves(), rolling.stable);
    let versions = rolling.send("odd", 1).await;
    assert_eq!(versions, std::slice::from_ref(&rolling.stable));
    let ended = rolling.ended().await;
    has!(why(&ended), "lose a phone");
}

async fn a_version_in_probation_that_traps_is_answered_with_the_result_of_the_previous_one(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(version("2.0.0").always("trap")).await;
    // Otherwise it would be rolled back, and the previous version would be active.
    rolling.begin(&candidate, unguarded(&[1])).await;
    rolling.promote().await;
    let versions = rolling.send("odd", 5).await;
    assert_eq!(count(&versions, &rolling.stable), 5);
    assert_eq!(rolling.leads().await, (5, 0));
    assert_eq!(rolling.serves(), candidate);
    let all = |shown: &Value| shown["saved"] == 5;
    rolling.until("all of them are reported", all).await;
}

async fn a_version_in_probation_is_compared_on_the_deliveries_that_the_stable_one_failed_on(
    on: On,
) {
    const FAILED: usize = 12;
    let connections = connection("odd", "{ do = \"trap\", size = 0 }");
    let rolling = Rolling::on_host(Host::working(on).await, &connections).await;
    for _ in 0..FAILED {
        let ask = rolling.host.post(&rolling.declared.address("odd"));
        ask.body("{}").send().await.expect(200);
    }
    let failed = rolling.host.with_status(DeliveryStatus::Failed).await;
    assert_eq!(failed.len(), FAILED);
    let candidate = rolling.keep(version("1.0.1").mended("trap")).await;
    let mut order = canary(&[1], LONG);
    order["accept"] = json!(["all"]);
    rolling.begin(&candidate, order).await;
    // They are retried at once, some of them before the host knows of the probation.
    rolling.promote().await;
    let all = |shown: &Value| shown["served"] == FAILED && shown["compared"] == FAILED;
    let shown = rolling.until("all are compared", all).await;
    fields!(shown, {"stage": "probation", "noLongerFailing.count": FAILED});
    assert_eq!(accounted(&shown), FAILED as u64, "{shown:#}");
}

async fn a_source_that_changes_during_a_probation_rolls_nothing_back(on: On) {
    const SENT: usize = 40;
    let mut rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    rolling.send("odd", SENT).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    rolling.promote().await;
    // From now on its leads have no phone, whichever version reads them.
    let without = connection("odd", "{ size = 0 }");
    rolling.declared = rolling.host.declare(&without).await;
    rolling.send("odd", SENT).await;
    let all = |shown: &Value| shown["compared"] == SENT;
    fields!(rolling.until("all are compared", all).await, {"stage": "probation", "same": SENT});
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
    fields!(again, {"percent": paused["percent"], "paused": true});
    rolling.change("resume").await.expect(200);
    let before = paused["percent"].as_u64();
    let later = |shown: &Value| shown["percent"].as_u64() > before;
    rolling.until("a later step", later).await;
    assert_eq!(self::number(&rolling).await, number);
}

/// A canary whose steps need comparisons.
fn careful(steps: &[u8], comparisons: u64) -> Value {
    let mut order = canary(steps, 1);
    order["stepComparisons"] = json!(comparisons);
    order
}

async fn a_step_without_comparisons_waits_says_so_and_goes_on_when_they_are_made(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let begun = rolling.begin(&candidate, careful(&[50, 100], 3)).await;
    assert_eq!(begun["plan"]["stepComparisons"], 3, "{begun:#}");
    let waits = |shown: &Value| !shown["waitsFor"].is_null();
    let shown = rolling.until("it waits after its time", waits).await;
    fields!(shown, {"percent": 50, "stepCompared": 0});
    let words = "3 more comparisons: 0 of 3 in this step";
    fields!(shown, {"waitsFor": words});
    let status = rolling.ask("GET", "/status").send().await.expect(200);
    fields!(status.json(), {"plugins.0.rollout.waitsFor": words});

    // About every second one is compared. The last step begins with no comparisons of its own.
    eventually("the next step", async || {
        rolling.send("odd", 1).await;
        rolling.shown().await["percent"] == 100
    })
    .await;
    let waits = |shown: &Value| !shown["waitsFor"].is_null() && follow_all(shown);
    let shown = rolling.until("it waits again", waits).await;
    assert_eq!(shown["stage"], "canary", "{shown:#}");
    rolling.send("odd", 3).await;
    let is_active = |shown: &Value| shown["stage"] == "probation";
    rolling.until("the activation", is_active).await;
    assert_eq!(rolling.serves(), candidate);
}

async fn a_step_that_waits_for_comparisons_is_promoted_by_an_operator(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let mut order = careful(&[1, 100], 1);
    // The default.
    order["stepComparisons"] = Value::Null;
    let begun = rolling.begin(&candidate, order).await;
    assert_eq!(begun["plan"]["stepComparisons"], 10, "{begun:#}");
    let waits = |shown: &Value| !shown["waitsFor"].is_null();
    rolling.until("it waits after its time", waits).await;
    assert_eq!(rolling.promote().await["waitsFor"], Value::Null);
}

/// Returns the number of the last rollout, which no other rollout of the plugin has.
async fn number(rolling: &Rolling) -> i64 {
    let rollouts = rolling.host.store().rollouts().await.expect("a store");
    rollouts[0].number
}

async fn an_open_rollout_is_in_the_list_of_plugins_and_in_the_status(on: On) {
    let rolling = Rolling::new(on).await;
    let shown = async || {
        let mut rollouts = Vec::new();
        for path in ["/plugins", "/status"] {
            let answer = rolling.ask("GET", path).send().await.expect(200).json();
            rollouts.push(answer["plugins"][0]["rollout"].clone());
        }
        rollouts
    };
    assert_eq!(shown().await, [Value::Null, Value::Null]);
    let candidate = rolling.keep(phones("1.1.0")).await;
    rolling.begin(&candidate, canary(&[10, 100], LONG)).await;
    rolling.change("pause").await.expect(200);
    for open in shown().await {
        let version = json!({"version": "1.1.0", "digest": candidate.0});
        fields!(open, {"candidate": version, "stage": "canary", "percent": 10, "paused": true});
        let left = open["secondsLeft"].as_u64().expect("a number");
        assert!((1..=LONG).contains(&left), "{open:#}");
    }
    rolling.promote().await;
    for open in shown().await {
        fields!(open, {"stage": "probation", "percent": null});
    }
    rolling.abort().await;
    assert_eq!(shown().await, [Value::Null, Value::Null]);
}

/// Returns the newest row of the audit about this act, and its detail.
async fn row(rolling: &Rolling, act: &str) -> (Value, Value) {
    let ask = rolling.ask("GET", &format!("/audit?act={act}&limit=1"));
    let audit = ask.send().await.expect(200).json();
    let row = audit["rows"][0].clone();
    let detail = row["detail"].text();
    let detail = serde_json::from_str(detail).expect("JSON");
    (row, detail)
}

async fn the_audit_names_the_operator_who_promotes_and_aborts(on: On) {
    let (rolling, candidate) = Rolling::begun(on, phones("1.1.0"), canary(&[1], LONG)).await;
    rolling.pause().await;
    let (_, detail) = row(&rolling, "change-rollout").await;
    let paused = |paused: bool| json!({"stage": "canary", "percent": 1, "paused": paused});
    let (before, after) = (paused(false), paused(true));
    let expect =
        json!({"change": "pause", "candidate": candidate, "before": before, "after": after});
    assert_eq!(detail, expect);
    rolling.promote().await;
    let (promoted, detail) = row(&rolling, "promote-rollout").await;
    fields!(promoted, {"label": "test", "role": "admin", "address": "127.0.0.1"});
    assert!(promoted["keyId"].is_string(), "{promoted:#}");
    fields!(detail, {"stage": "probation", "percent": null});
    rolling.abort().await;
    let (ended, detail) = row(&rolling, "end-rollout").await;
    assert_eq!(ended["label"], "test", "{ended:#}");
    fields!(detail, {"stage": "aborted", "why": "`test` ended it"});
}

async fn the_audit_names_the_service_and_the_guard_that_rolls_back(on: On) {
    let (rolling, _) = Rolling::begun(on, version("1.1.0"), canary(&[100], LONG)).await;
    rolling.send_until_rolled_back().await;
    rolling.audited("roll-back-rollout").await;
    let (row, detail) = row(&rolling, "roll-back-rollout").await;
    fields!(row, {"label": "service", "keyId": null, "role": null});
    assert_eq!(detail["percent"], 100, "{detail:#}");
    has!(detail["guard"], "lose a phone");
}

async fn a_version_whose_probation_was_aborted_is_restored_only_if_that_is_accepted(on: On) {
    let (rolling, candidate) = Rolling::in_probation(on, phones("1.1.0")).await;
    rolling.abort().await;
    let refused = rolling.roll_back(409).await;
    assert_eq!(refused["accept"], json!(["rolled-back"]), "{refused:#}");
    assert_eq!(rolling.serves(), rolling.stable);

    // It is right after all. A later promotion replaces it, and not because it was wrong.
    rolling.activate(&candidate).await;
    let other = rolling.keep(phones("1.2.0")).await;
    rolling.begin(&other, canary(&[1], LONG)).await;
    rolling.promote().await;
    rolling.roll_back(200).await;
    assert_eq!(rolling.serves(), candidate);
}

async fn a_version_that_gave_way_to_another_in_its_probation_is_restored_without_a_word(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let other = rolling.keep(phones("1.2.0")).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    rolling.promote().await;
    rolling.activate(&other).await;
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "aborted", "{ended:#}");
    rolling.roll_back(200).await;
    assert_eq!(rolling.serves(), candidate);
}

async fn a_probation_ends_at_once_when_another_version_is_activated_or_rolled_back_to(on: On) {
    let rolling = Rolling::new(on).await;
    let other = rolling.keep(phones("1.2.0")).await;
    for (number, path, why) in [
        ("1.1.0", "activate", "another version was activated"),
        (
            "1.3.0",
            "rollback",
            "an operator rolled the active version back",
        ),
    ] {
        let candidate = rolling.keep(phones(number)).await;
        rolling.begin(&candidate, canary(&[1], LONG)).await;
        rolling.promote().await;
        if path == "activate" {
            rolling.activate(&other).await;
        } else {
            rolling.roll_back(200).await;
        }
        assert_eq!(rolling.serves(), other);
        fields!(rolling.shown().await, {"stage": "aborted", "why": why}; "after {path}");
    }
}

async fn an_aborted_shadow_does_not_count_as_a_rollback_of_its_candidate(on: On) {
    let rolling = Rolling::new(on).await;
    let next = rolling.keep(phones("1.1.0")).await;
    rolling.activate(&next).await;
    rolling.begin(&rolling.stable, shadow()).await;
    rolling.abort().await;
    rolling.roll_back(200).await;
    assert_eq!(rolling.serves(), rolling.stable);
}

async fn a_rollback_beside_an_abort_of_the_probation_leaves_the_stable_version_active(on: On) {
    let rolling = Rolling::new(on).await;
    let numbers = ["1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"];
    for (turn, number) in numbers.into_iter().enumerate() {
        let candidate = rolling.keep(phones(number)).await;
        rolling.begin(&candidate, canary(&[1], LONG)).await;
        rolling.promote().await;
        // They meet at another moment in each turn.
        let rollback = async {
            for _ in 0..turn * 40 {
                tokio::task::yield_now().await;
            }
            let ask = rolling.ask("POST", "/plugins/misbehave/rollback");
            ask.send().await.status
        };
        let (aborted, rolled_back) = tokio::join!(rolling.change("abort"), rollback);
        let statuses = [aborted.status, rolled_back];
        assert!(statuses.contains(&200), "{statuses:?}");
        assert_eq!(rolling.serves(), rolling.stable, "{number}: {statuses:?}");
    }
}

async fn a_version_in_probation_that_loops_costs_no_sender_its_answer_and_is_rolled_back(on: On) {
    let options = Options::patient(on).with("plugins.inline_ms", 1_000);
    let rolling = Rolling::start(options).await;
    let candidate = rolling.keep(version("2.0.0").always("loop")).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    rolling.promote().await;
    // Each one is answered within its request.
    let versions = rolling.send_until_rolled_back().await;
    assert_eq!(count(&versions, &rolling.stable), versions.len());
    let ended = rolling.ended().await;
    has!(why(&ended), "fail");
    assert_eq!(rolling.serves(), rolling.stable);
}
