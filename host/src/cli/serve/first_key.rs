//! The first admin key: made when no admin key opens this service yet, and left
//! in the data folder for who may read it there.

use std::path::Path;

use crate::app::App;
use crate::cli::client::KEY_FILE;
use crate::cli::failure::Failure;
use crate::domain::key::KeyKind;
use crate::pipeline::apply::{KeyRequest, mint};

use super::said::write_private;

/// Makes a key when there is none, or when `another` is asked for.
pub async fn ensure(app: &App, folder: &Path, another: bool) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("no admin key: {error}"));
    let now = app.clock.now();
    let keys = app.store.keys(None).await.map_err(|error| failed(&error))?;
    let exists = keys
        .iter()
        .any(|key| key.kind == KeyKind::Admin && key.is_live(now));
    if exists && !another {
        let file = folder.join(KEY_FILE);
        if app.store.is_shared() && !file.exists() {
            tracing::info!(
                "an admin key was made by another host, and lies in its data folder; `serve --new-admin-key` makes one more here"
            );
        }
        return Ok(());
    }
    let request = KeyRequest {
        kind: KeyKind::Admin,
        workspace: None,
        partner: None,
        label: KEY_FILE.to_owned(),
        expires_at: None,
    };
    let (_, plain) = mint(&*app.store, request, now)
        .await
        .map_err(|error| failed(&error))?;
    let path = folder.join(KEY_FILE);
    write_private(&path, &format!("{}\n", plain.reveal()))?;
    tracing::info!(file = %path.display(), "an admin key was made");
    Ok(())
}
