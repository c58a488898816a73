//! `leadhost serve --first-apply`: starts a service with a workspace, for demonstrations and
//! black-box tests. If the keys file does not exist, the service activates the plugins of the
//! inbox, applies the workspace file, and writes everything that a client needs to the keys file
//! in plain text. In production use `leadhost apply`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::local_files::write_private;
use crate::cli::client::KEY_FILE;
use crate::cli::prelude::*;
use crate::cli::workspace_file;
use leadhost_domain::connection::{Connection, ConnectionKind};
use leadhost_domain::exchange::{Scheme, SenderCheck};
use leadhost_domain::key::KeyKind;
use leadhost_egress::seal::Secrets;
use leadhost_pipeline::Pipeline;
use leadhost_pipeline::apply::{ApplyError, ApplyOutcome, FileExtent, KeyRequest, apply, mint};
use leadhost_pipeline::deploy;
use leadhost_plugin::CallBudget;

/// Applies the workspace file, unless the keys file exists. If hosts share a database, it does not apply
/// the file either if the workspace exists, or if only another host has the plugins that the file names.
pub async fn run(
    pipeline: &Arc<Pipeline>,
    folder: &Path,
    file: &Path,
    keys: &Path,
    flags: &ServiceFlags,
) -> CommandResult {
    if keys.exists() {
        return Ok(());
    }
    let declared = workspace_file::read(file)?;
    let is_shared = pipeline.core.store.is_shared();
    if is_shared && is_there(pipeline, &declared).await? {
        tracing::info!(
            command = flags.command("key create"),
            "workspace of --first-apply already exists; the keys file is on the host that created it, and the command creates more keys"
        );
        return Ok(());
    }
    let found = take_in_inbox(pipeline).await;
    if is_shared && !found {
        let missing = missing_plugins(&declared, |name| {
            pipeline.core.plugins.active(name).is_some()
        });
        if !missing.is_empty() {
            tracing::warn!(
                file = %file.display(),
                plugins = missing.join(", "),
                "workspace of --first-apply not applied: this host has no components for it; a host with the inbox applies it"
            );
            return Ok(());
        }
    }
    let report = apply(pipeline, &declared, FileExtent::Whole, false)
        .await
        .map_err(|error| refused(file, error))?;
    let mut written = json!({
        "partnerKey": key(pipeline, &report, KeyKind::Partner).await?,
        "workspaceKey": key(pipeline, &report, KeyKind::Workspace).await?,
        "accessToken": key(pipeline, &report, KeyKind::AccessToken).await?,
        "adminKey": admin_key(folder),
        // Every key that the file declares: no command shows their texts later.
        "keys": made_keys(&report),
        "connections": report.connections,
        "instances": report.instances,
        // After `instances`, so that a search for an instance's name finds its number first.
        "webhooks": report.channels,
    });
    let sources = proofs(pipeline, &report, ConnectionKind::Source).await?;
    written["connectionHeaders"] = json!(sources.headers);
    written["connectionSecrets"] = json!(sources.secrets);
    let channels = proofs(pipeline, &report, ConnectionKind::Channel).await?;
    written["instanceHeaders"] = json!(channels.headers);
    written["instanceSecrets"] = json!(channels.secrets);
    // Last: until the file exists, the next start repeats all of this.
    write_private(keys, &format!("{written:#}\n"))
}

async fn is_there(pipeline: &Arc<Pipeline>, declared: &Value) -> CommandResult<bool> {
    let slug = declared["workspace"]["slug"].as_str();
    let workspaces = pipeline.core.store.workspaces().await;
    let workspaces = workspaces.map_err(|error| CommandFailure::new(error.to_string()))?;
    Ok(workspaces
        .iter()
        .any(|workspace| Some(workspace.slug.as_str()) == slug))
}

