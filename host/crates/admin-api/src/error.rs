use crate::prelude::*;
use leadhost_domain::error_code::ErrorCode;

/// An error of the admin API. Some refusals have more fields.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AdminError {
    /// The reason for the refusal, and how to correct the request.
    pub error: String,
    /// The cause, as a word. The command does not depend on it: a newer host may have others.
    #[serde(default)]
    #[schema(value_type = ErrorCode)]
    pub code: String,
}
