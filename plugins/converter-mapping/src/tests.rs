//! Golden cases, damaged deliveries, and the recipes of the README.

#![allow(clippy::unwrap_used)]

mod answers;
mod credentials;
mod people;

use leadhost_golden::{Call, Case};
use leadhost_sdk::serde_json::{self, Value, json};

use super::{Config, Mapping};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

#[test]
fn golden_cases_hold() {
    leadhost_sdk::testing::run_golden::<Mapping>(CASES);
}

#[test]
fn damaged_deliveries_do_not_panic() {
    leadhost_sdk::testing::run_damaged::<Mapping>(CASES);
}

/// Returns the configurations in the README, each with the text that introduces it.
fn recipes() -> Vec<(&'static str, &'static str)> {
    let readme = include_str!("../README.md");
    let mut recipes = Vec::new();
    let mut rest = readme;
    while let Some((before, after)) = rest.split_once("```json\n") {
        let (recipe, after) = after.split_once("```").expect("the block is closed");
        let title = before.rsplit("**").nth(1).unwrap_or_default();
        recipes.push((title, recipe));
        rest = after;
    }
    recipes
}

#[test]
fn every_recipe_of_the_readme_is_a_configuration() {
    let schema: Value = serde_json::from_str(crate::config::SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let recipes = recipes();
    assert!(recipes.len() >= 10, "{}", recipes.len());
    for (title, recipe) in recipes {
        let value: Value = serde_json::from_str(recipe).unwrap();
        assert!(schema.is_valid(&value), "{title}");
        let read = serde_json::from_str::<Config>(recipe);
        assert!(read.is_ok(), "{title}: {read:?}");
    }
}

#[test]
fn the_schema_and_the_reader_accept_the_same_configurations() {
    let schema: Value = serde_json::from_str(crate::config::SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let cases = leadhost_golden::load_dir(std::path::Path::new(CASES)).unwrap();
    let known = cases.iter().map(|case| case.delivery.config_text());
    let wrong = [
        r#"{"fields": {"nome": "a"}}"#,
        r#"{"fields": {"name": {"paths": ["a"], "when": 1}}}"#,
        r#"{"fields": {"name": 1}}"#,
        r#"{"fields": {"name": {"join": ["a"], "constant": "b"}}}"#,
        r#"{"explain": "yes"}"#,
        r#"{"item": ["a"]}"#,
        r#"{"format": "yaml"}"#,
        r#"{"attributes": "some"}"#,
        r#"{"only": [{"equals": [1]}]}"#,
        r#"{"pairs": {"in": "a"}}"#,
    ];
    for text in known.chain(wrong.iter().map(ToString::to_string)) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let read = serde_json::from_str::<Config>(&text);
        assert_eq!(schema.is_valid(&value), read.is_ok(), "{text}: {read:?}");
    }
}

#[test]
fn a_value_that_does_not_fit_its_field_becomes_an_attribute() {
    let config = json!({
        "defaults": false,
        "fields": {
            "emails": "mail", "phones": ["celular", "zap"], "region": "pais",
            "occurredAt": {"path": "quando", "format": "%d/%m/%Y"}
        }
    });
    let body = json!({
        "celular": "(11) 90000-0001", "mail": "lia@example.com", "pais": "Brasil",
        "quando": "2026-03-02", "zap": "123"
    });
    let (items, _) = converted(config, &body.to_string());
    let lead = &items[0]["lead"];
    assert_eq!(lead["phones"], json!(["(11) 90000-0001"]));
    assert_eq!(lead["occurredAt"], Value::Null);
    assert_eq!(lead["region"], Value::Null);
    let attributes = json!([["pais", "Brasil"], ["quando", "2026-03-02"], ["zap", "123"]]);
    assert_eq!(lead["attributes"], attributes);
}

#[test]
fn an_explanation_says_what_was_read_from_where() {
    let config = json!({"explain": true, "fields": {"message": {"path": "texto"}}});
    let body = json!({
        "id": "f-1", "nome": "Lia Campos", "ddd": "11", "telefone": "90000-0001",
        "texto": "Oi", "a.b": ["lia@", "outra@example.com"], "andar": 3
    });
    let (items, notes) = converted(config, &body.to_string());
    assert_eq!(items[0]["lead"]["phones"], json!(["(11) 90000-0001"]));
    let told: Vec<Value> = notes
        .iter()
        .map(|note| serde_json::from_str(note.strip_prefix("explain: ").unwrap()).unwrap())
        .collect();
    let field = |name: &str| told.iter().find(|one| one["field"] == name).unwrap();
    let expect = json!({"item": 0, "field": "message", "from": ["texto"], "guessed": false});
    assert_eq!(field("message"), &expect);
    let mut phone = field("phones")["from"].as_array().unwrap().clone();
    phone.sort_by_key(ToString::to_string);
    assert_eq!(phone, [json!("ddd"), json!("telefone")]);
    assert_eq!(field("phones")["guessed"], true);
    assert_eq!(field("name")["from"], json!(["nome"]));
    let unread = |kind: &str| told.iter().find_map(|one| one.get(kind)).unwrap();
    assert_eq!(unread("unreadContacts"), &json!(["\"a.b\"[1]"]));
    assert_eq!(unread("unread"), &json!(["\"a.b\"[0]", "andar"]));
}

/// Returns the items' outcomes and the notes for a body with this configuration.
fn converted(config: Value, body: &str) -> (Vec<Value>, Vec<String>) {
    let mut case = Case::new("body", Call::Convert);
    case.delivery.config = config;
    case.body = body.as_bytes().to_vec();
    let answer = leadhost_sdk::testing::answer::<Mapping>(&case);
    let items = answer["ok"]["items"].as_array().unwrap().iter();
    let notes = answer["ok"]["notes"].as_array().unwrap().iter();
    (
        items.map(|item| item["outcome"].clone()).collect(),
        notes
            .map(|note| note.as_str().unwrap().to_owned())
            .collect(),
    )
}
