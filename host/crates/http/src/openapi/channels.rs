//! `/channel-webhook/{instanceId}/{token}`.

use serde_json::json;

use super::operation::{Operation, Parameter};
use crate::error::Family;
use crate::route::Access;
use crate::terms::word;

const PATH: &str = "/channel-webhook/{instanceId}/{token}";

/// Returns the operations of `/channel-webhook/{instanceId}/{token}`: the webhook and the
/// handshake.
pub fn operations() -> Vec<Operation> {
    vec![receive(), handshake()]
}

fn receive() -> Operation {
    let of_the_provider = json!({
        "description": "The provider's own format. An adapter reads it.",
    });
    let content = json!({"schema": of_the_provider});
    let other = json!({"schema": {
        "type": "string",
        "format": "binary",
        "description": "Any other format, with its own content type, such as form fields.",
    }});
    operation("post")
        .named(
            "receiveChannelEvents",
            "channels",
            "Receives webhooks from a channel's provider",
        )
        .describe(
            "Message statuses, messages from contacts and template changes. 200 means that they are stored.",
        )
        .takes_content(&json!({
            "application/json": content,
            "application/octet-stream": other,
        }))
        .answers_content(
            200,
            "Stored. The body is empty unless the provider expects one.",
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[401, 404, 429])
}

fn handshake() -> Operation {
    let query = |name: &str, description: &str| Parameter::query(name, word(), description);
    operation("get")
        .named(
            "answerChannel",
            "channels",
            "Answers a provider's handshake",
        )
        .describe(
            "Each provider verifies the address in its own way, which its adapter knows. The parameters here are Meta's.",
        )
        .parameter(query("hub.mode", "`subscribe`."))
        .parameter(query("hub.challenge", "The text to return."))
        .parameter(query("hub.verify_token", "The instance's token."))
        .answers_content(
            200,
            "The answer that the provider expects.",
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[400, 403, 404, 405])
}

fn operation(method: &'static str) -> Operation {
    Operation::new(method, PATH, Family::Gateway, Access::Anyone)
        .parameter(Parameter::path(
            "instanceId",
            json!({"type": "integer", "format": "int64"}),
            "The messaging-bot instance.",
        ))
        .parameter(Parameter::path(
            "token",
            json!({"type": "string", "pattern": "^[0-9A-Za-z]{22}$"}),
            "The part of the address that cannot be guessed.",
        ))
}
