use hyper::StatusCode;
use serde::Deserialize as _;

use crate::cli::client::ServiceRefusal;
use crate::cli::prelude::*;
use leadhost_admin_api::apply::RefusedFile;
use leadhost_admin_api::workspaces::{OwnerRequest, Owners, PartApplied};
use leadhost_domain::workspace::ChangeKind;

verbs! {
    pub enum OwnerCommand {
        /// List the people of a workspace who own deals and answer tickets
        List(ListOwners),
        /// Add an owner, or rename an existing one
        Add(AddOwner),
    }
}

/// The workspace of the owners.
#[derive(Args)]
struct WorkspaceFlag {
    /// The workspace's slug
    #[arg(long, value_name = "SLUG")]
    workspace: String,
}

impl WorkspaceFlag {
    fn path(&self) -> String {
        format!("/admin/v1/workspaces/{}/owners", encoded(&self.workspace))
    }
}

#[derive(Args)]
pub struct ListOwners {
    #[command(flatten)]
    workspace: WorkspaceFlag,
}

impl ServiceCommand for ListOwners {
    async fn run(self, client: AdminClient) -> CommandResult {
        let show = |all: &Owners| say_rows(&all.owners);
        client.show(&self.workspace.path(), show).await
    }
}

#[derive(Args)]
pub struct AddOwner {
    /// The e-mail address by which partners and the desk name the owner
    email: String,
    /// The owner's name
    #[arg(long)]
    name: String,
    #[command(flatten)]
    workspace: WorkspaceFlag,
}

impl ServiceCommand for AddOwner {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = self.workspace.path();
        let list = [OwnerRequest {
            email: self.email,
            name: self.name,
        }];
        let answer = client.try_put(&path, &list).await?.map_err(explain)?;
        client.print(&answer, |answer: &PartApplied| {
            say(&match answer.changes.first() {
                Some(change) => match change.what {
                    ChangeKind::Created => format!("Added {}.", safe(&change.name)),
                    ChangeKind::Changed => format!("Renamed {}.", safe(&change.name)),
                },
                None => "No change.".to_owned(),
            });
        });
        Ok(())
    }
}

/// Returns a failure with every problem of the owner, each under the argument that it is about.
fn explain(refusal: ServiceRefusal) -> CommandFailure {
    let refused = RefusedFile::deserialize(&refusal.body).ok();
    let refused = refused.filter(|_| refusal.status == StatusCode::UNPROCESSABLE_ENTITY);
    let Some(refused) = refused else {
        return refusal.into();
    };
    let problems: Vec<String> = refused
        .problems
        .iter()
        .map(|problem| {
            let argument = match problem.path.as_deref() {
                Some("owners[0].email") => "EMAIL",
                Some("owners[0].name") => "--name",
                path => path.unwrap_or("the owner"),
            };
            safe(&format!("{argument}: {}", problem.message))
        })
        .collect();
    CommandFailure::usage(problems.join("; "))
}
