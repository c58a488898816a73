//! `GET /ingest-lead/{connection}`: answers a source that makes sure of the address.

use hyper::body::Bytes;

use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::pipeline::intake::{self, Address, Handshake};

pub async fn run(call: &Call<'_>, connection: &str) -> Result<Reply, ApiError> {
    answer(call, super::address(connection)?).await
}

/// Whoever it is that makes sure of an address.
pub async fn answer(call: &Call<'_>, address: Address) -> Result<Reply, ApiError> {
    let inbound = super::inbound(call, address, Bytes::new());
    match intake::handshake(&call.http.pipeline, inbound).await? {
        Handshake::Answer(reply) => Ok(super::post::filled(reply)),
        Handshake::None => Err(ApiError::NoHandshake),
        Handshake::Refused => Err(ApiError::Forbidden(
            "The handshake's token is not the one of this address.".to_owned(),
        )),
        Handshake::Withheld => Err(ApiError::Forbidden(
            "The plugin's answer to this handshake may not be given; the host's log says why."
                .to_owned(),
        )),
        Handshake::Invalid(message) => Err(ApiError::BadRequest(message)),
        Handshake::Unavailable(reason) => {
            tracing::warn!(%reason, "a handshake cannot be answered");
            Err(ApiError::Overloaded {
                what: "The plugin behind this address cannot be asked now; try again.",
                retry_after: 5,
            })
        }
    }
}
