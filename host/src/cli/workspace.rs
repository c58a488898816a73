use crate::cli::prelude::*;
use leadhost_admin_api::workspaces::Workspaces;

verbs! {
    pub enum WorkspaceCommand {
        /// List the workspaces
        List(ListWorkspaces),
    }
}

#[derive(Args)]
pub struct ListWorkspaces {}

impl ServiceCommand for ListWorkspaces {
    async fn run(self, client: AdminClient) -> CommandResult {
        let show = |all: &Workspaces| say_rows(&all.workspaces);
        client.show("/admin/v1/workspaces", show).await
    }
}
