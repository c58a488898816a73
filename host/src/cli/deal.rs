use crate::cli::confirm::confirm;
use crate::cli::prelude::*;
use leadhost_admin_api::deals::{DealChangeView, DealDetail, DealRemoved};

verbs! {
    pub enum DealCommand {
        /// Show a deal with its history: its changes and the notes of partners
        Show(ShowDeal),
        /// Remove a deal permanently, with its history and notes
        Remove(RemoveDeal),
    }
}

/// The deal.
#[derive(Args)]
struct DealFlags {
    /// The deal's id
    id: String,
    /// The workspace's slug [default: all workspaces are searched]
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
}

impl DealFlags {
    fn path(&self) -> String {
        let query = query(&[("workspace", self.workspace.clone())]);
        format!("/admin/v1/deals/{}{query}", encoded(&self.id))
    }
}

#[derive(Args)]
pub struct ShowDeal {
    #[command(flatten)]
    deal: DealFlags,
}

impl ServiceCommand for ShowDeal {
    async fn run(self, client: AdminClient) -> CommandResult {
        client.show(&self.deal.path(), show).await
    }
}

fn show(deal: &DealDetail) {
    say_facts(deal);
    let history = deal.history.iter();
    let changes: Vec<_> = history.flat_map(DealChangeView::fields).collect();
    if changes.is_empty() {
        say("\nIt has not been changed.");
    }
    say_more_rows(&changes);
    say_more_rows(&deal.logs);
}

#[derive(Args)]
pub struct RemoveDeal {
    #[command(flatten)]
    deal: DealFlags,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl ServiceCommand for RemoveDeal {
    /// Removes the deal after a confirmation. Rows that refer to the deal keep no reference to it.
    async fn run(self, client: AdminClient) -> CommandResult {
        let id = safe(&self.deal.id);
        if !self.yes {
            confirm(&format!(
                "Remove deal {id} permanently, with its history and notes?"
            ))?;
        }
        let answer = client.delete(&self.deal.path()).await?;
        client.print(&answer, |_: &DealRemoved| {
            say!("Removed deal {id}. Its contact and its lead's dedupe key stay.");
        });
        Ok(())
    }
}
