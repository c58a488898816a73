//! Requests to the address of a connection: which connection it is, and what a plugin sees of them.

use hyper::http::request::Parts;

use crate::endpoints::prelude::*;
use leadhost_domain::exchange::Pairs;
use leadhost_pipeline::connections::ConnectionError;
use leadhost_pipeline::intake::{Address, InboundRequest, IntakeError};

/// Reads the id of a connection. A text that cannot be an id counts as unknown.
pub fn address(connection: &str) -> ApiResult<Address> {
    let id = connection.parse().map_err(|_| unknown_source())?;
    Ok(Address::Source(id))
}

pub fn inbound(call: &Call<'_>, address: Address, body: Bytes) -> InboundRequest {
    let (http, head) = (call.http, call.head);
    let query = head.uri.query().unwrap_or_default();
    InboundRequest {
        address,
        peer: call.peer,
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        public_url: public_url(http, head),
        query: form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        headers: headers(head),
        body,
        sent: None,
        by_operator: false,
    }
}

/// Returns the headers, with values as UTF-8 or, failing that, Latin-1.
pub fn headers(head: &Parts) -> Pairs {
    head.headers
        .iter()
        .map(|(name, value)| {
            let value = match std::str::from_utf8(value.as_bytes()) {
                Ok(text) => text.to_owned(),
                Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
            };
            (name.as_str().to_owned(), value)
        })
        .collect()
}

/// Returns the address as the sender sees it, which some senders sign.
fn public_url(http: &Http, head: &Parts) -> String {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    http.core.config.server.public(path).unwrap_or_else(|| {
        let host = head
            .headers
            .get(hyper::header::HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default();
        let scheme = if http.core.config.server.has_tls() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{host}{path}")
    })
}

fn unknown_source() -> ApiError {
    ApiError::coded(
        ErrorCode::ConnectionNotFound,
        "There is no connection with this id; ask the operator for the right address.",
    )
}

pub fn unknown_channel() -> ApiError {
    ApiError::NotFound("There is no instance with this address; `leadhost instance list` shows the addresses for providers.".to_owned())
}

impl From<IntakeError> for ApiError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::UnknownAddress(Address::Source(_)) => unknown_source(),
            IntakeError::UnknownAddress(Address::Channel { .. }) => unknown_channel(),
            IntakeError::Full(_) => Self::Overloaded {
                shed: Shed::WaitingDeliveries,
                what: "Too many deliveries of this connection are waiting; send this one again.",
                retry_after: Duration::from_secs(10),
            },
            IntakeError::Store(error) | IntakeError::Connection(ConnectionError::Store(error)) => {
                Self::Store(error)
            }
            IntakeError::Connection(error) => Self::internal(error),
        }
    }
}
