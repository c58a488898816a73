//! `leadhost owner list`.

use clap::Args;

use super::Of;
use crate::admin_api::workspaces::Owners;
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::table;

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    /// Prints the owners of the workspace.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client.get(&self.of.path()).await?;
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
