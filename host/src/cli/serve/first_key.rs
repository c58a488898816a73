//! The first admin key. The service creates it when it has no valid admin key, and writes it to
//! the data folder.

use crate::cli::client::KEY_FILE;
use crate::cli::prelude::*;
use leadhost_domain::key::{KeyKind, Role};
use leadhost_pipeline::Pipeline;
use leadhost_pipeline::apply::{KeyRequest, mint};

use super::local_files::write_private;

pub async fn ensure(
    pipeline: &Arc<Pipeline>,
    folder: &Path,
    another: bool,
    flags: &ServiceFlags,
) -> CommandResult {
    let failed = |error: &dyn std::fmt::Display| failed!("cannot create an admin key: {error}");
    let now = pipeline.core.clock.now();
    let keys = pipeline
        .core
        .store
        .keys(None)
        .await
        .map_err(|error| failed(&error))?;
    let exists = keys
        .iter()
        .any(|key| key.role == Some(Role::Admin) && key.is_live(now));
    if exists && !another {
        let file = folder.join(KEY_FILE);
        if pipeline.core.store.is_shared() && !file.exists() {
            tracing::info!(
                command = flags.command("serve --new-admin-key"),
                "another host created the admin key, in its own data folder; the command creates one here"
            );
        }
        return Ok(());
    }
    let request = KeyRequest {
        kind: KeyKind::Admin,
        workspace: None,
        partner: None,
        role: Some(Role::Admin),
        label: KEY_FILE.to_owned(),
        expires_at: None,
    };
    let (_, plain) = mint(&pipeline.core.store, request, now)
        .await
        .map_err(|error| failed(&error))?;
    let path = folder.join(KEY_FILE);
    write_private(&path, &format!("{}\n", plain.reveal()))?;
    tracing::info!(file = %path.display(), "admin key created");
    Ok(())
}
