//! What senders sent and what became of it.

pub mod list;
pub mod replay;
pub mod show;

use crate::domain::id::DeliveryId;
use crate::http::error::ApiError;

fn parse_id(text: &str) -> Result<DeliveryId, ApiError> {
    text.parse()
        .map_err(|_| ApiError::NotFound(format!("There is no delivery `{text}`.")))
}
