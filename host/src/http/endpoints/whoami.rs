//! `GET /v1/whoami`: the workspace of a key.

use hyper::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::id::WorkspaceId;
use crate::http::auth::WorkspaceCaller;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};

#[derive(Serialize, ToSchema)]
pub struct Whoami<'a> {
    /// The id, which the rows of an export call `workspace_id`.
    workspace: WorkspaceId,
    workspace_name: &'a str,
}

/// Returns the workspace of the caller's key.
///
/// # Errors
///
/// [`ApiError::Internal`] if the answer cannot be serialised, which only a defect causes.
pub fn show(caller: &WorkspaceCaller) -> Result<ApiResponse, ApiError> {
    let workspace = caller.workspace();
    let body = Whoami {
        workspace: workspace.id,
        workspace_name: &workspace.name,
    };
    reply::json(StatusCode::OK, &body)
}
