//! `/admin/v1/outbox`.

use serde_json::{Value, json};

use super::parts::{before, operation, page_limit};
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::outbox::{
    Messages, ReplyRequest, ResolveManyRequest, ResolveRequest, Resolved, ResolvedMany,
    SimulatedEvent, StatusRequest,
};
use leadhost_domain::message::MessageState;

/// Returns the operations of `/admin/v1/outbox`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let messages = schemas.answer::<Messages>();
    let simulated = schemas.answer::<SimulatedEvent>();
    let resolved = schemas.answer::<Resolved>();
    let reply = schemas.request::<ReplyRequest>();
    let status = schemas.request::<StatusRequest>();
    let resolve = schemas.request::<ResolveRequest>();
    let resolved_many = schemas.answer::<ResolvedMany>();
    let resolve_many = schemas.request::<ResolveManyRequest>();
    let stored = [("taken", "Stored", stored())];
    vec![
        operation("get", "/admin/v1/outbox")
            .named(
                "listMessages",
                "outbox",
                "Lists messages to and from contacts, newest first",
            )
            .parameter(Parameter::query(
                "instance",
                json!({"type": "string"}),
                "Only messages of this instance: its number, its name, or `workspace/name`.",
            ))
            .parameter(Parameter::query(
                "state",
                json!({"type": "string", "enum": MessageState::ALL.map(MessageState::as_str)}),
                "Only messages in this state.",
            ))
            .parameter(Parameter::query(
                "conversation",
                json!({"type": "string", "format": "uuid"}),
                "Only messages of this conversation.",
            ))
            .parameter(Parameter::query(
                "contact",
                json!({"type": "string"}),
                "Only messages to and from this person: a phone, an e-mail address, or the id of a contact.",
            ))
            .parameter(before("messages"))
            .parameter(page_limit())
            .answers(
                200,
                "A page of messages.",
                &messages,
                &[(
                    "one",
                    "The last page",
                    json!({"messages": [message()], "next": null}),
                )],
            )
            .refuses(&[400, 404, 409]),
        operation("post", "/admin/v1/outbox/reply")
            .named(
                "playReply",
                "outbox",
                "Simulates a contact of the sandbox who writes",
            )
            .describe(SIMULATED)
            .takes(
                &reply,
                &[
                    (
                        "phone",
                        "To an instance",
                        json!({"to": "+5511900000001", "text": "Oi", "instance": "voice"}),
                    ),
                    ("message", "To a message", json!({"to": ID, "text": "Oi"})),
                ],
            )
            .answers(200, "The event is stored.", &simulated, &stored)
            .refuses(&[404, 409, 422]),
        operation("post", "/admin/v1/outbox/{message}/status")
            .named(
                "playStatus",
                "outbox",
                "Simulates a status report for a message of the sandbox",
            )
            .describe(SIMULATED)
            .parameter(id())
            .takes(
                &status,
                &[("read", "It was read", json!({"status": "read"}))],
            )
            .answers(200, "The event is stored.", &simulated, &stored)
            .refuses(&[404, 409, 422]),
        operation("post", "/admin/v1/outbox/{message}/resolve")
            .named(
                "resolveMessage",
                "outbox",
                "Decides about a message that waits or whose outcome is unknown",
            )
            .parameter(id())
            .takes(
                &resolve,
                &[("again", "It was not sent", json!({"verdict": "send-again"}))],
            )
            .answers(
                200,
                "The message after that.",
                &resolved,
                &[(
                    "waiting",
                    "It is sent again",
                    json!({"id": ID, "state": "waiting"}),
                )],
            )
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/outbox/resolve")
            .named(
                "resolveMessages",
                "outbox",
                "Decides about several messages whose outcome is unknown",
            )
            .describe(
                "A message whose outcome is known by now stays as it is, and the answer says why. \
                 A request that takes too long resolves only the first messages: send the rest again.",
            )
            .takes(
                &resolve_many,
                &[(
                    "failed",
                    "They count as failed",
                    json!({"verdict": "give-up", "messages": [ID]}),
                )],
            )
            .answers(
                200,
                "The results, counted by state.",
                &resolved_many,
                &[(
                    "failed",
                    "One is failed now",
                    json!({"states": {"failed": 1}, "refused": 0, "refusals": [], "left": 0}),
                )],
            )
            .refuses(&[400]),
    ]
}

const SIMULATED: &str = "The event is processed like a webhook of the instance's provider. \
                      It needs an instance with the adapter `sandbox`; others are refused with 409.";

const ID: &str = "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2";

fn id() -> Parameter {
    Parameter::path(
        "message",
        json!({"type": "string", "format": "uuid"}),
        "The message's id.",
    )
}

fn message() -> Value {
    json!({
        "id": ID,
        "workspaceId": "019c2f4e-0000-7c3b-9d20-5b7f10a4e6c2",
        "conversationId": "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c3",
        "contactId": "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c4",
        "contactName": "Ana",
        "phoneNumber": "+5511900000001",
        "instanceId": 1,
        "createdAt": "2026-03-02T12:15:30.250000Z",
        "actor": "agent",
        "type": "template",
        "content": "Hello Ana, we got your request.",
        "metadata": {
            "status": "failed",
            "failedAt": "2026-03-02T12:15:31.000000Z",
            "template": {"name": "welcome", "language": "en"},
            "errors": [{
                "code": "131026",
                "title": "Message undeliverable",
                "category": "recipient",
            }],
        },
        "deliveredAt": null,
        "readAt": null,
        "ran": {
            "plugin": "whatsapp",
            "version": "1.0.0",
            "digest": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
            "contract": "leadhost:adapter@1.0.0",
            "configVersion": 1,
        },
        "nextAttemptAt": null,
    })
}

fn stored() -> Value {
    json!({
        "delivery": "019c2f4e-9b00-7c3b-9d20-5b7f10a4e6c5",
        "status": "converted",
        "items": [{
            "item": 0,
            "status": "converted",
            "externalId": null,
            "dealId": null,
            "contactId": "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c4",
            "message": null,
            "diff": [],
        }],
    })
}
