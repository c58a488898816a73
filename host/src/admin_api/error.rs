//! Refusals of the admin API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error of the admin API. Some refusals have more fields.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AdminError {
    /// The reason for the refusal, and how to correct the request.
    pub error: String,
}
