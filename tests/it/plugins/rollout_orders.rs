//! The orders of operators about a rollout: its start, its changes, and the refusals while it is open.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_golden::append_custom;
use leadhost_tests::components::component;
use leadhost_tests::{Json, On, eventually, fields, guests, has};
use serde_json::{Value, json};

use super::rollout::{LONG, Rolling, another_form, canary, phones, shadow};

leadhost_tests::on_every_store! {
    while_a_canary_is_open_other_versions_are_refused_with_the_command_that_ends_it,
    a_viewer_sees_a_rollout_and_neither_starts_nor_changes_one,
    a_plan_that_cannot_be_followed_is_refused,
    an_unreadable_change_is_refused,
    without_an_open_rollout_there_is_nothing_to_change,
    a_shadow_has_no_steps_to_pause_and_no_candidate_to_promote,
    a_paused_canary_stays_in_its_step_and_goes_on_when_it_is_resumed,
    without_a_probation_a_promoted_candidate_is_done,
    a_rollout_that_gets_no_traffic_warns,
}

async fn while_a_canary_is_open_other_versions_are_refused_with_the_command_that_ends_it(on: On) {
    let rolling = Rolling::new(on).await;
    let host = &rolling.host;
    // So that there is a version to roll back to.
    let stable = host.converter(phones("1.0.1").component()).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let other = rolling.keep(phones("1.2.0")).await;
    rolling.begin(&candidate, canary(&[50], LONG)).await;
    let other = json!({ "digest": other.0 });
    let begin = |mode: &str| {
        let mut order = other.clone();
        order["mode"] = json!(mode);
        rolling.about("POST").json(&order)
    };
    let refused = [
        rolling
            .ask("POST", "/plugins/misbehave/activate")
            .json(&other),
        rolling
            .ask("POST", "/plugins?activate=true")
            .body(phones("1.2.0").component()),
        rolling.ask("POST", "/plugins/misbehave/rollback"),
        begin("canary"),
        begin("shadow"),
    ];
    for (number, ask) in refused.into_iter().enumerate() {
        let refused = ask.send().await.expect(409).json();
        let error = refused["error"].text();
        let ends = "leadhost plugin rollout abort misbehave";
        has!(error, ends; "{number}");
    }
    assert_eq!(rolling.serves(), stable);
    fields!(rolling.shown().await, {"candidate.digest": candidate, "stage": "canary"});
}

async fn a_viewer_sees_a_rollout_and_neither_starts_nor_changes_one(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let key = json!({ "kind": "admin", "label": "viewer", "role": "viewer" });
    let made = rolling.ask("POST", "/keys").json(&key).send().await;
    let made = made.expect(201).json();
    let text = made["key"].text();
    let viewer = PlainKey::parse_as(KeyKind::Admin, text).expect("an admin key");
    let ask = |method: &str| {
        let path = "/admin/v1/plugins/misbehave/rollout";
        rolling.host.admin(method, path).bearer(&viewer)
    };
    let mut order = canary(&[50], LONG);
    order["digest"] = json!(candidate);
    ask("POST").json(&order).send().await.expect(403);
    rolling.begin(&candidate, order).await;
    let abort = json!({ "change": "abort" });
    ask("PATCH").json(&abort).send().await.expect(403);
    let shown = ask("GET").send().await.expect(200).json();
    assert_eq!(shown["stage"], "canary", "{shown:#}");
}

async fn a_plan_that_cannot_be_followed_is_refused(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let too_many: Vec<u8> = (1..=21).collect();
    for (name, value) in [
        ("steps", json!([])),
        ("steps", json!([50, 10])),
        ("steps", json!([10, 10])),
        ("steps", json!([0])),
        ("steps", json!([101])),
        ("steps", json!([1_000])),
        ("steps", json!(too_many)),
        ("everySeconds", json!(0)),
        ("everySeconds", json!(2_592_001)),
        ("probationSeconds", json!(2_592_001)),
        ("stepComparisons", json!(100_001)),
        ("stepComparisons", json!(-1)),
        ("accept", json!(["anything"])),
        ("mode", json!("blue")),
        ("unknown", json!(1)),
    ] {
        let mut order = canary(&[50, 100], LONG);
        order[name] = value.clone();
        let refused = rolling.order(&candidate, order).await;
        assert_eq!(refused.status, 400, "{name} {value}: {}", refused.text());
    }
    let order = json!({ "mode": "shadow", "steps": [10, 20] });
    rolling.order(&candidate, order).await.expect(400);
    rolling.about("GET").send().await.expect(404);
}

async fn an_unreadable_change_is_refused(on: On) {
    let (rolling, _) = Rolling::begun(on, phones("1.1.0"), canary(&[50], LONG)).await;
    for change in [
        json!({}),
        json!({ "change": "stop" }),
        json!({ "change": "abort", "unknown": 1 }),
    ] {
        let refused = rolling.about("PATCH").json(&change).send().await;
        assert_eq!(refused.status, 400, "{change}: {}", refused.text());
    }
    assert_eq!(rolling.shown().await["stage"], "canary");
}

