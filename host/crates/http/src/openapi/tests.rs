//! Tests that the document is complete and consistent.

use std::collections::BTreeSet;

use super::*;
use crate::prelude::*;

fn described(surface: Surface) -> BTreeMap<(String, String), Value> {
    let document = document(surface);
    let paths = document["paths"].as_object().expect("paths").clone();
    let mut all = BTreeMap::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("operations") {
            all.insert((method.clone(), path.clone()), operation.clone());
        }
    }
    all
}

#[test]
fn each_operation_has_what_a_reader_and_a_client_need() {
    for surface in Surface::ALL {
        let mut ids = BTreeSet::new();
        for ((method, path), operation) in described(surface) {
            let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
            assert!(ids.insert(text("operationId")), "{method} {path}");
            assert!(!text("operationId").is_empty() && !text("summary").is_empty());
            for name in path.split('/').filter(|part| part.starts_with('{')) {
                let name = name.trim_matches(['{', '}']);
                let given = operation["parameters"].as_array().expect("parameters");
                let is_there = given
                    .iter()
                    .any(|one| one["in"] == "path" && one["name"] == name);
                assert!(is_there, "{path} has {name}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{path}: {parameter}");
            }
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    for surface in Surface::ALL {
        let document = document(surface);
        let mut named = BTreeSet::new();
        collect(&document, &mut named);
        for reference in named.iter().filter_map(|name| name.strip_prefix('#')) {
            assert!(document.pointer(reference).is_some(), "{reference}");
        }
    }
}

#[test]
fn examples_of_the_document_fit_their_schemas() {
    let mut seen = 0;
    for surface in [Surface::Both, Surface::Admin] {
        let document = document(surface);
        check_examples(&document, &document, &mut seen);
    }
    assert!(seen > 40, "{seen} examples");
}

fn check_examples(value: &Value, document: &Value, seen: &mut usize) {
    match value {
        Value::Array(values) => {
            for value in values {
                check_examples(value, document, seen);
            }
        }
        Value::Object(members) => {
            if let Some(schema) = members.get("schema") {
                let named = members.get("examples").and_then(Value::as_object);
                let named = named.into_iter().flat_map(Map::values);
                let values = named.filter_map(|example| example.get("value"));
                for example in values.chain(members.get("example")) {
                    *seen += 1;
                    let complaint = SchemaValidator::new(document, schema).complaint(example);
                    assert_eq!(complaint, None, "{example}");
                }
            }
            for value in members.values() {
                check_examples(value, document, seen);
            }
        }
        _ => {}
    }
}
