//! Tests that the document agrees with the table of routes.

use std::collections::{BTreeMap, BTreeSet};

use hyper::Method;
use serde_json::Value;

use super::*;
use crate::route::{NOTIFICATION, OpenRoute, Route};
use crate::router;

/// Returns the arms of the table: method, path with `{}` for parameters, and guard.
fn table() -> Vec<(String, String, String)> {
    let others = arms(include_str!("../route/mod.rs"), "pub fn access(");
    let admin = arms(include_str!("../route/admin.rs"), "pub fn name(");
    let admin = admin.into_iter().map(|(method, path, guard)| {
        assert_eq!(guard, "");
        (method, format!("/admin/v1{path}"), "if admin".to_owned())
    });
    others.into_iter().chain(admin).collect()
}

/// Returns the arms of one file, up to the function that follows its table.
fn arms(source: &str, follows: &str) -> Vec<(String, String, String)> {
    let begin = source.find("fn parse(").expect("the table");
    let end = source.find(follows).expect("what follows it");
    let text: String = source[begin..end]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let mut arms = Vec::new();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let start = format!("(\"{method}\", ");
        for (at, _) in text.match_indices(&start) {
            let rest = &text[at + start.len()..];
            let (pattern, rest) = rest.split_once(" => ").expect("an arm");
            let (pattern, guard) = pattern.split_once(')').expect("a closed pattern");
            assert!(!rest.is_empty());
            for alternative in pattern.split('|') {
                let inside = alternative.trim().trim_matches(['[', ']', ',', ' ']);
                let segments = inside
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty());
                let path: String = segments
                    .map(|segment| match segment.strip_prefix('"') {
                        Some(literal) => format!("/{}", literal.trim_end_matches('"')),
                        None if segment == "NOTIFICATION" => format!("/{NOTIFICATION}"),
                        None => "/{}".to_owned(),
                    })
                    .collect();
                arms.push((method.to_lowercase(), path, guard.trim().to_owned()));
            }
        }
    }
    assert!(arms.len() > 8, "the table is read: {arms:?}");
    arms
}

#[test]
fn every_route_has_its_path_as_its_template() {
    let console = arms(include_str!("../route/console.rs"), "pub fn is_form(");
    let console = console.into_iter().map(|(method, path, _)| {
        let path = format!("/console{path}");
        (method, path, "if admin".to_owned())
    });
    // Each takes long to compose.
    let (all, admin) = (document(Surface::Both), document(Surface::Admin));
    for (method, path, guard) in table().into_iter().chain(console) {
        let surface = match guard.contains("admin") {
            true => Surface::Admin,
            false => Surface::Both,
        };
        let is_file = path == "/docs/{}";
        let named = path.replace("{}", if is_file { "page.js" } else { "value" });
        let method = method.to_uppercase().parse().expect("a method");
        let route = Route::find(surface, &method, &named).expect("a route");
        // Both addresses of the first page are one route.
        let path = path.trim_end_matches('/');
        assert_eq!(without_names(route.template()), path, "{method} {named}");
        let documents = match surface {
            Surface::Admin => vec![&admin],
            _ => vec![&all, &admin],
        };
        let is_documented = |document: &Value| document["paths"].get(route.template()).is_some();
        let is_elsewhere = is_page(path) || path.starts_with("/console");
        assert!(
            is_elsewhere || documents.into_iter().any(is_documented),
            "{path}"
        );
    }
}

/// The files of the documentation page are not part of the interface.
fn is_page(path: &str) -> bool {
    path == "/docs" || path.starts_with("/docs/")
}

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

fn without_names(path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        if segment.starts_with('{') {
            "{}"
        } else {
            segment
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

/// Returns the path of the route that serves a documented path, which may name one of its values.
fn routed(surface: Surface, method: &str, path: &str) -> String {
    let method: Method = method.to_uppercase().parse().expect("a method");
    let path: String = path.replace(['{', '}'], "");
    let route = Route::find(surface, &method, &path);
    without_names(route.expect("it is served").template())
}

#[test]
fn every_route_is_in_the_document_and_nothing_else_is() {
    for (surface, word) in [
        (Surface::Gateway, "gateway"),
        (Surface::Data, "data"),
        (Surface::Admin, "admin"),
    ] {
        let served: BTreeSet<_> = table()
            .into_iter()
            .filter(|(_, path, guard)| {
                let here = guard.is_empty() || guard.contains(word);
                here && !is_page(path)
            })
            .map(|(method, path, _)| (method, path))
            .collect();
        let documented: BTreeSet<_> = described(surface)
            .into_keys()
            .map(|(method, path)| (method.clone(), routed(surface, &method, &path)))
            .collect();
        assert_eq!(
            documented, served,
            "left: the document, right: route.rs, {word}"
        );
    }
}

#[test]
fn each_operation_is_found_on_its_surface_with_the_key_that_it_names() {
    for surface in Surface::ALL {
        let mut schemas = Schemas::default();
        for operation in operations(surface, &mut schemas) {
            let method: Method = operation.method.to_uppercase().parse().expect("a method");
            let path: String = operation.path.replace(['{', '}'], "");
            let route = Route::find(surface, &method, &path).expect("it is served");
            assert_eq!(route.access(), operation.access, "{path}");
            let family = surface.family(&path);
            assert_eq!(family, operation.family, "the shape of errors at {path}");
            let is_metrics = matches!(route, Route::Open(OpenRoute::Metrics));
            assert!(
                !is_metrics || surface == Surface::Admin,
                "that is the operator's"
            );
        }
    }
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

/// The second names of parameters, which the document leaves out.
const ALIASES: [&str; 7] = [
    "term",
    "phone",
    "id",
    "externalIntegrationId",
    "agent_types",
    "agent_ids",
    "sources",
];

#[test]
fn every_documented_parameter_is_read_and_none_else() {
    let mut seen = 0;
    for ((method, path), operation) in described(Surface::Both) {
        let method: Method = method.to_uppercase().parse().expect("a method");
        let path: String = path.replace(['{', '}'], "");
        let route = Route::find(Surface::Both, &method, &path).expect("it is served");
        let Some(read) = router::parameters(route) else {
            continue;
        };
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let documented: BTreeSet<&str> = parameters
            .filter(|one| one["in"] == "query")
            .map(|one| one["name"].as_str().expect("a name"))
            .collect();
        let read: BTreeSet<&str> = read.iter().copied().collect();
        seen += documented.len();
        assert!(
            documented.is_subset(&read),
            "{path}: {documented:?} and {read:?}"
        );
        let others = read.difference(&documented);
        let others: Vec<_> = others.filter(|name| !ALIASES.contains(name)).collect();
        assert!(others.is_empty(), "{path} reads {others:?}");
    }
    assert!(seen > 30, "{seen} parameters");
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
