//! Lets pages of other origins post to a connection, by the rules of CORS. A form in a browser
//! is a sender like any other, but its page's origin has to be allowed.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ORIGIN,
    VARY,
};

use crate::endpoints::prelude::*;
use leadhost_domain::connection::ANY_ORIGIN;
use leadhost_pipeline::intake::{self, Address};

/// The seconds for which a browser may cache the answer to a preflight.
const REMEMBERED: u32 = 600;

// `OPTIONS` answers a browser's preflight, which precedes requests that a plain form could not send.
describe!(preflight);
pub async fn preflight(call: &Call<'_>, connection: &str) -> ApiResult {
    let address = super::inbound::address(connection)?;
    let headers = &call.head.headers;
    let origin = allowed(call, &address, headers).await?.ok_or_else(|| {
        ApiError::Forbidden(
            "Pages of this origin may not post to this connection: its `origins` do not name it."
                .to_owned(),
        )
    })?;
    let mut answer = reply::empty(StatusCode::NO_CONTENT);
    let sent = answer.headers_mut();
    sent.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST"),
    );
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        // A sender may send the same headers from everywhere.
        sent.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    sent.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(REMEMBERED));
    sent.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    depends_on_origin(sent);
    Ok(answer)
}

/// Lets the page read the answer to its request, if its origin is allowed.
pub async fn share(call: &Call<'_>, address: &Address, reply: &mut ApiResponse) {
    let headers = &call.head.headers;
    if !headers.contains_key(ORIGIN) {
        return;
    }
    let sent = reply.headers_mut();
    // Also for origins that are not allowed: another origin may get another answer.
    depends_on_origin(sent);
    // If the connection cannot be read now, no origin is allowed.
    if let Ok(Some(origin)) = allowed(call, address, headers).await {
        sent.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("x-request-id, retry-after"),
        );
        sent.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
}

async fn allowed(
    call: &Call<'_>,
    address: &Address,
    headers: &HeaderMap,
) -> ApiResult<Option<HeaderValue>> {
    let live = intake::connection(&call.http.pipeline, address).await?;
    let origins = &live.connection.settings.origins;
    let found = headers.get(ORIGIN).filter(|origin| {
        let named = |known: &String| known == ANY_ORIGIN || known.as_bytes() == origin.as_bytes();
        origins.iter().any(named)
    });
    Ok(found.cloned())
}

fn depends_on_origin(headers: &mut HeaderMap) {
    headers.append(
        VARY,
        HeaderValue::from_name(HeaderName::from_static("origin")),
    );
}
