//! The outcomes and costs of calls, by version of a plugin, and the golden cases that versions carry.

use leadhost_tests::guests::{misbehave, rust_component};
use leadhost_tests::{Json, On, fields};
use serde_json::{Value, json};

use super::roles::with_role;
use super::{Operator, TOKEN};
use crate::ingest::harm;

leadhost_tests::on_every_store! {
    calls_are_counted_by_version_and_outcome_with_their_costs,
    faults_are_counted_by_their_outcome,
    calls_of_trials_and_comparisons_are_not_counted,
    golden_cases_are_listed_and_one_is_shown_with_its_content,
}

async fn digest(operator: &Operator) -> String {
    let plugins = operator.get("/plugins").await;
    let digest = plugins["plugins"][0]["digest"].as_str();
    digest.expect("an active version").to_owned()
}

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_array().expect("counts");
    counts.iter().filter_map(Value::as_u64).sum()
}

async fn calls_are_counted_by_version_and_outcome_with_their_costs(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    for id in ["1", "2", "3"] {
        operator.lead(&report, TOKEN, id).await.expect(200);
    }
    for (period, slots) in [("hour", 12), ("day", 24), ("week", 28)] {
        let path = format!("/plugins/mapping/calls?period={period}");
        let shown = operator.get(&path).await;
        assert_eq!(shown["slots"].list().len(), slots);
        assert_eq!(shown["allowed"]["memoryBytes"], json!(128 << 20));
        let version = &shown["versions"][0];
        assert_eq!(version["digest"], digest(&operator).await, "{shown:#}");
        let ok = &version["outcomes"]["ok"];
        assert!(sum(ok) >= 3, "{shown:#}");
        assert_eq!(version["calls"], sum(ok), "{shown:#}");
        // They are in the slot that has not ended.
        let all = json!(sum(ok));
        assert_eq!(ok.as_array().and_then(|slots| slots.last()), Some(&all));
        for name in ["meanProcessorMicros", "mostMemoryBytes"] {
            assert!(sum(&version[name]) > 0, "{name}: {shown:#}");
        }
        let longest = version["longestProcessorMicros"].as_u64();
        let is_so = longest >= Some(sum(&version["meanProcessorMicros"]));
        assert!(is_so, "{shown:#}");
        assert!(version["largestMemoryBytes"].as_u64() > Some(1 << 16));
    }
    // Calls of an earlier hour are in the day, and not in the hour.
    operator.host.advance(2 * 3_600).await;
    let hour = operator.get("/plugins/mapping/calls?period=hour").await;
    assert_eq!(hour["versions"], json!([]), "{hour:#}");
    let day = operator.get("/plugins/mapping/calls").await;
    assert_eq!(day["versions"].list().len(), 1, "{day:#}");

    let ask = |path: &str| operator.ask("GET", path).send();
    ask("/plugins/mapping/calls?period=year").await.expect(400);
    ask("/plugins/nothing/calls").await.expect(404);
    let viewer = with_role(&operator, "viewer").await;
    let asked = operator
        .host
        .admin("GET", "/admin/v1/plugins/mapping/calls");
    asked.bearer(&viewer).send().await.expect(200);
}

async fn faults_are_counted_by_their_outcome(on: On) {
    let operator = Operator::new(on).await;
    operator.host.converter(misbehave()).await;
    let file = [harm("trap", "trap", 0), harm("output", "output", 20 << 20)].concat();
    let declared = operator.host.declare(&file).await;
    // After three failures in a row, the call is skipped.
    for name in ["trap", "trap", "trap", "trap", "output"] {
        let ask = operator.host.post(&declared.address(name)).body("kept");
        ask.send().await.expect(200);
    }
    let shown = operator.get("/plugins/misbehave/calls?period=hour").await;
    let outcomes = &shown["versions"][0]["outcomes"];
    for (outcome, count) in [("trapped", 3), ("circuit_open", 1), ("too_much_output", 1)] {
        assert_eq!(sum(&outcomes[outcome]), count, "{outcome}: {shown:#}");
    }
}

async fn calls_of_trials_and_comparisons_are_not_counted(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let before = operator.get("/plugins/mapping/calls").await;
    // The same converter without its golden cases is another version.
    let upload = operator.ask("POST", "/plugins");
    let stored = upload.body(rust_component("converter-mapping")).send();
    let stored = stored.await.expect(201).json();
    let digest = json!({"digest": stored["digest"]});
    let verified = operator.post("/plugins/mapping/verify", &digest).await;
    assert_eq!(verified.expect(200).json()["compared"], 1);
    let after = operator.get("/plugins/mapping/calls").await;
    assert_eq!(after["versions"], before["versions"], "{after:#}");
}

async fn golden_cases_are_listed_and_one_is_shown_with_its_content(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let digest = digest(&operator).await;
    let path = format!("/plugins/mapping/versions/{}/golden", &digest[..12]);
    let listed = operator.get(&path).await;
    assert_eq!(listed["digest"], digest);
    let cases = listed["cases"].list();
    let plugins = operator.get("/plugins").await;
    let carried = &plugins["plugins"][0]["versions"][0]["golden"];
    assert_eq!(carried.as_u64(), Some(cases.len() as u64));
    for case in cases {
        fields!(case, {"body": null, "expect": null});
    }
    let converted = cases.iter().find(|case| case["call"] == "convert");
    let name = converted.expect("a conversion")["name"].text();
    let one = operator.get(&format!("{path}?case={name}")).await;
    let case = &one["cases"][0];
    assert_eq!(one["cases"].list().len(), 1);
    assert_eq!(case["name"], name);
    let body = case["body"].text();
    assert_eq!(case["bodyBytes"].as_u64(), Some(body.len() as u64));
    assert!(case["expect"].is_object(), "{case:#}");

    let ask = |path: String| operator.ask("GET", &path).send();
    ask(format!("{path}?case=nothing")).await.expect(404);
    ask("/plugins/mapping/versions/abc/golden".to_owned())
        .await
        .expect(400);
    let unknown = format!("/plugins/mapping/versions/{}/golden", "0".repeat(64));
    ask(unknown).await.expect(404);
    ask(path.replace("mapping", "other")).await.expect(404);
    let viewer = with_role(&operator, "viewer").await;
    let asked = operator.host.admin("GET", &format!("/admin/v1{path}"));
    asked.bearer(&viewer).send().await.expect(200);
}
