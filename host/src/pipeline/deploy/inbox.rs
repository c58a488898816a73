//! Deployment from the inbox: new bytes are stored and activated once, or refused once.

use std::sync::Arc;

use serde_json::json;

use super::{Accept, DeployError, upload};
use crate::domain::audit::{Act, ActOutcome, AuditRow};
use crate::domain::plugin::Digest;
use crate::pipeline::state::Pipeline;
use crate::plugin::LoadError;
use crate::plugin::inbox::{self, Inbox};
use crate::shutdown::Shutdown;
use crate::store::{Refusal, StoreError};

/// Processes the files that appear in the inbox.
pub async fn watch_inbox(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let folder = std::path::PathBuf::from(&pipeline.core.config.plugins.inbox);
    let mut told = false;
    let mut inbox = loop {
        match Inbox::watch(&folder) {
            Ok(inbox) => break inbox,
            Err(error) if !told => {
                tracing::error!(folder = %folder.display(), %error, "inbox cannot be watched, retrying");
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
        tracing::info!(folder = %folder.display(), "inbox is watched");
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

/// Processes one file: new bytes are stored and activated once, or refused once.
pub async fn take_in(pipeline: &Arc<Pipeline>, wasm: Vec<u8>, origin: &str) {
    // A file may be as large as the inbox allows: hashing it must not block a thread that
    // serves requests.
    let hashed = tokio::task::spawn_blocking(move || (Digest::compute(&wasm), wasm));
    let Ok((digest, wasm)) = hashed.await else {
        return tracing::error!(origin, "inbox file not hashed");
    };
    match is_known(pipeline, &digest).await {
        Ok(true) => {
            return tracing::debug!(
                origin,
                digest = digest.short(),
                "inbox file is already known"
            );
        }
        Ok(false) => {}
        Err(error) => {
            return tracing::error!(origin, %error, "inbox file not looked up");
        }
    }
    let begun = match record(pipeline, &digest, ActOutcome::Begun, None).await {
        Ok(begun) => begun.number,
        Err(error) => {
            return tracing::error!(origin, %error, "inbox file not stored in the audit, nothing changed");
        }
    };
    let uploaded = upload(pipeline, wasm, origin, true, &Accept::default()).await;
    let outcome = match &uploaded {
        Ok(_) => ActOutcome::Done,
        Err(error) if for_good(error) => ActOutcome::Refused,
        Err(_) => ActOutcome::Failed,
    };
    if let Err(error) = record(pipeline, &digest, outcome, Some(begun)).await {
        tracing::error!(origin, begun, %error, "outcome of an inbox file not stored in the audit");
    }
    match uploaded {
        Ok(deployed) => {
            tracing::info!(origin, plugin = %deployed.record.description.name, digest = digest.short(), "inbox file stored and activated")
        }
        Err(error) => {
            tracing::error!(origin, digest = digest.short(), %error, "inbox file refused, nothing changed");
            pipeline.core.metrics.plugins.refused();
            let refusal = Refusal {
                origin: origin.to_owned(),
                digest: for_good(&error).then_some(digest),
                reason: reason(pipeline, &error, origin),
                at: pipeline.core.clock.now(),
            };
            if let Err(error) = pipeline.core.store.note_refusal(&refusal).await {
                tracing::warn!(%error, "refusal not stored");
            }
        }
    }
}

/// Adds a file to the audit. Its name is not shown: it may be any text.
async fn record(
    pipeline: &Pipeline,
    digest: &Digest,
    outcome: ActOutcome,
    begun: Option<i64>,
) -> Result<AuditRow, StoreError> {
    let act = Act {
        at: pipeline.core.clock.now(),
        key_id: None,
        label: "inbox".to_owned(),
        role: None,
        address: String::new(),
        act: "activate-plugin".to_owned(),
        target: digest.short().to_owned(),
        outcome,
        begun,
        detail: json!({ "digest": digest }).to_string(),
    };
    pipeline.core.store.add_audit(act).await
}

/// Returns why the file is refused, and the command that accepts it, if there is one.
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
        "{error}. To activate it anyway: leadhost plugin activate {}{accept}",
        file.display()
    )
}

/// Returns whether the bytes are stored or permanently refused: a restart must not activate
/// a version that was refused, just because another version is active by then.
async fn is_known(pipeline: &Pipeline, digest: &Digest) -> Result<bool, StoreError> {
    if pipeline.core.store.plugin(digest).await?.is_some() {
        return Ok(true);
    }
    let refusals = pipeline.core.store.refusals().await?;
    Ok(refusals
        .iter()
        .any(|refusal| refusal.digest.as_ref() == Some(digest)))
}

/// Returns whether the file is at fault, and not the host's current state.
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
