//! A request on its way to its endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;

use super::error::{ApiError, Family};
use super::presence::Client;
use super::query::Query;
use super::reply::Reply;
use super::request_id::RequestId;
use super::route::Surface;
use super::state::Http;

/// What an endpoint gets of a request, besides its body and the proof of who asks.
pub struct Call<'a> {
    pub http: &'a Arc<Http>,
    pub head: &'a Parts,
    pub id: &'a RequestId,
    pub surface: Surface,
    pub family: Family,
    /// Who asks: the far end, or whom a trusted proxy names.
    pub peer: IpAddr,
    /// Whether it waits for the answer still; known on the admin surface.
    pub client: Client,
}

impl Call<'_> {
    pub fn query(&self) -> Query<'_> {
        Query::of(self.head)
    }

    /// The answer to a request that fails, its inside logged.
    pub fn refuse(&self, error: &ApiError) -> Reply {
        error.log();
        error.reply(self.family, &self.head.headers, self.id)
    }
}
