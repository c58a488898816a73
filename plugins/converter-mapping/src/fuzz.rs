//! Deliveries by chance: the cases of the folder with changes.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use leadhost_fuzz::proptest::sample::select;
use leadhost_fuzz::{damaged, damaged_text, holds};
use leadhost_golden::{Call, Case, load_dir};
use leadhost_sdk::serde_json::{self, Value};
use leadhost_sdk::{
    MAX_ATTRIBUTES, MAX_CAMPAIGN_FIELDS, MAX_EMAILS, MAX_ITEMS, MAX_LISTINGS, MAX_NAME_BYTES,
    MAX_PHONE_BYTES, MAX_PHONES, MAX_TEXT_BYTES, MAX_WORD_BYTES,
};

use super::{Mapping, xml};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

/// What the readers of bodies look for.
const WORDS: [&str; 30] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\ud83d",
    "null",
    "1e999",
    "9007199254740993",
    "<",
    ">",
    "</",
    "/>",
    "<![CDATA[",
    "]]>",
    "&#x0;",
    "&amp;",
    "<!DOCTYPE a [",
    "=",
    "&",
    "%7B",
    "--",
    "\r\n",
    "name",
    "phone",
    "email",
    "\u{feff}",
];

fn cases() -> Vec<Case> {
    let mut cases = load_dir(Path::new(CASES)).unwrap();
    cases.retain(|case| case.call == Call::Convert);
    cases
}

fn converted(case: &Case) -> Value {
    leadhost_sdk::testing::answer::<Mapping>(case)
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn fits(lead: &Value, member: &str, count: usize, bytes: usize) {
    let value = &lead[member];
    let values = value.as_array().map_or(1, Vec::len);
    assert!(values <= count, "{values} {member}");
    for text in texts(value) {
        assert!(text.len() <= bytes, "{member} has {} bytes", text.len());
    }
}

/// A host takes it: else a lead would be invalid for the length of one of its parts.
fn is_taken(lead: &Value) {
    fits(lead, "externalId", 1, MAX_WORD_BYTES);
    fits(lead, "name", 1, MAX_NAME_BYTES);
    fits(lead, "region", 1, MAX_WORD_BYTES);
    fits(lead, "message", 1, MAX_TEXT_BYTES);
    fits(lead, "occurredAt", 1, MAX_WORD_BYTES);
    fits(lead, "source", 1, MAX_WORD_BYTES);
    fits(lead, "phones", MAX_PHONES, MAX_PHONE_BYTES);
    fits(lead, "emails", MAX_EMAILS, MAX_WORD_BYTES);
    fits(lead, "listings", MAX_LISTINGS, MAX_WORD_BYTES);
    fits(lead, "campaign", MAX_CAMPAIGN_FIELDS, MAX_TEXT_BYTES);
    fits(lead, "attributes", MAX_ATTRIBUTES, MAX_TEXT_BYTES);
}

#[test]
fn fuzz_a_body_gives_leads_that_a_host_takes_or_a_reason() {
    let cases = cases();
    let bodies: Vec<_> = cases.iter().map(|case| case.body.clone()).collect();
    // More than a phone, an id or a reference may have.
    let long = "1".repeat(MAX_WORD_BYTES);
    let words = [&WORDS[..], &[&long]].concat();
    let inputs = (select(cases), damaged(bodies, &words));
    holds(1_500, inputs, |(case, body)| {
        let mut case = case.clone();
        // Its own body, or that of another case, changed.
        case.body.clone_from(&body.0);
        let answer = converted(&case);
        let Some(said) = answer.get("ok") else {
            assert!(!texts(&answer["err"]).concat().is_empty(), "{answer}");
            return;
        };
        let items = said["items"].as_array().unwrap();
        assert!(items.len() <= MAX_ITEMS);
        assert!(said["notes"].as_array().unwrap().len() <= 20);
        for item in items {
            if let Some(lead) = item["outcome"].get("lead") {
                is_taken(lead);
            }
        }
        assert_eq!(converted(&case), answer, "the same delivery gives the same");
    });
}

/// Depth of a tree.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn fuzz_xml_is_read_within_its_bounds_or_refused_with_a_place() {
    let all = cases();
    let documents = all.iter().filter(|case| case.body.starts_with(b"<"));
    let mut seeds: Vec<_> = documents.map(|case| case.body.clone()).collect();
    seeds.push(b"<a b='1' b=\"2\"><c/>t&lt;<c>&#233;&x;</c><![CDATA[<]]></a>".to_vec());
    seeds.push("<a>".repeat(70).into_bytes());
    holds(
        3_000,
        damaged_text(seeds, &WORDS),
        |text| match xml::parse(text) {
            Ok(tree) => {
                assert!(depth(&tree) <= 66);
                let all: usize = texts(&tree).iter().map(|text| text.len()).sum();
                // An entity is longer than the character that it stands for.
                assert!(all <= text.len(), "{all} bytes of {}", text.len());
                let again: Value = serde_json::from_str(&tree.to_string()).unwrap();
                assert_eq!(again, tree);
            }
            Err(problem) => {
                let told = format!("{problem:?}");
                assert!(told.contains("at line"), "{told}");
            }
        },
    );
}
