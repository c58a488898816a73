//! `/channel-webhook/{instance}/{token}`: what a channel's provider sends, and
//! the handshakes by which it makes sure of the address. The token is what
//! cannot be guessed; the instance is there for people, and must be the token's.

use hyper::StatusCode;

use super::ingest;
use crate::domain::id::AgentId;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::intake::Address;

/// Takes a webhook in. A provider looks at the status only: without a reply of
/// the adapter the answer is empty.
pub async fn receive(
    call: &Call<'_>,
    instance: &str,
    token: &str,
    body: Unread,
) -> Result<Reply, ApiError> {
    let (_, reply) = ingest::take(call, address(instance, token)?, body).await?;
    Ok(match reply {
        Some(reply) => ingest::filled(reply),
        None => reply::empty(StatusCode::OK),
    })
}

/// Answers a provider's GET.
pub async fn handshake(call: &Call<'_>, instance: &str, token: &str) -> Result<Reply, ApiError> {
    ingest::answer_handshake(call, address(instance, token)?).await
}

fn address(instance: &str, token: &str) -> Result<Address, ApiError> {
    let instance = instance.parse().map(AgentId);
    match (instance, token.parse()) {
        (Ok(instance), Ok(token)) => Ok(Address::Channel { instance, token }),
        _ => Err(ingest::unknown_channel()),
    }
}
