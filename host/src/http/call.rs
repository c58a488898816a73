//! A request on its way to its endpoint.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use hyper::http::request::Parts;
use serde_json::{Map, Value};

use super::error::{ApiError, Family};
use super::presence::Client;
use super::query::Query;
use super::reply::Reply;
use super::request_id::RequestId;
use super::route::Surface;
use super::state::Http;

/// What an endpoint receives of a request, besides its body and the proof of its caller.
pub struct Call<'a> {
    pub http: &'a Arc<Http>,
    pub head: &'a Parts,
    pub id: &'a RequestId,
    pub surface: Surface,
    pub family: Family,
    /// The client's address: the far end, or the one that a trusted proxy names.
    pub peer: IpAddr,
    /// Whether the client still waits for the answer. Known only on the admin surface.
    pub client: Client,
    /// What the audit shows of the operation, besides its name and its target.
    pub audited: Mutex<Map<String, Value>>,
}

impl Call<'_> {
    /// Parses the query of the request.
    pub fn query(&self) -> Query<'_> {
        Query::from_head(self.head)
    }

    /// Adds to what the audit shows of the operation. It is never removed: no secrets, no names and
    /// numbers of persons.
    pub fn audit(&self, detail: Value) {
        if let Value::Object(detail) = detail {
            let mut audited = self.audited.lock().expect("the lock is not poisoned");
            audited.extend(detail);
        }
    }

    /// Returns what the operation said for the audit.
    pub fn detail(&self) -> Map<String, Value> {
        self.audited
            .lock()
            .expect("the lock is not poisoned")
            .clone()
    }

    /// Returns the answer to a failed request, and logs the error's details.
    pub fn refuse(&self, error: &ApiError) -> Reply {
        error.log();
        error.reply(self.family, &self.head.headers, self.id)
    }
}
