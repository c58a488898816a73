//! `GET /admin/v1/workspaces`, by slug.

use hyper::StatusCode;

use crate::call::Call;
use crate::error::ApiError;
use crate::openapi::operation::describe;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::workspaces::{WorkspaceView, Workspaces};
use leadhost_domain::workspace::Workspace;

describe!(list, |operation| operation
    .summary("Lists the workspaces")
    .answers::<Workspaces>(
    200,
    "All workspaces, by slug."
));
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let mut workspaces = call.http.core.store.workspaces().await?;
    workspaces.sort_by(|one, other| one.slug.cmp(&other.slug));
    let workspaces = workspaces.into_iter().map(to_view).collect();
    reply::json(StatusCode::OK, &Workspaces { workspaces })
}

fn to_view(workspace: Workspace) -> WorkspaceView {
    WorkspaceView {
        id: workspace.id,
        slug: workspace.slug,
        name: workspace.name,
        region: workspace.region,
        time_zone: workspace.time_zone,
        rate_limit: workspace.rate_limit,
    }
}
