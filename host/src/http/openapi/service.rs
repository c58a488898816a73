//! What every surface serves: health, and the document itself.

use serde_json::{Value, json};

use super::operation::Operation;
use crate::http::terms::one_of;
use crate::http::error::Family;
use crate::http::route::Access;

pub fn operations(family: Family) -> Vec<Operation> {
    let of = |path| Operation::new("get", path, family, Access::Anyone);
    let object = json!({"application/json": {"schema": {"type": "object"}}});
    vec![
        of("/health/live")
            .named("isLive", "service", "Tells that the process answers")
            .answers(
                200,
                "It does.",
                &status("live"),
                &[("live", "It does", json!({"status": "live"}))],
            ),
        of("/health/ready")
            .named(
                "isReady",
                "service",
                "Tells whether the host can do its work",
            )
            .answers(
                200,
                "It can.",
                &status("ready"),
                &[("ready", "It can", json!({"status": "ready"}))],
            )
            .answers(503, "It cannot, and why.", &unavailable(), &[])
            .header(503, "Retry-After", "RetryAfter"),
        of("/openapi.json")
            .named("describe", "service", "This document")
            .answers_content(200, "What this address serves, as OpenAPI 3.1.", object)
            .header(200, "ETag", "ETag"),
    ]
}

fn status(word: &str) -> Value {
    json!({
        "type": "object",
        "required": ["status"],
        "properties": {"status": one_of(&[word], "")},
    })
}

fn unavailable() -> Value {
    let mut schema = status("unavailable");
    schema["required"] = json!(["status", "reasons"]);
    schema["properties"]["reasons"] = json!({"type": "array", "items": {"type": "string"}});
    schema
}
