//! Compares the answers of the admin API with its OpenAPI document: every admin request of
//! every test is a test of the document.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use leadhost_http::openapi::{self, SchemaValidator};
use leadhost_http::surface::Surface;
use serde_json::Value;

use crate::client::Answer;

/// Schemas that are compiled once, by where they are in the document.
static VALIDATORS: LazyLock<Mutex<HashMap<String, &'static SchemaValidator>>> =
    LazyLock::new(Mutex::default);

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::document(Surface::Admin));

#[track_caller]
pub fn check(method: &str, target: &str, answer: &Answer) {
    let path = target.split('?').next().unwrap_or_default();
    if method == "HEAD" {
        return;
    }
    // A request that fits no route is refused without an operation.
    if !path.starts_with("/admin/v1/") || answer.status == 405 {
        return;
    }
    let method = method.to_lowercase();
    let Some((template, operation)) = operation(&method, path) else {
        assert_eq!(answer.status, 404, "{method} {path} is not in the document");
        return;
    };
    let declared = &operation["responses"][answer.status.to_string()];
    assert!(
        !declared.is_null(),
        "the document does not say that {method} {template} may answer {}: {}",
        answer.status,
        answer.text()
    );
    let declared = match declared["$ref"].as_str() {
        Some(name) => DOCUMENT
            .pointer(name.trim_start_matches('#'))
            .expect("it leads somewhere"),
        None => declared,
    };
    let content_type = answer.header("content-type");
    let content_type = content_type.split(';').next().unwrap_or_default();
    let schema = &declared["content"][content_type]["schema"];
    assert!(
        !schema.is_null(),
        "the document does not say that {method} {template} may answer {} with {content_type}",
        answer.status
    );
    let place = format!("{method} {template} {} {content_type}", answer.status);
    let validator = *VALIDATORS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
        .entry(place.clone())
        .or_insert_with(|| Box::leak(Box::new(SchemaValidator::new(&DOCUMENT, schema))));
    let complaint = validator.complaint(&answer.json());
    assert_eq!(
        complaint,
        None,
        "{place} is not as the document says: {}",
        answer.text()
    );
}

/// Returns the operation whose path fits: literal segments before parameters.
fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().expect("paths");
    let fits = |template: &str| {
        let (ours, theirs) = (template.split('/'), path.split('/'));
        ours.clone().count() == theirs.clone().count()
            && ours
                .zip(theirs)
                .all(|(ours, theirs)| ours.starts_with('{') || ours == theirs)
    };
    paths
        .iter()
        .filter(|(template, item)| fits(template) && item.get(method).is_some())
        .min_by_key(|(template, _)| template.matches('{').count())
        .map(|(template, item)| (template.as_str(), &item[method]))
}
