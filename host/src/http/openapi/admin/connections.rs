//! `/admin/v1/connections`.

use serde_json::{Value, json};

use super::operation;
use crate::admin_api::connections::{
    ConnectionPaused, Connections, PauseRequest, TestDeliveryRequest, TestedDelivery,
};
use crate::admin_api::tried::{TriedBody, TryRequest};
use crate::http::openapi::operation::{Operation, Parameter};
use crate::http::openapi::schemas::Schemas;

/// Returns the operations of `/admin/v1/connections`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Connections>();
    let paused = schemas.answer::<ConnectionPaused>();
    let request = schemas.request::<PauseRequest>();
    let (tried, to_try) = (
        schemas.answer::<TriedBody>(),
        schemas.request::<TryRequest>(),
    );
    let (tested, to_test) = (
        schemas.answer::<TestedDelivery>(),
        schemas.request::<TestDeliveryRequest>(),
    );
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
        operation("post", "/admin/v1/connections/try")
            .named("tryBody", "connections", "Shows what a converter reads in a body")
            .describe("The active version converts the body under this configuration. Nothing is stored. The mapping converter says of each field where it was read and whether that was guessed, and what it left unread.")
            .takes(&to_try, &[("guessed", "Without a configuration", json!({"plugin": "mapping", "body": "{\"nome\":\"Ada Prado\"}"}))])
            .answers(200, "What it reads.", &tried, &[("lead", "A lead", tried_lead())])
            .refuses(&[404, 422]),
        operation("post", "/admin/v1/connections/{connection}/test")
            .named("testConnection", "connections", "Takes in a delivery that an operator sends")
            .describe("The delivery takes the way of those of the source, but for the sender checks, and makes what they make: deals, contacts, greetings. The audit has its id.")
            .parameter(which())
            .takes(&to_test, &[("json", "A JSON body", json!({"body": "{\"id\":\"7\",\"name\":\"Ada Prado\"}"}))])
            .answers(200, "It is stored.", &tested, &[("refused", "The converter refuses it", tested_refused())])
            .refuses(&[404, 409]),
    ]
}

const ID: &str = "4kJ0sPz7Qm2XwYtB9nLdRa";

fn tried_lead() -> Value {
    json!({
        "plugin": "mapping",
        "version": "1.2.0",
        "problem": null,
        "items": [{
            "isLead": true,
            "outcome": {"lead": {"name": "Ada Prado"}},
            "fields": [{"field": "name", "value": "Ada Prado", "from": "nome", "how": "guessed"}],
            "attributes": [],
            "unreadContacts": [],
            "unread": [],
        }],
        "notes": [],
        "log": [],
    })
}

fn tested_refused() -> Value {
    json!({
        "delivery": "0199c0de-0000-7000-8000-000000000001",
        "status": "rejected",
        "items": [],
        "problem": "the body is not JSON",
        "reply": null,
    })
}

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
        "secretsSetAt": {"token": "2026-03-02T12:00:00.000000Z"},
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
        "leadFields": {"leads": 400, "name": 100, "phone": 98, "email": 71, "externalId": 100, "listing": 34},
        "lastDeliveryAt": "2026-03-02T12:15:00.000000Z",
    })
}
