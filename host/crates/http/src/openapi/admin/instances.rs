//! `/admin/v1/instances`.

use serde_json::{Value, json};

use super::connections::{
    CHANGE, CHANGE_CONFLICT, CHANGE_PROBLEMS, change_examples, change_problem, changed_examples,
};
use super::parts::operation;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::connections::{ChangeRequest, Changed, PauseRequest};
use leadhost_admin_api::instances::{InstancePaused, InstanceView, Instances, Templates};

/// Returns the operations of `/admin/v1/instances`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Instances>();
    let one = schemas.answer::<InstanceView>();
    let templates = schemas.answer::<Templates>();
    let paused = schemas.answer::<InstancePaused>();
    let request = schemas.request::<PauseRequest>();
    let changed = schemas.answer::<Changed>();
    let to_change = schemas.request::<ChangeRequest>();
    let state = |paused: bool| json!({"id": 1, "paused": paused});
    vec![
        operation("get", "/admin/v1/instances")
            .named(
                "listInstances",
                "instances",
                "Lists the instances of all workspaces",
            )
            .answers(
                200,
                "All instances, by workspace and number.",
                &all,
                &[(
                    "instances",
                    "One with an adapter, and one that sends nothing",
                    json!({"instances": [with_an_adapter(&Value::Null), without_an_adapter()]}),
                )],
            ),
        operation("get", "/admin/v1/instances/{instance}")
            .named(
                "showInstance",
                "instances",
                "Shows an instance with its templates",
            )
            .parameter(which())
            .answers(
                200,
                "The instance.",
                &one,
                &[
                    (
                        "adapter",
                        "It has an adapter",
                        with_an_adapter(&json!([template()])),
                    ),
                    ("none", "It sends nothing", without_an_adapter()),
                ],
            )
            .refuses(&[404, 409]),
        operation("patch", "/admin/v1/instances/{instance}")
            .named(
                "changeInstance",
                "instances",
                "Changes the configuration or the secrets of an instance with an adapter",
            )
            .describe(CHANGE)
            .parameter(which())
            .takes(&to_change, &change_examples())
            .answers(
                200,
                "It is changed, and in force.",
                &changed,
                &changed_examples(),
            )
            .refuses_with(404, "There is no such instance.", &[])
            .refuses_with(409, CHANGE_CONFLICT, &[])
            .refuses_with(
                422,
                CHANGE_PROBLEMS,
                &[("config", "A value of the configuration", change_problem())],
            ),
        operation("post", "/admin/v1/instances/{instance}/pause")
            .named(
                "pauseInstance",
                "instances",
                "Stops the sending of an instance",
            )
            .describe(
                "Messages from partners are still accepted and wait. Webhooks are still accepted.",
            )
            .parameter(which())
            .may_take(
                &request,
                &[("reason", "With a reason", json!({"reason": "maintenance"}))],
            )
            .answers(
                200,
                "It is paused.",
                &paused,
                &[("paused", "Paused", state(true))],
            )
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/instances/{instance}/resume")
            .named(
                "resumeInstance",
                "instances",
                "Continues the sending of an instance",
            )
            .parameter(which())
            .answers(
                200,
                "It sends.",
                &paused,
                &[("running", "Running", state(false))],
            )
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/instances/{instance}/sync-templates")
            .named(
                "syncTemplates",
                "instances",
                "Reads the templates of an instance from its provider now",
            )
            .parameter(which())
            .answers(
                200,
                "The state of the list.",
                &templates,
                &[(
                    "listed",
                    "Two of three are approved",
                    json!({
                        "count": 3,
                        "approved": 2,
                        "syncedAt": "2026-03-02T12:15:30.250000Z",
                        "error": null,
                        "unlisted": false,
                        "list": null,
                    }),
                )],
            )
            .refuses(&[404, 409, 422]),
    ]
}

fn with_an_adapter(templates: &Value) -> Value {
    json!({
        "id": 1,
        "name": "sales-bot",
        "workspace": "acme",
        "number": "+551134567890",
        "kind": "ai",
        "channel": "whatsapp",
        "adapter": "whatsapp-cloud",
        "plugin": "whatsapp-cloud",
        "internal": false,
        "paused": null,
        "webhook": "/channel-webhook/1/3sTfGkq0ZyVbNcXw8RmLpH",
        "config": {"phone_number_id": "106540352242922"},
        "configVersion": 3,
        "allow": [{"scheme": "https", "authority": "graph.facebook.com", "private": false}],
        "checks": [],
        "routes": {"account": ["102290129340398"]},
        "secrets": ["token", "app_secret"],
        "secretsSetAt": {"token": "2026-03-02T12:00:00.000000Z"},
        "replySecrets": [],
        "region": "BR",
        "timeZone": "America/Sao_Paulo",
        "unansweredAfterSeconds": 86400,
        "idleAfterSeconds": 2592000,
        "keepForSeconds": 86400,
        "language": "pt_BR",
        "lastDeliveryAt": "2026-03-02T12:15:00.000000Z",
        "sourceChange": null,
        "templates": {
            "count": 1,
            "approved": 1,
            "syncedAt": "2026-03-02T12:15:30.250000Z",
            "error": null,
            "unlisted": false,
            "list": templates,
        },
    })
}

fn template() -> Value {
    json!({
        "name": "new_lead",
        "language": "pt_BR",
        "category": "UTILITY",
        "status": "approved",
        "reason": "",
        "text": "Olá {{1}}, recebemos o seu contato.",
        "placeholders": [{"component": "body", "index": 0, "kind": "text", "name": ""}],
        "components": r#"[{"type":"BODY","text":"Olá {{1}}, recebemos o seu contato."}]"#,
    })
}

fn without_an_adapter() -> Value {
    json!({
        "id": 2,
        "name": "desk",
        "workspace": "acme",
        "number": null,
        "kind": "human",
        "channel": null,
        "adapter": null,
        "plugin": null,
        "internal": true,
        "paused": null,
        "webhook": null,
    })
}

fn which() -> Parameter {
    Parameter::path(
        "instance",
        json!({"type": "string"}),
        "The instance: its number, its name, or `workspace/name` if several workspaces use the name.",
    )
}
