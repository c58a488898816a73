mod import;
mod send;

use std::collections::BTreeSet;

use hyper::StatusCode;

use crate::cli::confirm::confirm;
use crate::cli::prelude::*;
use leadhost_admin_api::workspaces::{Owners, ProductRemoved};

verbs! {
    pub enum ProductsCommand {
        /// Create, change and remove products as a catalogue lists them
        Import(import::ImportProducts),
        /// Remove single products permanently
        Remove(RemoveProducts),
    }
}

#[derive(Args)]
pub struct RemoveProducts {
    /// The products' external ids
    #[arg(required = true, value_name = "EXTERNAL_ID")]
    external_ids: Vec<String>,
    /// The workspace's slug
    #[arg(long, value_name = "SLUG")]
    workspace: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl ServiceCommand for RemoveProducts {
    async fn run(self, client: AdminClient) -> CommandResult {
        let mut seen = BTreeSet::new();
        let once = self.external_ids.iter().filter(|id| seen.insert(*id));
        let wanted: Vec<&String> = once.collect();
        if !self.yes {
            let named: Vec<String> = wanted.iter().map(|id| safe(id).to_string()).collect();
            confirm(&format!(
                "Remove {} of workspace {} permanently?",
                named.join(", "),
                safe(&self.workspace)
            ))?;
        }
        let of = format!("/admin/v1/workspaces/{}", encoded(&self.workspace));
        // Fails if there is no such workspace: from here on, a 404 is about a product.
        client.get::<Owners>(&format!("{of}/owners")).await?;
        let (mut removed, mut unknown) = (Vec::new(), Vec::new());
        for id in wanted {
            let path = format!("{of}/products/{}", encoded(id));
            match client.try_delete::<ProductRemoved>(&path).await? {
                Ok(_) => {
                    if !client.json() {
                        say!("Removed product {}.", safe(id));
                    }
                    removed.push(id);
                }
                Err(refusal) if refusal.status == StatusCode::NOT_FOUND => unknown.push(id),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        let done = AdminAnswer::composed(RemovedProducts {
            workspace: &self.workspace,
            removed,
            unknown,
        });
        client.print(&done, |_| {});
        let RemovedProducts {
            removed, unknown, ..
        } = done.content;
        if unknown.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = unknown.iter().map(|id| format!("`{}`", safe(id))).collect();
        Err(failed!(
            "the workspace `{}` has no product {}; {}",
            safe(&self.workspace),
            named.join(", "),
            match removed.len() {
                0 => "nothing was removed".to_owned(),
                count => format!("removed: {count}"),
            }
        ))
    }
}

/// The answer of `leadhost products remove`, as JSON.
#[derive(Serialize)]
struct RemovedProducts<'a> {
    workspace: &'a str,
    removed: Vec<&'a String>,
    unknown: Vec<&'a String>,
}
