//! Refusals of the admin API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error of the admin API. Some refusals have more fields.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AdminError {
    /// What is wrong, and how to make it right.
    pub error: String,
}
