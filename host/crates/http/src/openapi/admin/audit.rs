//! `/admin/v1/audit`.

use serde_json::{Value, json};

use super::parts::{operation, page_limit};
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::audit::Audit;

/// Returns the operation of `/admin/v1/audit`, and adds its types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let audit = schemas.answer::<Audit>();
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer"});
    vec![
        operation("get", "/admin/v1/audit")
            .named("listAudit", "audit", "Lists the acts of operators")
            .describe(
                "Every operation that may change something is recorded in one row before it is done and in another one with its outcome. \
                 Refusals that never began are counted in one row a minute, key and operation. Rows are never changed; \
                 the oldest are removed after `retention.audit_days`. Each has a hash of itself and of the row before it.",
            )
            .parameter(Parameter::query("actor", text(), "Only acts of keys with this label."))
            .parameter(Parameter::query("act", text(), "Only this operation, such as `activate-plugin`."))
            .parameter(Parameter::query("since", text(), "Only acts since this date or time."))
            .parameter(Parameter::query(
                "before",
                number(),
                "The `next` of the previous page: only rows before this number.",
            ))
            .parameter(Parameter::query(
                "folded",
                json!({"type": "boolean", "default": false}),
                "Whether the rows with which acts began are left out if another row has their outcome.",
            ))
            .parameter(Parameter::query(
                "after",
                number(),
                "Only rows after this number, the oldest first, for an export. The filters and `before` do not apply then.",
            ))
            .parameter(page_limit())
            .answers(
                200,
                "A page of the audit.",
                &audit,
                &[("one", "An activation", json!({"rows": [end(), begun()], "next": null, "checkpoint": {"number": 0, "hash": ""}}))],
            )
            .refuses(&[400]),
    ]
}

fn begun() -> Value {
    json!({
        "number": 1,
        "at": "2026-03-02T12:15:30.000000Z",
        "keyId": "019cae2a-1001-7b42-8c11-2d3e4f5a6b7c",
        "label": "ana",
        "role": "operator",
        "address": "127.0.0.1",
        "act": "activate-plugin",
        "target": "portal",
        "outcome": "begun",
        "begun": null,
        "detail": "{}",
        "hash": "5d1e0f8a5f3c1d0a7f4f1c2b9d8e7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f",
    })
}

fn end() -> Value {
    json!({
        "number": 2,
        "at": "2026-03-02T12:15:30.250000Z",
        "keyId": "019cae2a-1001-7b42-8c11-2d3e4f5a6b7c",
        "label": "ana",
        "role": "operator",
        "address": "127.0.0.1",
        "act": "activate-plugin",
        "target": "portal",
        "outcome": "refused",
        "begun": 1,
        "detail": "{\"status\":409,\"needsAccept\":[\"drift\"]}",
        "hash": "a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f5d1e0f8a5f3c1d0a7f4f1c2b9d8e7",
    })
}
