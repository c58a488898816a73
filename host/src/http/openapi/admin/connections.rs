//! `/admin/v1/connections`.

use serde_json::{Value, json};

use super::operation;
use crate::admin_api::connections::{ConnectionPaused, Connections, PauseRequest};
use crate::http::openapi::operation::{Operation, Parameter};
use crate::http::openapi::schemas::Schemas;

/// Returns the operations of `/admin/v1/connections`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Connections>();
    let paused = schemas.answer::<ConnectionPaused>();
    let request = schemas.request::<PauseRequest>();
    let state = |paused: bool| json!({"id": ID, "paused": paused});
    vec![
        operation("get", "/admin/v1/connections")
            .named("listConnections", "connections", "Lists the sources of all workspaces")
            .describe("Channels are listed with their instances. Secrets are shown by name, never by value.")
            .answers(
                200,
                "All sources.",
                &all,
                &[("one", "One source", json!({"connections": [example()]}))],
            ),
        operation("post", "/admin/v1/connections/{connection}/pause")
            .named("pauseConnection", "connections", "Stops the fetches of a source")
            .describe("Deliveries are still accepted and wait.")
            .parameter(which())
            .may_take(&request, &[("reason", "With a reason", json!({"reason": "maintenance"}))])
            .answers(200, "It is paused.", &paused, &[("paused", "Paused", state(true))])
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/connections/{connection}/resume")
            .named("resumeConnection", "connections", "Continues the fetches of a source")
            .parameter(which())
            .answers(200, "It runs.", &paused, &[("running", "Running", state(false))])
            .refuses(&[404, 409]),
    ]
}

const ID: &str = "4kJ0sPz7Qm2XwYtB9nLdRa";

fn which() -> Parameter {
    Parameter::path(
        "connection",
        json!({"type": "string"}),
        "The source: its id, its name, or `workspace/name` if several workspaces use the name.",
    )
}

fn example() -> Value {
    json!({
        "id": ID,
        "name": "portal",
        "workspace": "acme",
        "partner": "crm",
        "plugin": "portal",
        "config": {},
        "configVersion": 1,
        "allow": [],
        "checks": [],
        "routes": {},
        "secrets": ["token"],
        "replySecrets": [],
        "region": "BR",
        "timeZone": "America/Sao_Paulo",
        "instanceId": null,
        "origins": [],
        "dedupeByContent": false,
        "greeting": null,
        "paused": null,
        "senders": "checked",
        "sourceChange": null,
    })
}
