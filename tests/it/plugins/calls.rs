//! The results of a call, and the faults that end it.

use leadhost_tests::has;
use std::time::Duration;

use leadhost_domain::exchange::HttpResponse;
use leadhost_domain::plugin::{ConversionOutcome, FailureCategory, PluginCompletion};
use leadhost_plugin::{CallBudget, CallError};
use serde_json::json;

use super::{Bench, delivery, out_of_memory, out_of_time, without_place};

/// Returns the error of a call of the misbehaving converter.
async fn fault(overrides: &[(&str, &str)], config: &str) -> CallError {
    let bench = Bench::new(overrides);
    let loaded = bench.misbehave().await;
    let error = bench.convert(&loaded, config).await.unwrap_err();
    // Whatever the fault was, the next call succeeds.
    bench.works(&loaded).await;
    error
}

#[tokio::test]
async fn a_delivery_goes_in_and_a_lead_comes_out() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let conversion = bench.works(&loaded).await;
    let ConversionOutcome::Lead(lead) = &conversion.items[0].outcome else {
        panic!("{conversion:?}");
    };
    let sent = delivery("{}");
    assert_eq!(lead.external_id.as_ref(), Some(&sent.id));
    assert_eq!(lead.message.as_ref(), Some(&sent.received_at));
    assert_eq!(lead.attributes["query"], json!([["a", "1"]]));
    assert_eq!(lead.attributes["context"], json!([["region", "BR"]]));
}

#[tokio::test]
async fn the_same_delivery_gives_the_same_answer() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let first = bench.works(&loaded).await;
    let mut second = bench.works(&loaded).await;
    // The time is measured, and no part of the answer.
    second.processor = first.processor;
    assert_eq!(first, second);
}

#[tokio::test]
async fn a_refusal_of_the_converter_is_an_answer_and_no_fault() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let problem = bench.convert(&loaded, r#"{"do":"refuse"}"#).await.unwrap();
    let problem = problem.unwrap_err();
    assert_eq!((&*problem.message, &*problem.path), ("as asked", "here"));
}

