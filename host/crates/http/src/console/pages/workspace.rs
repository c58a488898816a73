use crate::console::pages::prelude::*;

pub async fn has_workspace(visit: &Visit<'_>) -> PageResult<bool> {
    let Workspaces { workspaces } = visit.api().get("/workspaces").await?;
    Ok(!workspaces.is_empty())
}
