use super::super::api::ApiRefusal;
use super::super::visit::Visit;
use leadhost_admin_api::workspaces::Workspaces;

pub async fn has_workspace(visit: &Visit<'_>) -> Result<bool, ApiRefusal> {
    let Workspaces { workspaces } = visit.api().get("/workspaces").await?;
    Ok(!workspaces.is_empty())
}
