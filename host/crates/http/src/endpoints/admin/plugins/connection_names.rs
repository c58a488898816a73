use crate::endpoints::admin::prelude::*;
use leadhost_domain::connection::Connection;
use leadhost_domain::workspace::name_in_workspace;

pub async fn connection_names(store: &Store) -> ApiResult<HashMap<String, String>> {
    let workspaces = store.workspaces().await?;
    let named = |connection: Connection| {
        let of_it = |workspace: &&Workspace| workspace.id == connection.workspace;
        let workspace = workspaces.iter().find(of_it)?;
        let name = name_in_workspace(&workspace.slug, &connection.name);
        Some((connection.id.to_string(), name))
    };
    let connections = store.connections(None).await?;
    Ok(connections.into_iter().filter_map(named).collect())
}
