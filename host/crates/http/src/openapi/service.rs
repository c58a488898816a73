//! The endpoints of every surface: health, and the document itself.

use serde_json::{Value, json};

use super::operation::Operation;
use crate::error::Family;
use crate::route::Access;
use crate::terms::one_of;

/// Returns the operations that every surface has. `family` determines the shape of their
/// errors.
pub fn operations(family: Family) -> Vec<Operation> {
    let operation = |path| Operation::new("get", path, family, Access::Anyone);
    let object = json!({"application/json": {"schema": {"type": "object"}}});
    vec![
        operation("/health/live")
            .named("isLive", "service", "Reports that the process is alive")
            .answers(
                200,
                "The process is alive.",
                &status("live"),
                &[("live", "The process is alive", json!({"status": "live"}))],
            ),
        operation("/health/ready")
            .named("isReady", "service", "Reports whether the host is ready")
            .answers(
                200,
                "The host is ready.",
                &status("ready"),
                &[("ready", "The host is ready", json!({"status": "ready"}))],
            )
            .answers(
                503,
                "The host is not ready, with the reasons.",
                &unavailable(),
                &[],
            )
            .header(503, "Retry-After", "RetryAfter"),
        operation("/openapi.json")
            .named("describe", "service", "Returns this document")
            .answers_content(200, "The OpenAPI 3.1 document of this address.", object)
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
