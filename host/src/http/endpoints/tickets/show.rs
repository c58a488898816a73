//! `GET /tickets/{id}`: shows one ticket.

use hyper::StatusCode;

use super::{id_of, view};
use crate::http::auth::PartnerCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

/// # Errors
///
/// [`ApiError::NotFound`] if the workspace has no such ticket, and [`ApiError::Store`] if the
/// store cannot be read.
pub async fn run(call: &Call<'_>, caller: &PartnerCaller, ticket: &str) -> Result<Reply, ApiError> {
    let ticket = view(call, caller, id_of(ticket)?).await?;
    reply::json(StatusCode::OK, &ticket)
}
