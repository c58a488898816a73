//! Deployment from the inbox: new bytes are stored and activated once, or refused once. A refusal is
//! shown as long as the file has these bytes; they stay refused.

use std::path::Path;

use super::rolled_back::is_discarded;
use super::{
    AcceptedWords, attempts, concerns, error::DeployError, outcome::Deployed, upload::upload,
};
use crate::prelude::*;
use crate::versions::activation;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::audit::{Act, ActOutcome, AuditActor, AuditRow, INBOX, OperatorAct};
use leadhost_domain::audit_text;
use leadhost_domain::text::quoted;
use leadhost_plugin::LoadError;
use leadhost_plugin::inbox::{self, Inbox, InboxEvent};
use leadhost_store::PluginRefusal;

pub async fn watch_inbox(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let folder = std::path::PathBuf::from(&pipeline.config.plugins.inbox);
    let mut logged = false;
    let mut inbox = loop {
        match Inbox::watch(&folder) {
            Ok(inbox) => break inbox,
            Err(error) if !logged => {
                tracing::error!(folder = %folder.display(), %error, "inbox cannot be watched, retrying");
                logged = true;
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(inbox::POLL) => {}
            () = shutdown.begun() => return,
        }
    };
    if logged {
        tracing::info!(folder = %folder.display(), "inbox watch started");
    }
    overtake_removed(&pipeline, &folder).await;
    loop {
        let event = tokio::select! {
            event = inbox.next() => event,
            () = shutdown.begun() => return,
        };
        match event {
            InboxEvent::Complete(file) => {
                take_in(&pipeline, file.bytes, &origin_of(&file.path)).await;
            }
            InboxEvent::Removed(path) => {
                let origin = origin_of(&path);
                tracing::info!(origin, "inbox file removed, its version stays as it is");
                overtake(&pipeline, &origin, None).await;
            }
            InboxEvent::PassedOver(path, why) => {
                pass_over(&pipeline, origin_of(&path), why).await;
            }
        }
    }
}

fn origin_of(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Marks the refusals of files that were removed while no host watched the inbox.
async fn overtake_removed(pipeline: &Pipeline, folder: &Path) {
    let refusals = match pipeline.store.refusals().await {
        Ok(refusals) => refusals,
        Err(error) => return tracing::warn!(%error, "lookup of refused inbox files failed"),
    };
    let shown = refusals.iter().filter(|one| one.overtaken_at.is_none());
    for refusal in shown {
        let is_there = tokio::fs::try_exists(folder.join(&refusal.origin)).await;
        if matches!(is_there, Ok(false)) {
            overtake(pipeline, &refusal.origin, None).await;
        }
    }
}

/// Marks the refusals of a file as overtaken: it has the bytes with this digest now, or, with
/// `None`, it was removed.
async fn overtake(pipeline: &Pipeline, origin: &str, digest: Option<&Digest>) {
    let (store, now) = (&pipeline.store, pipeline.clock.now());
    if let Err(error) = store.overtake_refusals_of_file(origin, digest, now).await {
        tracing::warn!(origin, %error, "earlier refusals of the inbox file not marked as superseded");
    }
}

/// Processes one file: new bytes are stored and activated once, or refused once.
#[leadhost_boxed::boxed]
pub async fn take_in(pipeline: &Arc<Pipeline>, wasm: Vec<u8>, origin: &str) {
    // A file may be as large as the inbox allows: hashing it must not block a thread that
    // serves requests.
    let hashed = tokio::task::spawn_blocking(move || (Digest::compute(&wasm), wasm));
    let Ok((digest, wasm)) = hashed.await else {
        return tracing::error!(origin, "inbox file not hashed");
    };
    overtake(pipeline, origin, Some(&digest)).await;
    match known(pipeline, origin, &digest).await {
        Ok(Some(KnownBytes::Stored(name))) => {
            return already_stored(pipeline, origin, &name, &digest).await;
        }
        Ok(Some(KnownBytes::Refused(before))) => {
            tracing::warn!(
                origin,
                digest = digest.short(),
                error = before.reason,
                "inbox file has bytes that were refused before, nothing changed"
            );
            // That of a version that an operator has removed was never shown.
            let was_shown = before.overtaken_at != Some(before.at);
            let is_shown = before.overtaken_at.is_none() && before.origin == origin;
            if was_shown && !is_shown {
                let refusal = PluginRefusal {
                    origin: origin.to_owned(),
                    at: pipeline.clock.now(),
                    overtaken_at: None,
                    ..before
                };
                note(pipeline, &refusal).await;
            }
            return;
        }
        Ok(None) => {}
        Err(error) => {
            return tracing::error!(origin, %error, "inbox file lookup failed");
        }
    }
    let detail = json!({ "digest": digest });
    let begun = match record(pipeline, &digest, ActOutcome::Begun, None, detail).await {
        Ok(begun) => begun.number,
        Err(error) => {
            return tracing::error!(origin, %error, "inbox file not stored in the audit, nothing changed");
        }
    };
    let uploaded = attempt(pipeline, wasm, origin, &digest).await;
    let outcome = match &uploaded {
        Ok(_) => ActOutcome::Done,
        Err(error) if for_good(error) => ActOutcome::Refused,
        Err(_) => ActOutcome::Failed,
    };
    let detail = outcome_detail(&digest, &uploaded);
    if let Err(error) = record(pipeline, &digest, outcome, Some(begun), detail).await {
        tracing::error!(origin, begun, %error, "outcome of an inbox file not stored in the audit");
    }
    match uploaded {
        Ok(deployed) => {
            tracing::info!(origin, plugin = %deployed.record.description.name, digest = digest.short(), "inbox file stored and activated")
        }
        Err(error) => {
            // With the command that takes the file in all the same, if there is one.
            let reason = reason(pipeline, &error, origin).await;
            tracing::error!(
                origin,
                digest = digest.short(),
                error = reason,
                "inbox file refused, nothing changed"
            );
            pipeline.metrics.plugins.refused();
            let refusal = PluginRefusal {
                origin: origin.to_owned(),
                digest: for_good(&error).then_some(digest),
                plugin: match &error {
                    DeployError::Refused { name, .. } | DeployError::CanaryOpen { name, .. } => {
                        Some(name.clone())
                    }
                    _ => None,
                },
                reason,
                at: pipeline.clock.now(),
                overtaken_at: None,
            };
            note(pipeline, &refusal).await;
        }
    }
}

async fn attempt(
    pipeline: &Arc<Pipeline>,
    wasm: Vec<u8>,
    origin: &str,
    digest: &Digest,
) -> Result<Deployed, DeployError> {
    let attempt = attempts::begin(pipeline, digest).await;
    let attempt = attempt.map_err(|times| LoadError::EndedProcess { times })?;
    let accept = AcceptedWords::default();
    let mut upload = Box::pin(upload(pipeline, wasm, origin, true, &accept));
    tokio::select! {
        uploaded = &mut upload => uploaded,
        () = pipeline.shutdown.begun() => {
            // From here on the end of the process says nothing about the component.
            drop(attempt);
            upload.await
        }
    }
}

async fn pass_over(pipeline: &Pipeline, origin: String, why: &str) {
    tracing::warn!(
        origin,
        error = why,
        "inbox entry is no component file, passed over"
    );
    overtake(pipeline, &origin, None).await;
    let refusal = PluginRefusal {
        origin,
        digest: None,
        plugin: None,
        reason: why.to_owned(),
        at: pipeline.clock.now(),
        overtaken_at: None,
    };
    note(pipeline, &refusal).await;
}

async fn note(pipeline: &Pipeline, refusal: &PluginRefusal) {
    if let Err(error) = pipeline.store.note_refusal(refusal).await {
        tracing::warn!(%error, "refusal not stored");
    }
}

/// Adds a file to the audit. Its name is not shown: it may be any text.
async fn record(
    pipeline: &Pipeline,
    digest: &Digest,
    outcome: ActOutcome,
    begun: Option<i64>,
    detail: Value,
) -> Result<AuditRow, StoreError> {
    let (by, now) = (AuditActor::service(INBOX), pipeline.clock.now());
    let act = Act {
        outcome,
        begun,
        ..Act::done(
            by,
            now,
            (OperatorAct::ActivatePlugin, digest.short()),
            &detail,
        )
    };
    pipeline.store.add_audit(act).await
}

/// Returns what the row of the audit says about the end: the version, the one before it, and why it was
/// refused.
fn outcome_detail(digest: &Digest, uploaded: &Result<Deployed, DeployError>) -> Value {
    match uploaded {
        Ok(deployed) => {
            let description = &deployed.record.description;
            let activation = deployed.activation.as_ref();
            json!({
                "digest": digest,
                "plugin": description.name,
                "version": description.version,
                "previous": activation.map(|one| &one.before),
            })
        }
        Err(error) => {
            let mut detail = json!({
                "digest": digest,
                "reason": audit_text::reason(&error.to_string()),
            });
            if let DeployError::Refused {
                name,
                version,
                concerns,
                ..
            } = error
            {
                let words = concerns.iter().filter_map(|one| one.accept);
                detail["plugin"] = json!(name);
                detail["version"] = json!(version);
                detail["needsAccept"] = json!(words.collect::<Vec<_>>());
            }
            detail
        }
    }
}

/// Returns why the file is refused, and the command that accepts it, if there is one.
async fn reason(pipeline: &Pipeline, error: &DeployError, origin: &str) -> String {
    let file = Path::new(&pipeline.config.plugins.inbox).join(origin);
    let file = quoted(&file.to_string_lossy());
    let DeployError::Refused {
        name,
        version,
        concerns: refused,
        ..
    } = error
    else {
        return match error {
            DeployError::CanaryOpen { .. } | DeployError::Untrusted { .. } => {
                format!("{error}. After that: `leadhost plugin publish {file}`")
            }
            DeployError::Load(LoadError::EndedProcess { .. }) => {
                format!(
                    "{error}. If something else ended it, `leadhost plugin publish {file}` tries it once more"
                )
            }
            _ => error.to_string(),
        };
    };
    let words: Option<Vec<AcceptWord>> = refused.iter().map(|one| one.accept).collect();
    let Some(mut words) = words else {
        return error.to_string();
    };
    // The command uploads the file, and an upload is another origin than the file.
    match concerns::is_same_version_as_upload(pipeline, name, version).await {
        Ok(true) => words.push(AcceptWord::SameVersion),
        Ok(false) => {}
        Err(error) => tracing::warn!(origin, %error, "active version lookup failed"),
    }
    let accept: String = AcceptWord::in_order(words)
        .iter()
        .map(|word| format!(" --accept {word}"))
        .collect();
    format!("{error}. To activate it anyway: `leadhost plugin publish {file}{accept}`")
}

enum KnownBytes {
    Stored(String),
    Refused(PluginRefusal),
}

/// Returns what is known about the bytes: a restart must not activate a version that was refused or
/// replaced, just because its file is still there.
async fn known(
    pipeline: &Pipeline,
    origin: &str,
    digest: &Digest,
) -> Result<Option<KnownBytes>, StoreError> {
    if let Some(record) = pipeline.store.plugin(digest).await? {
        return Ok(Some(KnownBytes::Stored(record.description.name)));
    }
    let refusals = pipeline.store.refusals().await?;
    let of_bytes = refusals
        .into_iter()
        .filter(|refusal| refusal.digest.as_ref() == Some(digest));
    // That of this file, if it is shown already.
    let refused = of_bytes.max_by_key(|one| (one.origin == origin, one.overtaken_at.is_none()));
    Ok(refused.map(KnownBytes::Refused))
}

/// Logs how a stored version that is not active is activated: its file does not do that again.
async fn already_stored(pipeline: &Pipeline, origin: &str, name: &str, digest: &Digest) {
    let active = match activation(pipeline, name).await {
        Ok(active) => active.map(|active| active.digest),
        Err(error) => return tracing::error!(origin, %error, "inbox file lookup failed"),
    };
    if active.as_ref() == Some(digest) {
        return tracing::debug!(
            origin,
            digest = digest.short(),
            "inbox file is active already"
        );
    }
    // One that was taken out of service is to be looked at first.
    let verb = match is_discarded(pipeline, digest).await {
        Ok(false) => "activate",
        Ok(true) | Err(_) => "impact",
    };
    tracing::info!(
        origin,
        command = %format_args!("leadhost plugin {verb} {name}@{}", digest.short()),
        "inbox file is a stored version that is not active, nothing changed"
    );
}

fn for_good(error: &DeployError) -> bool {
    match error {
        DeployError::Store(_) | DeployError::Fleet(_) | DeployError::Rollout(_) => false,
        DeployError::Load(LoadError::CompileTimeout { .. } | LoadError::TrialTimeout { .. }) => {
            false
        }
        DeployError::Load(error) => !error.is_temporary(),
        _ => true,
    }
}
