//! `/ingest-lead/{connection}`: deliveries of sources, and their handshakes.

use crate::http::body::Unread;
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::router::Call;

/// `POST`: a delivery. Until the pipeline is part of the app, senders are asked to come again.
pub async fn receive(
    _call: &Call<'_>,
    _connection: &str,
    _body: Unread,
) -> Result<Reply, ApiError> {
    Err(not_yet())
}

/// `GET`: a source asks whether somebody is there.
pub async fn handshake(_call: &Call<'_>, _connection: &str) -> Result<Reply, ApiError> {
    Err(not_yet())
}

fn not_yet() -> ApiError {
    ApiError::Overloaded {
        what: "Deliveries are not taken by this build; send this one again later.",
        retry_after: 60,
    }
}
