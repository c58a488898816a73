//! `leadhost owner`. The e-mail address identifies an owner.

use clap::{Args, Subcommand};
use hyper::StatusCode;
use serde::Deserialize as _;

use crate::cli::client::{ServiceAddress, ServiceRefusal, encoded};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::table::{safe, table};
use leadhost_admin_api::apply::RefusedFile;
use leadhost_admin_api::workspaces::{OwnerRequest, Owners, PartApplied};
use leadhost_domain::workspace::ChangeKind;

#[derive(Subcommand)]
pub enum OwnerCommand {
    /// List the people of a workspace who own deals and answer tickets
    List(ListOwners),
    /// Add an owner, or rename an existing one
    Add(AddOwner),
}

impl OwnerCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::List(command) => command.run().await,
            Self::Add(command) => command.run().await,
        }
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
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListOwners {
    /// Prints the owners of the workspace.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let answer = client.get(&self.workspace.path()).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Owners) {
    let rows: Vec<Vec<String>> = answer
        .owners
        .iter()
        .map(|owner| {
            vec![
                owner.email.clone(),
                owner.name.clone(),
                owner.id.to_string(),
            ]
        })
        .collect();
    say(&table(&["E-MAIL", "NAME", "ID"], &rows));
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
    #[command(flatten)]
    service: ServiceAddress,
}

impl AddOwner {
    /// Adds the owner, or renames the owner with this e-mail address.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
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
