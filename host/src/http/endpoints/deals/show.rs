//! `GET /deal/{dealId}`: one of the partner's deals.

use hyper::StatusCode;

use super::{id_of, not_found};
use crate::http::auth::PartnerCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::store::DealFilter;

/// # Errors
///
/// [`ApiError::NotFound`] if the partner has no such deal, and [`ApiError::Store`] if the store
/// cannot be read.
pub async fn run(call: &Call<'_>, caller: &PartnerCaller, deal: &str) -> Result<Reply, ApiError> {
    let filter = DealFilter {
        partner: Some(caller.partner().id),
        deal: Some(id_of(deal)?),
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
