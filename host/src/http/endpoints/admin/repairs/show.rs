//! `GET /admin/v1/repairs/{id}`: how far a repair is, and the sum of its receipt.

use hyper::StatusCode;

use super::{find, to_view};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};

/// # Errors
///
/// [`ApiError::NotFound`] if there is no such repair, and [`ApiError::Store`] if the store cannot
/// be read.
pub async fn show(call: &Call<'_>, id: &str) -> Result<ApiResponse, ApiError> {
    let repair = find(call, id).await?;
    reply::json(StatusCode::OK, &to_view(call, repair).await?)
}
