//! Golden cases, damaged calls, and the configuration's limits.

#![allow(clippy::unwrap_used)]

use leadhost_golden::{Call, Case, Delivery};
use leadhost_input::Schema;
use leadhost_sdk::serde_json::{self, Value, json};
use leadhost_sdk::testing::{adapter_answer, run_damaged_adapter, run_golden_adapter};

use super::{Config, Sandbox};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

#[test]
fn golden_cases_hold() {
    run_golden_adapter::<Sandbox>(CASES);
}

#[test]
fn damaged_calls_do_not_panic() {
    run_damaged_adapter::<Sandbox>(CASES);
}

fn sent(config: Value) -> Value {
    adapter_answer::<Sandbox>(&Case {
        delivery: Delivery {
            config,
            ..Delivery::default()
        },
        ..Case::new("sent", Call::Send)
    })
}

#[test]
fn each_class_can_be_configured_and_the_first_match_decides() {
    let schema: Value = serde_json::from_str(crate::config::SCHEMA).unwrap();
    let outcome = &schema["properties"]["outcomes"]["items"]["properties"];
    let categories = outcome["category"]["enum"].as_array().unwrap();
    assert_eq!(categories.len(), 13);
    for category in categories {
        let answer = sent(json!({"outcomes": [
            {"template": "another", "category": "request"},
            {"recipient": "55 (11) 90000-0001", "category": category},
            {"category": "request"},
        ]}));
        let answer = &answer["ok"]["answer"];
        if category == "unknown" {
            let why = answer["unknown"].as_str().unwrap();
            assert!(why.contains("`unknown`"), "{why}");
        } else {
            assert_eq!(answer["refused"]["category"], *category);
            assert_eq!(answer["refused"]["code"], "sandbox");
        }
    }
}

#[test]
fn an_unknown_configuration_key_pauses_the_instance() {
    let answer = sent(json!({"outcome": []}));
    let refused = &answer["ok"]["answer"]["refused"];
    assert_eq!(refused["category"], "connection");
    let text = refused["text"].as_str().unwrap();
    assert!(text.contains("unknown field `outcome`"), "{text}");
}

#[test]
fn events_above_the_limit_are_refused() {
    let events = vec![json!({"optOut": {"from": "x"}}); leadhost_sdk::MAX_ITEMS + 1];
    let answer = adapter_answer::<Sandbox>(&Case {
        body: json!({"events": events}).to_string().into(),
        ..Case::new("large", Call::ReadWebhook)
    });
    let message = answer["err"]["message"].as_str().unwrap();
    assert!(message.contains("10001 events"), "{message}");
}

#[test]
fn every_configuration_in_the_readme_and_the_schema_is_valid() {
    let schema: Value = serde_json::from_str(crate::config::SCHEMA).unwrap();
    let validator = Schema::read(crate::config::SCHEMA).unwrap();
    let readme = include_str!("../README.md");
    let recipes: Vec<Value> = readme
        .split("```json\n")
        .skip(1)
        .map(|after| serde_json::from_str(after.split_once("```").unwrap().0).unwrap())
        .filter(|recipe: &Value| recipe.get("events").is_none())
        .collect();
    assert!(!recipes.is_empty());
    let examples = ["templates", "outcomes"]
        .map(|name| json!({name: schema["properties"][name]["examples"][0]}));
    let known = leadhost_golden::load_dir(std::path::Path::new(CASES)).unwrap();
    let known = known.into_iter().map(|case| case.delivery.config);
    for value in recipes.into_iter().chain(examples).chain(known) {
        assert!(validator.fits(&value), "{value}");
        let read = serde_json::from_value::<Config>(value.clone());
        assert!(read.is_ok(), "{value}: {read:?}");
    }
}

#[test]
fn the_schema_and_the_reader_refuse_the_same() {
    let validator = Schema::read(crate::config::SCHEMA).unwrap();
    for text in [
        r#"{"outcome": []}"#,
        r#"{"outcomes": [{}]}"#,
        r#"{"outcomes": [{"category": "broken"}]}"#,
        r#"{"outcomes": [{"category": "window", "retryAfterSeconds": -1}]}"#,
        r#"{"outcomes": [{"category": "window", "recipients": []}]}"#,
        r#"{"status": "read"}"#,
        r#"{"templates": [{"name": "a", "language": "en"}]}"#,
        r#"{"templates": [{"name": "a", "language": "en", "text": "", "status": "old"}]}"#,
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert!(!validator.fits(&value), "{text}");
        assert!(serde_json::from_str::<Config>(text).is_err(), "{text}");
    }
}