fn missing_plugins(declared: &Value, is_active: impl Fn(&str) -> bool) -> Vec<&str> {
    let named = [("connections", "plugin"), ("instances", "adapter")]
        .into_iter()
        .flat_map(|(list, key)| {
            let tables = declared[list].as_array().into_iter().flatten();
            tables.filter_map(move |table| table[key].as_str())
        });
    let missing: BTreeSet<&str> = named.filter(|name| !is_active(name)).collect();
    missing.into_iter().collect()
}

/// Activates the components of the inbox, which the connections of the workspace need. Returns whether it
/// has any.
async fn take_in_inbox(pipeline: &Arc<Pipeline>) -> bool {
    let inbox = &pipeline.core.config.plugins.inbox;
    if inbox.is_empty() {
        return false;
    }
    let mut files: Vec<_> = match std::fs::read_dir(inbox) {
        Ok(entries) => entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|kind| kind == "wasm"))
            .collect(),
        // The task of the inbox reports the error.
        Err(_) => return false,
    };
    files.sort();
    for path in &files {
        let origin = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        match tokio::fs::read(path).await {
            Ok(bytes) => deploy::take_in(pipeline, bytes, &origin).await,
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "component file cannot be read")
            }
        }
    }
    !files.is_empty()
}

fn refused(file: &Path, error: ApplyError) -> CommandFailure {
    let failure = match error {
        ApplyError::Problems(problems) => {
            let lines: Vec<String> = problems
                .iter()
                .map(|problem| format!("{}: {}", problem.path, problem.message))
                .collect();
            failed!(
                "{} was not applied:\n  {}",
                file.display(),
                lines.join("\n  ")
            )
        }
        other => failed!("{} was not applied: {other}", file.display()),
    };
    failure.hint(
        "correct the file, or start without --first-apply; plugins come from the inbox (--inbox)",
    )
}

/// Returns the key of this kind that the apply created, or creates another one: the text of an
/// earlier key is not stored.
async fn key(
    pipeline: &Arc<Pipeline>,
    report: &ApplyOutcome,
    kind: KeyKind,
) -> CommandResult<String> {
    let made = report
        .keys
        .iter()
        .find(|made| made.kind == kind)
        .and_then(|made| made.key.clone());
    if let Some(made) = made {
        return Ok(made);
    }
    let needs_partner = kind != KeyKind::Workspace;
    let request = KeyRequest {
        kind,
        workspace: Some(report.workspace_id),
        partner: report
            .partners
            .values()
            .next()
            .copied()
            .filter(|_| needs_partner),
        role: None,
        label: "first apply".to_owned(),
        expires_at: None,
    };
    if needs_partner && request.partner.is_none() {
        return Err(CommandFailure::new(
            "the workspace file names no partner, and keys for the gateway belong to a partner; add [[partners]]",
        ));
    }
    let (_, plain) = mint(&pipeline.core.store, request, pipeline.core.clock.now())
        .await
        .map_err(|error| CommandFailure::new(error.to_string()))?;
    Ok(plain.reveal().to_owned())
}

fn made_keys(report: &ApplyOutcome) -> Vec<Value> {
    let keys = report.keys.iter();
    keys.map(|made| {
        json!({
            "kind": made.kind,
            "label": made.label,
            "partner": made.partner,
            "key": made.key,
        })
    })
    .collect()
}

fn admin_key(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(KEY_FILE)).ok()?;
    Some(text.trim().to_owned())
}

type NamedValues<T> = BTreeMap<String, BTreeMap<String, T>>;

/// Sender proofs and secrets, by the names of connections or of instances.
struct Proofs {
    /// Headers that satisfy a sender check for every request.
    headers: NamedValues<String>,
    secrets: NamedValues<String>,
}

