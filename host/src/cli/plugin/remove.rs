use super::named::stored_only;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::RemovedPlugin;

#[derive(Args)]
pub struct Remove {
    /// NAME@DIGEST of a stored version, with at least the first 8 characters of the digest
    what: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Remove {
    pub async fn run(self) -> CommandResult {
        let client = self.service.client()?;
        let (name, digest) = stored_only(&self.what, client.flags())?;
        let path = format!(
            "/admin/v1/plugins/{}/versions/{}",
            encoded(name),
            encoded(digest)
        );
        let answer = client.delete(&path).await?;
        client.print(&answer, |removed: &RemovedPlugin| {
            let RemovedPlugin {
                name,
                version,
                digest,
                removed: _,
            } = removed;
            say_line!("Removed {name} {version} ({}).", digest.short());
        });
        Ok(())
    }
}
