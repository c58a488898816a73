//! `leadhost owner add`. The e-mail address identifies an owner.

use clap::Args;

use super::Of;
use crate::admin_api::workspaces::{OwnerRequest, PartApplied};
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::safe;
use crate::domain::workspace::ChangeKind;

#[derive(Args)]
pub struct Add {
    /// The e-mail address by which partners and the desk name the owner
    email: String,
    /// The owner's name
    #[arg(long)]
    name: String,
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    reach: Reach,
}

impl Add {
    /// Adds the owner, or renames the owner with this e-mail address.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = self.of.path();
        let list = [OwnerRequest {
            email: self.email,
            name: self.name,
        }];
        let answer = client.put(&path, &list).await?;
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
