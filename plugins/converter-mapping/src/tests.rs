//! Golden cases, damaged deliveries, and the recipes of the README.

#![allow(clippy::unwrap_used)]

mod credentials;
mod people;

use leadhost_golden::{Call, Case};
use leadhost_sdk::serde_json::{self, Value};

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
fn the_schema_and_the_reader_agree_on_what_is_a_configuration() {
    let schema: Value = serde_json::from_str(crate::config::SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let cases = leadhost_golden::load_dir(std::path::Path::new(CASES)).unwrap();
    let known = cases.iter().map(|case| case.delivery.config_text());
    let wrong = [
        r#"{"fields": {"nome": "a"}}"#,
        r#"{"fields": {"name": {"paths": ["a"], "when": 1}}}"#,
        r#"{"fields": {"name": 1}}"#,
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
