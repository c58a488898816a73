//! `GET /deal/{dealId}`: one of the partner's deals.

use hyper::StatusCode;

use super::id::{not_found, parse_id};
use crate::auth::PartnerCaller;
use crate::call::Call;
use crate::error::ApiError;
use crate::reply::{self, ApiResponse};
use leadhost_store::DealFilter;

/// Returns a deal.
pub async fn run(
    call: &Call<'_>,
    caller: &PartnerCaller,
    deal: &str,
) -> Result<ApiResponse, ApiError> {
    let filter = DealFilter {
        partner: Some(caller.partner().id),
        deal: Some(parse_id(deal)?),
        ..DealFilter::default()
    };
    let mut found = call
        .http
        .core
        .store
        .deals(caller.scope(), &filter, 1)
        .await?;
    let deal = found.deals.pop().ok_or_else(not_found)?;
    reply::json(StatusCode::OK, &deal)
}
