//! `/admin/v1/connections`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::connections::{
    ChangeRequest, Changed, ConnectionPaused, Connections, PauseRequest, TestDeliveryRequest,
    TestedDelivery,
};
use leadhost_admin_api::tried::{TriedBody, TryRequest};

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
    let (changed, to_change) = (
        schemas.answer::<Changed>(),
        schemas.request::<ChangeRequest>(),
    );
    let state = |paused: bool| json!({"id": ID, "paused": paused});
    vec![
        operation("get", "/admin/v1/connections")
            .named("listConnections", "connections", "Lists the connections of all workspaces")
            .describe("Channels are listed with their instances. Secrets are shown by name, never by value.")
            .answers(
                200,
                "All connections.",
                &all,
                &[("one", "One connection", json!({"connections": [example()]}))],
            ),
        operation("patch", "/admin/v1/connections/{connection}")
            .named("changeConnection", "connections", "Changes the configuration or the secrets of a connection")
            .describe(CHANGE)
            .parameter(which())
            .takes(&to_change, &change_examples())
            .answers(200, "It is changed, and in force.", &changed, &changed_examples())
            .refuses_with(404, "There is no such connection.", &[])
            .refuses_with(409, CHANGE_CONFLICT, &[])
            .refuses_with(422, CHANGE_PROBLEMS, &[("config", "A value of the configuration", change_problem())]),
        operation("post", "/admin/v1/connections/{connection}/pause")
            .named("pauseConnection", "connections", "Pauses the fetches of a connection")
            .describe("Deliveries are still accepted and wait.")
            .parameter(which())
            .may_take(&request, &[("reason", "With a reason", json!({"reason": "maintenance"}))])
            .answers(200, "It is paused.", &paused, &[("paused", "Paused", state(true))])
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/connections/{connection}/resume")
            .named("resumeConnection", "connections", "Resumes the fetches of a connection")
            .parameter(which())
            .answers(200, "It runs.", &paused, &[("running", "Running", state(false))])
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/connections/try")
            .named("tryBody", "connections", "Shows what a converter reads in a body")
            .describe("The active version converts the body under this configuration. Nothing is stored. The mapping converter says of each field where it was read and whether that was guessed, and what it left unread.")
            .takes(&to_try, &[("guessed", "Without a configuration", json!({"plugin": "mapping", "body": "{\"nome\":\"Ada Prado\"}"}))])
            .answers(200, "The items that the converter reads.", &tried, &[("lead", "A lead", tried_lead())])
            .refuses(&[404, 422]),
        operation("post", "/admin/v1/connections/{connection}/test")
            .named("testConnection", "connections", "Accepts a test delivery")
            .describe("The service processes the delivery like one from the source, but without sender checks: it creates deals, contacts and greetings. The audit records its id.")
            .parameter(which())
            .takes(&to_test, &[("json", "A JSON body", json!({"body": "{\"id\":\"7\",\"name\":\"Ada Prado\"}"}))])
            .answers(200, "It is stored.", &tested, &[("refused", "The converter refuses it", tested_refused())])
            .refuses(&[404, 409]),
    ]
}

pub const CHANGE: &str = "The service keeps everything that the request leaves out: other secrets, the allow-list, sender checks, settings and a pause. The result is checked as that of a workspace file. A later apply of the workspace file sets what the file declares again, so copy the change into it.";

pub const CHANGE_CONFLICT: &str = "The name is in several workspaces, the configuration has another version than the request is based on (the text names who changed what), or the secrets that stay cannot be opened.";

pub const CHANGE_PROBLEMS: &str = "The change does not fit the plugin. `problems` lists what is wrong, each with its `path` and `message`. Nothing was changed.";

/// Returns the examples of a request that changes a connection or an instance: each name, summary and body.
pub fn change_examples() -> [(&'static str, &'static str, Value); 2] {
    [
        (
            "secret",
            "A new value of a secret",
            json!({"version": 3, "secrets": {"token": "s3cr3t"}}),
        ),
        (
            "config",
            "Another configuration",
            json!({"version": 3, "config": {"fields": {"name": "nome"}}}),
        ),
    ]
}

/// Returns the examples of the answer to such a change.
pub fn changed_examples() -> [(&'static str, &'static str, Value); 1] {
    let changed = json!({
        "name": "portal",
        "workspace": "acme",
        "configVersion": 4,
        "fields": ["secrets"],
        "secrets": ["token"],
        "generated": {},
        "warnings": [],
    });
    [("secret", "A secret has a new value", changed)]
}

/// Returns the example of a change that is refused.
pub fn change_problem() -> Value {
    json!({
        "code": "file_refused", "error": "nothing was applied, because of a problem: config.fields.name: expected a text",
        "problems": [{"path": "config.fields.name", "message": "expected a text"}],
    })
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
        "The connection: its id, its name, or `workspace/name` if several workspaces use the name.",
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
        "retired": false,
        "dedupeByContent": false,
        "greeting": null,
        "paused": null,
        "senders": "checked",
        "sourceChange": null,
        "leftDeliveries": [],
        "leadFields": {"leads": 400, "name": 100, "phone": 98, "email": 71, "externalId": 100, "listing": 34},
        "lastDeliveryAt": "2026-03-02T12:15:00.000000Z",
    })
}
