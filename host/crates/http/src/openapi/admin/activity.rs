//! `/admin/v1/activity`.

use serde_json::json;

use super::parts::operation;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::activity::{Activity, ActivityPeriod};

/// Returns the operation of `/admin/v1/activity`, and adds its types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let activity = schemas.answer::<Activity>();
    let words = ActivityPeriod::ALL.map(ActivityPeriod::as_str);
    let example = json!({
        "countedAt": "2026-03-02T12:15:00.000000Z",
        "period": "hour",
        "slots": ["2026-03-02T12:05:00.000000Z", "2026-03-02T12:10:00.000000Z", "2026-03-02T12:15:00.000000Z"],
        "series": [{
            "workspace": "acme",
            "name": "site-form",
            "deliveries": [12, 9, 3],
            "leads": [11, 9, 3],
            "messages": [0, 0, 0],
            "failures": [1, 0, 0],
            "rejected": [0, 0, 0],
            "unstored": [0, 0, 0],
        }],
    });
    vec![
        operation("get", "/admin/v1/activity")
            .named("showActivity", "service", "Shows what came in and went out, by connection and instance")
            .describe("Each host keeps the counts in memory and makes them again at a request, at most every ten seconds. After its start, the first count of a busy week takes some seconds; until then `countedAt` is null.")
            .parameter(Parameter::query(
                "period",
                json!({"type": "string", "enum": words, "default": "day"}),
                "How far back: an hour in slots of five minutes, a day in hours, or a week in slots of six hours.",
            ))
            .answers(
                200,
                "The counts.",
                &activity,
                &[("hour", "A part of an hour", example)],
            )
            .refuses(&[400]),
    ]
}
