//! `GET /tickets/{id}`: shows one ticket.

use hyper::StatusCode;

use super::view::{parse_id, view};
use crate::http::auth::PartnerCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};

/// Returns a ticket.
///
/// # Errors
///
/// [`ApiError::NotFound`] if the partner sees no such ticket, and [`ApiError::Store`] if the
/// store cannot be read.
pub async fn run(
    call: &Call<'_>,
    caller: &PartnerCaller,
    ticket: &str,
) -> Result<ApiResponse, ApiError> {
    let ticket = view(call, caller, parse_id(ticket)?).await?;
    reply::json(StatusCode::OK, &ticket)
}
