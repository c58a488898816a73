//! `leadhost key revoke`: within a second every host refuses the key.

use clap::Args;

use crate::admin_api::keys::KeyRevoked;
use crate::cli::client::{Reach, encoded};
use crate::cli::failure::Failure;
use crate::cli::output::say;

#[derive(Args)]
pub struct Revoke {
    /// The key's id, as `leadhost key list` shows it
    id: String,
    #[command(flatten)]
    reach: Reach,
}

impl Revoke {
    /// Revokes the key.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let answer = client
            .delete(&format!("/admin/v1/keys/{}", encoded(&self.id)))
            .await?;
        client.print(&answer, |_: &KeyRevoked| {
            say(&format!(
                "Revoked {}. Every host refuses it within one second.",
                self.id
            ));
        });
        Ok(())
    }
}
