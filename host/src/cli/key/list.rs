//! `leadhost key list`.

use clap::Args;

use crate::admin_api::keys::Keys;
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::table::{optional, seconds, table};

#[derive(Args)]
pub struct List {
    /// Only keys of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    /// Prints the keys of a workspace, or all. It does not print the secret part.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let path = match &self.workspace {
            Some(slug) => format!("/admin/v1/keys?workspace={}", encoded(slug)),
            None => "/admin/v1/keys".to_owned(),
        };
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Keys) {
    let rows: Vec<Vec<String>> = answer
        .keys
        .iter()
        .map(|key| {
            vec![
                key.id.to_string(),
                key.kind.as_str().to_owned(),
                optional(key.workspace.as_ref()),
                optional(key.partner.as_ref()),
                key.label.clone(),
                key.hint.clone(),
                key.state.to_string(),
                optional(key.last_used_at.map(seconds)),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "KIND",
            "WORKSPACE",
            "PARTNER",
            "LABEL",
            "KEY",
            "STATE",
            "LAST USED",
        ],
        &rows,
    ));
}
