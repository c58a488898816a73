use crate::endpoints::prelude::*;
use crate::terms::word;
use leadhost_pipeline::intake::{self, Address, Handshake};

pub fn with_meta<'s>(operation: Operation<'s>, asker: &str, of: &str) -> Operation<'s> {
    operation
        .query("hub.mode", word(), "`subscribe`.")
        .query("hub.challenge", word(), "The text to return.")
        .query("hub.verify_token", word(), format!("The {of}'s token."))
        .answers_content(
            200,
            &format!("The answer that the {asker} expects."),
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[400, 403, 404, 405])
}

describe!(handshake, |operation| {
    with_meta(
    operation
        .id("answerSource")
        .summary("Answers a source's handshake")
        .describe("Each source verifies the address in its own way, which its converter knows. The parameters here are Meta's."),
    "source",
    "connection",
)
});
pub async fn handshake(call: &Call<'_>, connection: &str) -> ApiResult {
    answer(call, super::inbound::address(connection)?).await
}

/// Answers the handshake of a source or a channel's provider.
pub async fn answer(call: &Call<'_>, address: Address) -> ApiResult {
    let inbound = super::inbound::inbound(call, address, Bytes::new());
    match intake::handshake(&call.http.pipeline, inbound).await? {
        Handshake::Answer(reply) => Ok(super::post::filled(reply)),
        Handshake::None => Err(ApiError::NoHandshake),
        Handshake::Refused => Err(ApiError::Forbidden(
            "The token does not match this address.".to_owned(),
        )),
        Handshake::Withheld => Err(ApiError::Forbidden(
            "The plugin's answer to this handshake is not allowed; the host's log says why."
                .to_owned(),
        )),
        Handshake::Invalid(message) => Err(ApiError::BadRequest(message)),
        Handshake::Unavailable(reason) => {
            tracing::warn!(%reason, "handshake not answered");
            Err(ApiError::Overloaded {
                shed: Shed::Plugins,
                what: "The plugin behind this address is not available now; try again.",
                retry_after: Duration::from_secs(5),
            })
        }
    }
}
