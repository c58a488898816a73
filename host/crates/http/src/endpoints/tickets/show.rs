//! `GET /tickets/{id}`: shows one ticket.

use hyper::StatusCode;

use super::view::{parse_id, view};
use crate::auth::PartnerCaller;
use crate::call::Call;
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};

/// Returns a ticket.
pub async fn run(
    call: &Call<'_>,
    caller: &PartnerCaller,
    ticket: &str,
) -> Result<ApiResponse, ApiError> {
    let ticket = view(call, caller, parse_id(ticket)?).await?;
    reply::json(StatusCode::OK, &ticket)
}
