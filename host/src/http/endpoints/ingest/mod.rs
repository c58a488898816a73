//! `/ingest-lead/{connection}`: deliveries of lead sources, and the handshakes
//! by which sources make sure of the address.

mod handshake;
mod post;

pub use handshake::run as handshake;
pub use post::run as receive;

use hyper::http::request::Parts;

use crate::app::App;
use crate::domain::exchange::Pairs;
use crate::domain::id::ConnectionId;
use crate::http::error::ApiError;
use crate::pipeline::connections::ConnectionError;
use crate::pipeline::intake::{Inbound, IntakeError};

/// The request as the pipeline takes it. An id that cannot be one is as
/// unknown as any other.
fn inbound(app: &App, head: &Parts, connection: &str, body: Vec<u8>) -> Result<Inbound, ApiError> {
    let connection: ConnectionId = connection.parse().map_err(|_| unknown())?;
    let query = head.uri.query().unwrap_or_default();
    Ok(Inbound {
        connection,
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        public_url: public_url(app, head),
        query: form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        headers: headers(head),
        body,
    })
}

/// Header values are UTF-8, else Latin-1.
fn headers(head: &Parts) -> Pairs {
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

/// The address as the sender sees it: what some of them sign.
fn public_url(app: &App, head: &Parts) -> String {
    let base = app.config.server.public_url.trim_end_matches('/');
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    if base.is_empty() {
        let host = head
            .headers
            .get(hyper::header::HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default();
        format!("http://{host}{path}")
    } else {
        format!("{base}{path}")
    }
}

fn unknown() -> ApiError {
    ApiError::NotFound("There is no connection with this id; see the workspace's connections for the right address.".to_owned())
}

impl From<IntakeError> for ApiError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::UnknownConnection(_) => unknown(),
            IntakeError::Full(_) => Self::Overloaded {
                what: "Too many deliveries wait already; send this one again.",
                retry_after: 10,
            },
            IntakeError::Store(error) | IntakeError::Connection(ConnectionError::Store(error)) => {
                Self::Store(error)
            }
            IntakeError::Connection(error) => Self::internal(error),
        }
    }
}