async fn without_an_open_rollout_there_is_nothing_to_change(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let nothing = async |says: &str| {
        for change in ["pause", "resume", "promote", "abort"] {
            let refused = rolling.change(change).await;
            assert_eq!(refused.status, 409, "{change}: {}", refused.text());
            has!(refused, says);
        }
    };
    nothing("there was none").await;
    rolling.begin(&candidate, canary(&[50], LONG)).await;
    rolling.abort().await;
    nothing("is aborted (`").await;
    assert_eq!(rolling.serves(), rolling.stable);
}

async fn a_shadow_has_no_steps_to_pause_and_no_candidate_to_promote(on: On) {
    let (rolling, _) = Rolling::begun(on, phones("1.1.0"), shadow()).await;
    for change in ["pause", "resume", "promote"] {
        let refused = rolling.change(change).await;
        assert_eq!(refused.status, 409, "{change}: {}", refused.text());
    }
    assert_eq!(rolling.serves(), rolling.stable);
}

async fn a_paused_canary_stays_in_its_step_and_goes_on_when_it_is_resumed(on: On) {
    let rolling = Rolling::new(on).await;
    let host = &rolling.host;
    let candidate = rolling.keep(phones("1.1.0")).await;
    host.converter(guests::example_form()).await;
    let clock = host.keep_version(another_form()).await;
    let steps: Vec<u8> = (1..=20).collect();
    rolling.begin(&candidate, canary(&steps, 1)).await;
    let paused = rolling.pause().await;
    let again = rolling.change("pause").await.expect(200).json();
    assert_eq!(again["generation"], paused["generation"], "{again:#}");

    // The rollout of another plugin shows that time passes: when its second step has begun, the
    // judge has looked at the paused one too, after more than its second.
    let form = |method: &str| rolling.ask(method, "/plugins/example-form/rollout");
    let mut order = canary(&[50, 60, 70], 1);
    order["digest"] = json!(clock);
    form("POST").json(&order).send().await.expect(201);
    eventually("two steps have passed", async || {
        let shown = form("GET").send().await.expect(200).json();
        shown["percent"] == 70
    })
    .await;
    let shown = rolling.shown().await;
    fields!(shown, {"percent": paused["percent"], "paused": true});

    let resumed = rolling.change("resume").await.expect(200).json();
    assert_eq!(resumed["paused"], false, "{resumed:#}");
    let before = paused["percent"].as_u64();
    let later = |shown: &Value| shown["percent"].as_u64() > before;
    rolling.until("a later step", later).await;
}

async fn without_a_probation_a_promoted_candidate_is_done(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let mut order = canary(&[1], LONG);
    order["probationSeconds"] = json!(0);
    rolling.begin(&candidate, order).await;
    let promoted = rolling.change("promote").await.expect(200).json();
    assert_eq!(promoted["stage"], "done", "{promoted:#}");
    assert_eq!(rolling.serves(), candidate);
}

async fn a_rollout_that_gets_no_traffic_warns(on: On) {
    let rolling = Rolling::new(on).await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let begun = rolling.begin(&candidate, canary(&[1], LONG)).await;
    assert_eq!(begun["warning"], Value::Null, "{begun:#}");

    // No connection uses the form.
    let host = &rolling.host;
    host.converter(guests::example_form()).await;
    let unused = host.keep_version(another_form()).await;
    let about =
        |method: &str, plugin: &str| rolling.ask(method, &format!("/plugins/{plugin}/rollout"));
    let order = json!({ "digest": unused, "mode": "shadow", "everySeconds": LONG });
    let begun = about("POST", "example-form").json(&order).send().await;
    let begun = begun.expect(201).json();
    let warning = "No connection or instance uses `example-form`, so nothing is compared.";
    assert_eq!(begun["warning"], warning, "{begun:#}");
    let change = json!({ "change": "abort" });
    let ended = about("PATCH", "example-form").json(&change).send().await;
    assert_eq!(ended.expect(200).json()["warning"], Value::Null);

    let sandbox = component("plugins/adapter-sandbox.wasm");
    let other = append_custom(&sandbox, "another", b"file").unwrap();
    host.converter(sandbox).await;
    let other = host.keep_version(other).await;
    host.declare("[[instances]]\nname = \"bot\"\nadapter = \"sandbox\"\nconfig = {}\n")
        .await;
    let mut order = canary(&[1], LONG);
    order["digest"] = json!(other);
    order["accept"] = json!(["all"]);
    let begun = about("POST", "sandbox").json(&order).send().await;
    let begun = begun.expect(201).json();
    has!(begun["warning"], "the candidate sends no message");
}
