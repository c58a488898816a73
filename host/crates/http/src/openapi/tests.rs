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

/// Ids that other systems gave.
const FOREIGN: [&str; 8] = [
    "externalId",
    "external_id",
    "externalIntegrationId",
    "productExternalId",
    "propertyExternalId",
    // Of a request, which is read whatever it is.
    "productId",
    "recipient_id",
    "requestId",
];

#[test]
fn an_id_is_described_alike_wherever_it_stands() {
    let document = document(Surface::Both);
    let schemas = document["components"]["schemas"].as_object();
    let mut seen = 0;
    for (schema, described) in schemas.into_iter().flatten() {
        for (name, property) in described["properties"].as_object().into_iter().flatten() {
            let is_id = name == "id" || name.ends_with("Id") || name.ends_with("_id");
            let is_text =
                property["type"] == "string" || property["type"] == json!(["string", "null"]);
            if is_id && is_text && !FOREIGN.contains(&name.as_str()) {
                assert_eq!(property["format"], "uuid", "{schema}.{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen} ids");
}

#[test]
fn a_generated_client_refuses_nothing_that_the_service_takes_or_sends() {
    for surface in Surface::ALL {
        let document = document(surface);
        for ((method, path), operation) in described(surface) {
            for status in ["405", "501"] {
                assert!(
                    operation["responses"][status].is_object(),
                    "{method} {path}"
                );
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let schema = &parameter["schema"];
                let is_open = schema["minimum"].is_null() && schema["maximum"].is_null();
                assert!(parameter["name"] != "limit" || is_open, "{method} {path}");
            }
        }
        for name in [
            "GatewayError",
            "NotificationError",
            "DataError",
            "AdminError",
        ] {
            let code = &document["components"]["schemas"][name]["properties"]["code"];
            assert!(code["enum"].is_null(), "{name}: {code}");
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
