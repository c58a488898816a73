//! The surfaces, on hyper itself: gateway, data API and admin API.
//!
//! A request passes one plain chain of functions: `server` (connection), `answer` (request id,
//! deadline, log, metrics), `routes` (which operation), `router` (authentication, then the
//! endpoint). An endpoint returns a reply or an [`error::ApiError`], which one match turns into
//! the shape of its family.

/// Makes a view of the fields that a record has under the same names, and of those after the semicolon. `of`
/// names the record's type and its other fields, so that a new field does not compile before it has its place.
macro_rules! view {
    ($view:ident of $type:path [$($further:tt)*] from $record:ident: $($same:ident),+ $(; $($other:tt)+)?) => {{
        let $type { $($same,)+ $($further)* } = $record;
        $view { $($($other)+,)? $($same),+ }
    }};
    ($view:ident from $record:ident: $($same:ident),+ $(; $($other:tt)+)?) => {
        $view { $($($other)+,)? $($same: $record.$same),+ }
    };
}

pub mod accept;
pub mod answer;
mod asset;
pub mod auth;
pub mod body;
mod budget;
pub mod call;
mod closing;
mod conditional;
mod connection_limit;
mod console;
pub mod decoding;
mod docs;
mod encoding;
pub mod endpoints;
pub mod error;
mod failures;
mod feed;
mod gauges;
pub mod golden_export;
mod head;
mod http2;
mod idempotency;
mod io;
mod json;
mod lines;
pub mod listen;
pub mod openapi;
mod operators;
pub mod payload;
mod peer;
mod prelude;
pub mod presence;
pub mod query;
pub mod rate;
mod refused_requests;
pub mod reply;
pub mod request_id;
mod response;
pub mod route;
pub mod router;
pub mod routes;
pub mod server;
pub mod state;
mod streamed_list;
pub mod surface;
mod terms;
pub mod tls;
pub mod zod;

pub use state::Http;
