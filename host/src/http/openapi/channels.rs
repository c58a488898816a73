//! `/channel-webhook/{instanceId}/{token}`.

use serde_json::json;

use super::operation::{Operation, Parameter};
use crate::http::terms::word;
use crate::http::error::Family;
use crate::http::route::Access;

const PATH: &str = "/channel-webhook/{instanceId}/{token}";

pub fn operations() -> Vec<Operation> {
    vec![receive(), handshake()]
}

fn receive() -> Operation {
    let of_the_provider = json!({
        "description": "In the provider's own form; an adapter reads it.",
    });
    let content = json!({"schema": of_the_provider});
    let other = json!({"schema": {
        "type": "string",
        "format": "binary",
        "description": "Any other form, under its own content type, such as form fields.",
    }});
    of("post")
        .named(
            "receiveChannelEvents",
            "channels",
            "Takes what a channel's provider sends",
        )
        .describe(
            "Statuses of messages, messages of contacts, changes of templates. 200 means that they are kept.",
        )
        .takes_content(&json!({
            "application/json": content,
            "application/octet-stream": other,
        }))
        .answers_content(
            200,
            "Kept. The body is empty, unless the provider wants to hear something.",
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[401, 404, 429])
}

fn handshake() -> Operation {
    let query = |name: &str, description: &str| Parameter::query(name, word(), description);
    of("get")
        .named(
            "answerChannel",
            "channels",
            "Answers a provider that makes sure of the address",
        )
        .describe(
            "Providers ask in ways of their own, which their adapters know; the parameters here are Meta's.",
        )
        .parameter(query("hub.mode", "`subscribe`."))
        .parameter(query("hub.challenge", "What is to be repeated."))
        .parameter(query("hub.verify_token", "The instance's token."))
        .answers_content(
            200,
            "What the provider wants to hear.",
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[400, 403, 404, 405])
}

fn of(method: &'static str) -> Operation {
    Operation::new(method, PATH, Family::Gateway, Access::Anyone)
        .parameter(Parameter::path(
            "instanceId",
            json!({"type": "integer", "format": "int64"}),
            "The messaging-bot instance.",
        ))
        .parameter(Parameter::path(
            "token",
            json!({"type": "string", "pattern": "^[0-9A-Za-z]{22}$"}),
            "What cannot be guessed of the address.",
        ))
}
