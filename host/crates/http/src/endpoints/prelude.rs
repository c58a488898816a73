//! What most endpoints use.

pub use hyper::StatusCode;
pub use serde_json::{Value, json};

pub use crate::auth::{AdminCaller, PartnerCaller, WorkspaceCaller};
pub use crate::body::UnreadBody;
pub use crate::call::Call;
pub use crate::error::ApiError;
pub use crate::openapi::operation::Operation;
pub(crate) use crate::openapi::operation::describe;
pub use crate::reply::{self, ApiResponse};
pub use crate::state::Http;

pub type ApiResult<T = ApiResponse> = Result<T, ApiError>;
