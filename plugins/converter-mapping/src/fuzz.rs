//! Random deliveries: the golden cases with changes.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use leadhost_fuzz::proptest::collection::vec;
use leadhost_fuzz::proptest::prelude::*;
use leadhost_fuzz::proptest::sample::select;
use leadhost_fuzz::{damaged, damaged_text, holds};
use leadhost_golden::{Call, Case, load_dir};
use leadhost_sdk::serde_json::{self, Value};
use leadhost_sdk::{
    MAX_ATTRIBUTES, MAX_CAMPAIGN_FIELDS, MAX_EMAILS, MAX_ITEMS, MAX_LISTINGS, MAX_NAME_BYTES,
    MAX_PHONE_BYTES, MAX_PHONES, MAX_TEXT_BYTES, MAX_WORD_BYTES, xml,
};

use super::{Mapping, explain};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

/// Fragments that the readers of bodies look for.
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

/// Asserts that a host accepts the lead: no part exceeds its limit.
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
fn fuzz_a_body_yields_acceptable_leads_or_a_reason() {
    let cases = cases();
    let bodies: Vec<_> = cases.iter().map(|case| case.body.clone()).collect();
    // Longer than the limits of a phone, an id or a reference.
    let long = "1".repeat(MAX_WORD_BYTES);
    let words = [&WORDS[..], &[&long]].concat();
    let inputs = (select(cases), damaged(bodies, &words));
    holds(1_500, inputs, |(case, body)| {
        let mut case = case.clone();
        // The body of this case or of another one, changed.
        case.body.clone_from(&body.0);
        let answer = converted(&case);
        let Some(said) = answer.get("ok") else {
            assert!(!texts(&answer["err"]).concat().is_empty(), "{answer}");
            return;
        };
        let items = said["items"].as_array().unwrap();
        assert!(items.len() <= MAX_ITEMS);
        let is_explained = case.delivery.config["explain"] == true;
        let most = 20 + if is_explained { explain::MAX_NOTES } else { 0 };
        assert!(said["notes"].as_array().unwrap().len() <= most);
        for item in items {
            if let Some(lead) = item["outcome"].get("lead") {
                is_taken(lead);
            }
        }
        assert_eq!(converted(&case), answer, "the same delivery gives the same");
    });
}

/// Names with a meaning for the readers of bodies, and others.
const KEYS: [&str; 24] = [
    "answers",
    "body",
    "cliente",
    "conjuge",
    "contact",
    "contatos",
    "dados",
    "data",
    "event",
    "familia",
    "fields",
    "grupo",
    "id",
    "items",
    "lead",
    "leads",
    "meta",
    "obs",
    "payload",
    "proprietarios",
    "solicitante",
    "telefones",
    "titular",
    "x",
];

/// Placeholders for a person in a tree, and for JSON that is serialised as a text.
const PERSON: &str = "<person>";
const TEXT: &str = "<text>";

/// Trees of lists, objects and JSON texts, with people in them.
fn trees() -> impl Strategy<Value = Value> {
    let person = || Just(Value::from(PERSON));
    let leaf = prop_oneof![3 => person(), 1 => Just(Value::from("t")), 1 => Just(Value::from(1))];
    let inner = leaf.prop_recursive(4, 24, 3, move |inner| {
        prop_oneof![
            2 => vec(person(), 1..4).prop_map(Value::from),
            2 => vec(inner.clone(), 1..3).prop_map(Value::from),
            3 => objects(inner.clone()),
            1 => inner.prop_map(|inner| serde_json::json!({ TEXT: inner })),
        ]
    });
    objects(inner)
}

fn objects(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = vec((select(&KEYS[..]), inner), 1..4);
    fields
        .prop_map(|fields| Value::Object(fields.into_iter().map(|(k, v)| (k.into(), v)).collect()))
}

/// Returns the tree with different people in place of the placeholders.
fn peopled(tree: &Value, count: &mut usize) -> Value {
    match tree {
        Value::String(text) if text == PERSON => {
            *count += 1;
            serde_json::json!({
                "nome": format!("{} Reis", (b'A' + (*count % 26) as u8) as char),
                "telefone": format!("119{:08}", *count * 37),
                "email": address(*count),
            })
        }
        Value::Array(items) => items.iter().map(|item| peopled(item, count)).collect(),
        Value::Object(fields) => match fields.get(TEXT) {
            Some(inner) => peopled(inner, count).to_string().into(),
            None => fields
                .iter()
                .map(|(key, value)| (key.clone(), peopled(value, count)))
                .collect(),
        },
        other => other.clone(),
    }
}

fn address(number: usize) -> String {
    format!("p{number}@example.com")
}

#[test]
fn fuzz_people_become_leads_or_are_reported_and_never_join_another_lead() {
    let inputs = (trees(), any::<bool>());
    holds(3_000, inputs, |(tree, has_own)| {
        let mut count = 0;
        let mut body = peopled(tree, &mut count);
        if *has_own {
            let own = peopled(&PERSON.into(), &mut count);
            let own = own.as_object().unwrap().clone();
            body.as_object_mut().unwrap().extend(own);
        }
        let mut case = Case::new("people", Call::Convert);
        case.body = body.to_string().into_bytes();
        let said = &converted(&case)["ok"];
        let items = said["items"].as_array().unwrap();
        let leads = items.iter().filter_map(|item| item["outcome"].get("lead"));
        let is_noted = !said["notes"].as_array().unwrap().is_empty()
            || items
                .iter()
                .any(|item| item["outcome"].get("invalid").is_some());
        let mut missing: BTreeSet<_> = (1..=count).map(address).collect();
        for lead in leads {
            let own = texts(&lead["emails"]);
            assert!(own.len() <= 1, "{body}: {lead}");
            let all = lead.to_string();
            for address in (1..=count).map(address) {
                let is_own = own.contains(&address.as_str());
                assert!(is_own || !all.contains(&address), "{body}: {lead}");
                if is_own {
                    missing.remove(&address);
                }
            }
        }
        assert!(is_noted || missing.is_empty(), "{body}: {said}");
    });
}

/// Returns the depth of a tree.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn fuzz_xml_is_read_within_its_limits_or_refused_with_a_place() {
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
                // An entity is longer than the character that it represents.
                assert!(all <= text.len(), "{all} bytes of {}", text.len());
                let again: Value = serde_json::from_str(&tree.to_string()).unwrap();
                assert_eq!(again, tree);
            }
            Err(problem) => {
                let text = format!("{problem:?}");
                assert!(text.contains("at line"), "{text}");
            }
        },
    );
}
