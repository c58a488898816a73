//! `/channel-webhook/{instance}/{token}`: webhooks of a channel's provider, and the handshakes
//! by which it verifies the address. The token cannot be guessed. The instance is there for
//! readers, and has to be the token's.

use super::ingest::{handshake::with_meta, post};
use crate::endpoints::prelude::*;
use leadhost_pipeline::intake::Address;

describe!(receive, |operation| {
    operation
        .id("receiveChannelEvents")
        .summary("Receives webhooks from a channel's provider")
        .describe("Message statuses, messages from contacts and template changes. 200 means that they are stored.")
        .takes_content(&json!({
            "application/json": {
                "schema": {"description": "The provider's own format, which an adapter reads. Form fields and others are read too, each with its own content type."},
            },
        }))
        .answers_content(
            200,
            "Stored. The body is empty unless the provider expects one.",
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[401, 404, 429])
});
pub async fn receive(call: &Call<'_>, instance: &str, token: &str, body: UnreadBody) -> ApiResult {
    let (_, reply) = post::take(call, address(instance, token)?, body).await?;
    Ok(match reply {
        Some(reply) => post::filled(reply),
        None => reply::empty(StatusCode::OK),
    })
}

describe!(handshake, |operation| {
    with_meta(
    operation
        .id("answerChannel")
        .summary("Answers a provider's handshake")
        .describe("Each provider verifies the address in its own way, which its adapter knows. The parameters here are Meta's."),
    "provider",
    "instance",
)
});
pub async fn handshake(call: &Call<'_>, instance: &str, token: &str) -> ApiResult {
    super::ingest::handshake::answer(call, address(instance, token)?).await
}

fn address(instance: &str, token: &str) -> ApiResult<Address> {
    let instance = instance.parse().map(AgentId);
    match (instance, token.parse()) {
        (Ok(instance), Ok(token)) => Ok(Address::Channel { instance, token }),
        _ => Err(super::ingest::inbound::unknown_channel()),
    }
}
