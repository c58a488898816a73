use crate::prelude::*;

pub use super::response::{ApiResponse, JSON, bytes_of, empty, text, with_payload};

pub fn json(status: StatusCode, body: &impl Serialize) -> Result<ApiResponse, ApiError> {
    let bytes = serde_json::to_vec(body).map_err(ApiError::internal)?;
    Ok(bytes_of(status, JSON, bytes))
}

pub fn ok(body: &impl Serialize) -> Result<ApiResponse, ApiError> {
    json(StatusCode::OK, body)
}
