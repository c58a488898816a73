use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::WorkspaceCaller;
use crate::call::Call;
use crate::error::ApiError;
use crate::openapi::operation::describe;
use crate::reply::{self, ApiResponse};
use leadhost_domain::id::WorkspaceId;

#[derive(Serialize, ToSchema)]
pub struct Whoami<'a> {
    /// The id, which the rows of an export call `workspace_id`.
    workspace: WorkspaceId,
    workspace_name: &'a str,
}

describe!(show, |operation| operation
    .summary("Shows which workspace a key belongs to")
    .answers::<Whoami<'_>>(200, "The workspace."));
pub async fn show(_: &Call<'_>, caller: &WorkspaceCaller) -> Result<ApiResponse, ApiError> {
    let workspace = caller.workspace();
    reply::ok(&Whoami {
        workspace: workspace.id,
        workspace_name: &workspace.name,
    })
}
