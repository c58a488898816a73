use crate::endpoints::prelude::*;

#[derive(Serialize, ToSchema)]
pub struct Whoami<'a> {
    /// The id, which the rows of an export call `workspace_id`.
    workspace: WorkspaceId,
    workspace_name: &'a str,
}

describe!(show, |operation| operation
    .summary("Shows which workspace a key belongs to")
    .answers::<Whoami<'_>>(200, "The workspace."));
pub async fn show(_: &Call<'_>, caller: &WorkspaceCaller) -> ApiResult {
    let workspace = caller.workspace();
    reply::ok(&Whoami {
        workspace: workspace.id,
        workspace_name: &workspace.name,
    })
}