#[tokio::test]
async fn a_trap_and_an_answer_that_breaks_a_rule_are_faults() {
    for (config, is_trap, why) in [
        (r#"{"do":"trap"}"#, true, "unreachable"),
        // Which of its stacks overflows first is the compiler's choice.
        (r#"{"do":"recurse"}"#, true, "stack"),
        (r#"{"do":"items","size":10001}"#, false, "10001"),
        // A status of a reply that is the host's alone.
        (r#"{"do":"status"}"#, false, "302"),
    ] {
        let error = fault(&[], config).await;
        let is_so = match error {
            CallError::Trapped { .. } => is_trap,
            CallError::Refused { .. } => !is_trap,
            _ => false,
        };
        assert!(is_so && error.is_fault(), "{config}: {error}");
        has!(error.to_string(), why; "{config}");
    }
}

#[tokio::test]
async fn an_endless_loop_of_the_worker_is_a_fault() {
    // The calls that must succeed have the same deadline.
    let error = fault(&[("deadline_ms", "500")], r#"{"do":"loop"}"#).await;
    let expected = out_of_time(Duration::from_millis(500), false);
    assert_eq!(without_place(error.clone()), expected);
    assert!(error.is_fault());
}

#[tokio::test]
async fn past_the_inline_budget_a_call_is_cancelled_without_fault() {
    // Long enough to get a thread; otherwise it would be refused as busy.
    let (bench, loaded) = Bench::misbehaving(&[("inline_ms", "1000")]).await;
    let error = bench
        .convert_in("lane", &loaded, r#"{"do":"loop"}"#, CallBudget::Inline)
        .await
        .unwrap_err();
    let expected = out_of_time(Duration::from_secs(1), true);
    assert_eq!(without_place(error.clone()), expected);
    assert!(!error.is_fault());
}

#[tokio::test]
async fn memory_past_the_limit_ends_the_call() {
    let error = fault(&[("memory_mib", "16")], r#"{"do":"grow"}"#).await;
    assert_eq!(without_place(error), out_of_memory(16));
}

#[tokio::test]
async fn the_most_items_that_are_taken_are_not_refused() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let most = bench.convert(&loaded, r#"{"do":"items","size":10000}"#);
    assert_eq!(most.await.unwrap().unwrap().items.len(), 10_000);
}

#[tokio::test]
async fn an_item_that_breaks_a_rule_is_invalid_and_the_others_stand() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    for (config, named, field) in [
        (r#"{"do":"slot"}"#, "rot13", "request"),
        (
            r#"{"do":"trace"}"#,
            "GET, POST, PUT, PATCH, DELETE",
            "request",
        ),
        (r#"{"do":"state","size":65537}"#, "65537", "state"),
    ] {
        let conversion = bench.convert(&loaded, config).await.unwrap().unwrap();
        let ConversionOutcome::Invalid(problem) = &conversion.items[0].outcome else {
            panic!("{conversion:?}");
        };
        has!(problem.message, named);
        assert_eq!(problem.path, format!("items.0.fetch.{field}"));
        let next = &conversion.items[1].outcome;
        assert!(matches!(next, ConversionOutcome::Lead(_)), "{config}");
    }
    let whole = bench.convert(&loaded, r#"{"do":"state","size":65536}"#);
    let whole = &whole.await.unwrap().unwrap().items[0].outcome;
    assert!(matches!(whole, ConversionOutcome::Fetch(_)));
}

#[tokio::test]
async fn an_attribute_that_is_not_json_is_kept_as_a_text() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let conversion = bench.convert(&loaded, r#"{"do":"attribute"}"#).await;
    let conversion = conversion.unwrap().unwrap();
    let ConversionOutcome::Lead(lead) = &conversion.items[0].outcome else {
        panic!("{conversion:?}");
    };
    assert_eq!(lead.attributes["colour"], "{not json");
    assert_eq!(lead.as_text, ["colour"]);
}

#[tokio::test]
async fn sender_checks_are_read_and_an_unknown_scheme_is_refused() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let plugins = &bench.plugins;
    let ask = |config| plugins.sender_checks(&loaded, "lane", config, CallBudget::Inline);
    let checks = ask("{}").await.unwrap().unwrap();
    assert_eq!(checks.checks[0].proof.name, "x-signature");
    let error = ask(r#"{"do":"unknown-scheme"}"#).await.unwrap_err();
    has!(error.to_string(), "rot13");
    assert!(ask(r#"{"do":"no-policy"}"#).await.unwrap().is_err());
}

#[tokio::test]
async fn a_handshake_is_answered_or_not_and_never_redirects() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let plugins = &bench.plugins;
    let ask = |config| plugins.handshake(&loaded, "lane", delivery(config), CallBudget::Inline);
    let answer = ask("{}").await.unwrap().unwrap().unwrap();
    assert_eq!(answer.reply.status, 200);
    assert_eq!(ask(r#"{"do":"silent"}"#).await.unwrap().unwrap(), None);
    let error = ask(r#"{"do":"redirect"}"#).await.unwrap_err();
    assert!(matches!(error, CallError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn the_answer_to_a_fetch_is_read_or_stops_the_connection() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let complete = async |config: &str| {
        let completion = PluginCompletion {
            delivery_id: "id".to_owned(),
            received_at: "2026-03-02T12:00:00.000000Z".to_owned(),
            config: config.to_owned(),
            context: Vec::new(),
            external_id: None,
            state: vec![1, 2, 3],
            hop: 2,
            response: HttpResponse {
                status: 404,
                headers: Vec::new(),
                body: vec![0xff],
            },
        };
        let plugins = &bench.plugins;
        let done = plugins.complete(&loaded, "lane", completion, CallBudget::Worker);
        done.await.unwrap()
    };
    let items = complete("{}").await.unwrap();
    let ConversionOutcome::Ignored(why) = &items[0].outcome else {
        panic!("{items:?}");
    };
    assert_eq!(why, "404 after hop 2 with 3 bytes of state");
    let failure = complete(r#"{"do":"stop"}"#).await.unwrap_err();
    assert_eq!(failure.category, FailureCategory::Stop);
}

#[tokio::test]
async fn a_configuration_is_held_against_the_schema_with_the_place_of_each_fault() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let configs = vec![json!({"do": "loop"}), json!({"do": 7, "size": -1})];
    let faults = bench.plugins.config_faults(&loaded, configs).await;
    let faults = faults.unwrap();
    assert!(faults[0].is_empty(), "{faults:?}");
    let texts: Vec<String> = faults[1].iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    for place in ["do: 7 is a number, but must be ", "size: "] {
        let named = texts.iter().any(|fault| fault.starts_with(place));
        assert!(named, "{place}: {texts:?}");
    }
}
