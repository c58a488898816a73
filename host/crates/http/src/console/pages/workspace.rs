//! Whether there is a workspace, to which all that a form makes belongs.

use super::super::api::ApiRefusal;
use super::super::visit::Visit;
use leadhost_admin_api::workspaces::Workspaces;

/// Returns whether there is a workspace, to which all that a form makes belongs.
pub async fn has_workspace(visit: &Visit<'_>) -> Result<bool, ApiRefusal> {
    let Workspaces { workspaces } = visit.api().get("/workspaces").await?;
    Ok(!workspaces.is_empty())
}
