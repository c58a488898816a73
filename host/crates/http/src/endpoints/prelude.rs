//! What most endpoints use.

pub use crate::auth::{AdminCaller, PartnerCaller, WorkspaceCaller};
pub use crate::openapi::operation::Operation;
pub(crate) use crate::openapi::operation::describe;
pub(crate) use crate::prelude::*;

pub type ApiResult<T = ApiResponse> = Result<T, ApiError>;