async fn proofs(
    pipeline: &Arc<Pipeline>,
    report: &ApplyOutcome,
    kind: ConnectionKind,
) -> CommandResult<Proofs> {
    let failed = |error: &dyn std::fmt::Display| CommandFailure::new(error.to_string());
    let connections = pipeline
        .core
        .store
        .connections(Some(report.workspace_id))
        .await
        .map_err(|error| failed(&error))?;
    let mut headers = NamedValues::new();
    let mut all_secrets = NamedValues::new();
    for connection in connections.into_iter().filter(|one| one.kind == kind) {
        let secrets = pipeline
            .core
            .sealer
            .open_secrets(connection.workspace, &connection.name, &connection.sealed)
            .map_err(|error| failed(&error))?;
        let fixed: BTreeMap<String, String> = checks(pipeline, &connection)
            .await
            .iter()
            .filter_map(|check| fixed_header(check, &secrets))
            .collect();
        if !fixed.is_empty() {
            headers.insert(connection.name.clone(), fixed);
        }
        let named: BTreeMap<String, String> = secrets
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if !named.is_empty() {
            all_secrets.insert(connection.name, named);
        }
    }
    Ok(Proofs {
        headers,
        secrets: all_secrets,
    })
}

/// Returns the checks that a sender of the connection has to pass: the connection's own, and its plugin's.
pub async fn checks(pipeline: &Arc<Pipeline>, connection: &Connection) -> Vec<SenderCheck> {
    let mut checks = connection.checks.clone();
    if let Some(loaded) = pipeline.core.plugins.active(&connection.plugin) {
        let lane = connection.id.as_str();
        let declared = pipeline
            .core
            .plugins
            .sender_checks(&loaded, lane, &connection.config, CallBudget::Trial)
            .await;
        if let Ok(Ok(declared)) = declared {
            checks.extend(declared.checks);
        }
    }
    checks
}

/// Returns the header that satisfies a check, unless it depends on the request.
pub fn fixed_header(check: &SenderCheck, secrets: &Secrets) -> Option<(String, String)> {
    let secret = secrets.get(&check.secret)?;
    if !check.proof.place.is_header() {
        return None;
    }
    let value = match check.scheme {
        Scheme::Basic => format!("Basic {}", STANDARD.encode(secret)),
        Scheme::Bearer => format!("Bearer {secret}"),
        Scheme::Equals => format!("{}{secret}", check.prefix),
        Scheme::HmacSha256 | Scheme::HmacSha1 => return None,
    };
    Some((check.proof.name.clone(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{Encoding, Place, ValueLocation};

    #[test]
    fn plugins_that_the_file_names_and_that_are_not_active_are_missing() {
        let declared = json!({
            "connections": [{"plugin": "mapping"}, {"plugin": "mapping"}, {"plugin": "there"}, {}],
            "instances": [{"adapter": "sandbox"}, {"name": "bot"}],
        });
        let missing = missing_plugins(&declared, |name| name == "there");
        assert_eq!(missing, ["mapping", "sandbox"]);
        assert!(missing_plugins(&json!({}), |_| false).is_empty());
    }

    #[test]
    fn a_fixed_proof_is_a_header_and_a_signature_is_not() {
        let check = |scheme: Scheme, prefix: &str, expect: Option<&str>| {
            let check = SenderCheck {
                secret: "s".to_owned(),
                scheme,
                proof: ValueLocation {
                    place: Place::Header,
                    name: "X-Proof".to_owned(),
                },
                encoding: Encoding::Hex,
                prefix: prefix.to_owned(),
                timestamp_header: String::new(),
                tolerance_seconds: 0,
                signed: vec![],
            };
            let secrets = [("s".to_owned(), "user:pw".to_owned())]
                .into_iter()
                .collect();
            let header = fixed_header(&check, &secrets);
            assert_eq!(
                header.as_ref().map(|(_, value)| value.as_str()),
                expect,
                "{scheme}"
            );
        };
        check(Scheme::Basic, "", Some("Basic dXNlcjpwdw=="));
        check(Scheme::Bearer, "", Some("Bearer user:pw"));
        check(Scheme::Equals, "token ", Some("token user:pw"));
        check(Scheme::HmacSha256, "", None);
    }
}
