//! The inbox's side of a deployment: bytes never seen before are stored and
//! activated once, or refused once.

use std::sync::Arc;

use super::{Accept, DeployError, upload};
use crate::domain::plugin::Digest;
use crate::pipeline::state::Pipeline;
use crate::plugin::LoadError;
use crate::plugin::inbox::{self, Inbox};
use crate::shutdown::Shutdown;
use crate::store::{Refusal, StoreError};

/// Takes in what appears in the inbox.
pub async fn watch_inbox(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let folder = std::path::PathBuf::from(&pipeline.core.config.plugins.inbox);
    let mut told = false;
    let mut inbox = loop {
        match Inbox::watch(&folder) {
            Ok(inbox) => break inbox,
            Err(error) if !told => {
                tracing::error!(folder = %folder.display(), %error, "the inbox cannot be watched; it is looked for until it is there");
                told = true;
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(inbox::POLL) => {}
            () = shutdown.begun() => return,
        }
    };
    if told {
        tracing::info!(folder = %folder.display(), "the inbox is there now, and watched");
    }
    loop {
        let file = tokio::select! {
            file = inbox.next() => file,
            () = shutdown.begun() => return,
        };
        let origin = file.path.file_name().map_or_else(
            || file.path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        take_in(&pipeline, file.bytes, &origin).await;
    }
}

/// Takes one file in: new bytes are stored and activated once, or refused once.
pub async fn take_in(pipeline: &Arc<Pipeline>, wasm: Vec<u8>, origin: &str) {
    // A file may be as large as the inbox takes them: hashing it is no work for a
    // thread that serves.
    let hashed = tokio::task::spawn_blocking(move || (Digest::of(&wasm), wasm));
    let Ok((digest, wasm)) = hashed.await else {
        return tracing::error!(origin, "the inbox's file cannot be hashed");
    };
    match is_known(pipeline, &digest).await {
        Ok(true) => {
            return tracing::debug!(origin, digest = digest.short(), "the inbox's file is known");
        }
        Ok(false) => {}
        Err(error) => {
            return tracing::error!(origin, %error, "the inbox's file cannot be looked up");
        }
    }
    match upload(pipeline, wasm, origin, true, &Accept::default()).await {
        Ok(deployed) => {
            tracing::info!(origin, plugin = %deployed.record.description.name, digest = digest.short(), "taken in from the inbox")
        }
        Err(error) => {
            tracing::error!(origin, digest = digest.short(), %error, "the inbox's file is refused; nothing changed");
            pipeline.core.metrics.plugin_refused();
            let refusal = Refusal {
                origin: origin.to_owned(),
                digest: for_good(&error).then_some(digest),
                reason: reason(pipeline, &error, origin),
                at: pipeline.core.clock.now(),
            };
            if let Err(error) = pipeline.core.store.note_refusal(&refusal).await {
                tracing::warn!(%error, "the refusal cannot be noted");
            }
        }
    }
}

/// Why the file is refused, with the command that takes it in all the same, where
/// there is one.
fn reason(pipeline: &Pipeline, error: &DeployError, origin: &str) -> String {
    let DeployError::Refused { concerns, .. } = error else {
        return error.to_string();
    };
    let mut words: Vec<&str> = concerns.iter().map(|one| one.accept.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    if words.contains(&"") {
        return error.to_string();
    }
    let file = std::path::Path::new(&pipeline.core.config.plugins.inbox).join(origin);
    let accept: String = words
        .iter()
        .map(|word| format!(" --accept {word}"))
        .collect();
    format!(
        "{error}. If that is meant: leadhost plugin activate {}{accept}",
        file.display()
    )
}

/// Stored, or refused for good: a restart must not make a version serve that
/// was once refused, only because another one serves by now.
async fn is_known(pipeline: &Pipeline, digest: &Digest) -> Result<bool, StoreError> {
    if pipeline.core.store.plugin(digest).await?.is_some() {
        return Ok(true);
    }
    let refusals = pipeline.core.store.refusals().await?;
    Ok(refusals
        .iter()
        .any(|refusal| refusal.digest.as_ref() == Some(digest)))
}

/// Whether the file is at fault, and not the host at that moment.
fn for_good(error: &DeployError) -> bool {
    !matches!(
        error,
        DeployError::Store(_)
            | DeployError::Fleet(_)
            | DeployError::Load(
                LoadError::Host(_)
                    | LoadError::Compiler(_)
                    | LoadError::CompileTimeout { .. }
                    | LoadError::TrialTimeout { .. }
                    | LoadError::Busy { .. }
            )
    )
}
