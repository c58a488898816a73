//! `GET /v1/whoami`: which workspace a key belongs to.

use hyper::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::id::WorkspaceId;
use crate::http::auth::WorkspaceCaller;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

#[derive(Serialize, ToSchema)]
pub struct Whoami<'a> {
    /// The id: what the rows of an export call `workspace_id`.
    workspace: WorkspaceId,
    workspace_name: &'a str,
}

pub fn show(caller: &WorkspaceCaller) -> Result<Reply, ApiError> {
    let workspace = caller.workspace();
    let body = Whoami {
        workspace: workspace.id,
        workspace_name: &workspace.name,
    };
    Ok(reply::json(StatusCode::OK, &body)?)
}
