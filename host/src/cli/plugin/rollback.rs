//! `leadhost plugin rollback`: activates the previous version. It is still compiled, so this is
//! quick.

use clap::Args;
use serde_json::json;

use super::say_deployed;
use crate::cli::client::{ServiceAddress, encoded};
use crate::cli::failure::Failure;

#[derive(Args)]
pub struct Rollback {
    /// The plugin's name
    name: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Rollback {
    /// Activates the version that served before.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/plugins/{}/rollback", encoded(&self.name));
        let deployed = client.post(&path, &json!({})).await?;
        client.print(&deployed, say_deployed);
        Ok(())
    }
}
