//! `/channel-webhook/{instance}/{token}`: webhooks of a channel's provider, and the handshakes
//! by which it verifies the address. The token cannot be guessed. The instance is there for
//! readers, and has to be the token's.

use hyper::StatusCode;

use super::ingest;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_domain::id::AgentId;
use leadhost_pipeline::intake::Address;

/// Takes a webhook in. Providers look only at the status: the answer is empty unless the
/// adapter composes a reply.
pub async fn receive(
    call: &Call<'_>,
    instance: &str,
    token: &str,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let (_, reply) = ingest::take(call, address(instance, token)?, body).await?;
    Ok(match reply {
        Some(reply) => ingest::filled(reply),
        None => reply::empty(StatusCode::OK),
    })
}

/// Answers a provider's handshake.
pub async fn handshake(
    call: &Call<'_>,
    instance: &str,
    token: &str,
) -> Result<ApiResponse, ApiError> {
    ingest::answer_handshake(call, address(instance, token)?).await
}

fn address(instance: &str, token: &str) -> Result<Address, ApiError> {
    let instance = instance.parse().map(AgentId);
    match (instance, token.parse()) {
        (Ok(instance), Ok(token)) => Ok(Address::Channel { instance, token }),
        _ => Err(ingest::inbound::unknown_channel()),
    }
}
