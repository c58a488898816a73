//! How a plugin comes to serve: compiled aside, checked, tried, stored, then
//! swapped in whole. What does not pass changes nothing and says why.
//!
//! Which version serves is written in the store and nowhere else, so a restart
//! or a rollback is not undone by what lies in the inbox. The inbox is for
//! bytes never seen before: modification times, removals and restarts mean nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::redrive;
use crate::app::App;
use crate::domain::exchange::SenderChecks;
use crate::domain::plugin::{Description, Digest};
use crate::plugin::inbox::Inbox;
use crate::plugin::{Budget, CallError, LoadError, Loaded, Prepared};
use crate::shutdown::Shutdown;
use crate::store::{Activation, PluginRecord, Refusal, StoreError};

/// What an operator accepts that otherwise stops an activation.
#[derive(Clone, Debug, Default)]
pub struct Accept(BTreeSet<String>);

impl Accept {
    /// The words that may be accepted; `all` accepts each of them.
    pub const WORDS: [&str; 6] = [
        "weaker-checks",
        "new-hosts",
        "new-secrets",
        "older",
        "same-version",
        "all",
    ];

    /// None names the first word that means nothing.
    pub fn of<I: IntoIterator<Item = S>, S: AsRef<str>>(words: I) -> Result<Self, String> {
        words
            .into_iter()
            .map(|word| {
                let word = word.as_ref().trim().to_owned();
                if Self::WORDS.contains(&word.as_str()) {
                    Ok(word)
                } else {
                    Err(word)
                }
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(word) || self.0.contains("all")
    }
}

/// What an activation would bring that nobody agreed to yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Concern {
    /// The word that accepts it; empty: nothing does.
    pub accept: String,
    pub what: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{name} {version} is not activated: {}", describe(.concerns))]
    Refused {
        name: String,
        version: String,
        concerns: Vec<Concern>,
    },
    #[error(
        "there is no plugin with digest {0}; `leadhost plugin list` shows those that there are"
    )]
    UnknownDigest(Digest),
    #[error("plugin `{name}` has no version {digest}: that digest is of `{found}`")]
    AnotherName {
        name: String,
        digest: Digest,
        found: String,
    },
    #[error("no version of `{0}` served before the one that serves now")]
    NothingBefore(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn describe(concerns: &[Concern]) -> String {
    let line = |concern: &Concern| match concern.accept.as_str() {
        "" => concern.what.clone(),
        word => format!("{} (accept with --accept {word})", concern.what),
    };
    concerns.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// A component that was looked at and not kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    pub digest: Digest,
    pub description: Description,
    pub contract: String,
    pub golden: u32,
    /// What an activation would ask about.
    pub concerns: Vec<Concern>,
}

/// A component that is stored, and serves if it was activated.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployed {
    pub record: PluginRecord,
    pub activation: Option<Activation>,
}

/// Looks at a component and changes nothing.
pub async fn check(app: &Arc<App>, wasm: Vec<u8>) -> Result<CheckReport, DeployError> {
    let prepared = app.plugins.prepare(wasm).await?;
    let concerns = concerns(app, &prepared, None).await?;
    let loaded = &prepared.loaded;
    Ok(CheckReport {
        digest: loaded.digest.clone(),
        description: loaded.description.clone(),
        contract: loaded.contract.clone(),
        golden: prepared.golden,
        concerns,
    })
}

/// Keeps a component, and activates it when asked to and nothing stands against it.
pub async fn upload(
    app: &Arc<App>,
    wasm: Vec<u8>,
    origin: &str,
    activate: bool,
    accept: &Accept,
) -> Result<Deployed, DeployError> {
    let prepared = app.plugins.prepare(wasm.clone()).await?;
    let _alone = app.pipeline.deploying.lock().await;
    if activate {
        agreed(
            &prepared.loaded,
            concerns(app, &prepared, Some(origin)).await?,
            accept,
        )?;
    }
    let record = keep(app, &prepared, wasm, origin).await?;
    let activation = if activate {
        Some(swap(app, &prepared.loaded).await?)
    } else {
        None
    };
    Ok(Deployed { record, activation })
}

/// Makes a stored version serve.
pub async fn activate(
    app: &Arc<App>,
    name: &str,
    digest: &Digest,
    accept: &Accept,
) -> Result<Activation, DeployError> {
    let loaded = loaded(app, digest)
        .await?
        .ok_or_else(|| DeployError::UnknownDigest(digest.clone()))?;
    if loaded.description.name != name {
        let found = loaded.description.name.clone();
        return Err(DeployError::AnotherName {
            name: name.to_owned(),
            digest: digest.clone(),
            found,
        });
    }
    let record = app
        .store
        .plugin(digest)
        .await?
        .ok_or_else(|| DeployError::UnknownDigest(digest.clone()))?;
    let _alone = app.pipeline.deploying.lock().await;
    let prepared = Prepared {
        loaded: Arc::clone(&loaded),
        golden: record.golden,
        checks: record.checks,
    };
    agreed(&loaded, concerns(app, &prepared, None).await?, accept)?;
    swap(app, &loaded).await
}

/// Makes the version serve that served before. It was agreed to once: nothing is asked.
pub async fn rollback(app: &Arc<App>, name: &str) -> Result<Activation, DeployError> {
    let _alone = app.pipeline.deploying.lock().await;
    let activations = app.store.activations().await?;
    let previous = activations
        .into_iter()
        .find(|activation| activation.name == name)
        .and_then(|activation| activation.previous)
        .ok_or_else(|| DeployError::NothingBefore(name.to_owned()))?;
    let loaded = loaded(app, &previous)
        .await?
        .ok_or(DeployError::UnknownDigest(previous))?;
    swap(app, &loaded).await
}

/// A stored version, loaded if it is not yet.
pub async fn loaded(app: &App, digest: &Digest) -> Result<Option<Arc<Loaded>>, DeployError> {
    if let Some(loaded) = app.plugins.by_digest(digest) {
        return Ok(Some(loaded));
    }
    let Some(wasm) = app.store.plugin_wasm(digest).await? else {
        return Ok(None);
    };
    let prepared = app.plugins.prepare(wasm).await?;
    app.plugins.install(&prepared.loaded);
    Ok(Some(prepared.loaded))
}

/// Loads what serves by the store's word: before the host says that it is
/// ready. A version that does not load any more leaves its deliveries waiting.
pub async fn load_active(app: &Arc<App>) -> Result<(), DeployError> {
    for activation in app.store.activations().await? {
        match loaded(app, &activation.digest).await {
            Ok(Some(loaded)) => {
                serve(app, &activation.name, &loaded)?;
                tracing::info!(plugin = %activation.name, version = %loaded.description.version, digest = loaded.digest.short(), "serves");
            }
            Ok(None) => {
                tracing::error!(plugin = %activation.name, digest = %activation.digest, "the active version is not in the store")
            }
            Err(DeployError::Store(error)) => return Err(error.into()),
            Err(error) => {
                tracing::error!(plugin = %activation.name, digest = activation.digest.short(), %error, "the active version does not load; its deliveries wait")
            }
        }
    }
    Ok(())
}

async fn keep(
    app: &App,
    prepared: &Prepared,
    wasm: Vec<u8>,
    origin: &str,
) -> Result<PluginRecord, DeployError> {
    let loaded = &prepared.loaded;
    let record = PluginRecord {
        digest: loaded.digest.clone(),
        description: loaded.description.clone(),
        contract: loaded.contract.clone(),
        bytes: u64::try_from(wasm.len()).unwrap_or(u64::MAX),
        checks: prepared.checks.clone(),
        golden: prepared.golden,
        origin: origin.to_owned(),
        stored_at: app.clock.now(),
    };
    app.store.put_plugin(&record, &wasm).await?;
    app.plugins.install(loaded);
    Ok(record)
}

/// From now on calls by this name begin on this version.
fn serve(app: &App, name: &str, loaded: &Loaded) -> Result<(), DeployError> {
    app.plugins
        .activate(name, &loaded.digest)
        .map(|_before| ())
        .map_err(|missing| DeployError::UnknownDigest(missing.0))
}

/// The swap itself: the store's word first, then every call that begins after.
async fn swap(app: &Arc<App>, loaded: &Arc<Loaded>) -> Result<Activation, DeployError> {
    let name = loaded.description.name.clone();
    app.plugins.install(loaded);
    let before = app
        .store
        .activations()
        .await?
        .into_iter()
        .find(|activation| activation.name == name);
    let activation = app
        .store
        .activate(&name, &loaded.digest, app.clock.now())
        .await?;
    serve(app, &name, loaded)?;
    tracing::info!(
        plugin = %name,
        version = %loaded.description.version,
        digest = loaded.digest.short(),
        generation = activation.generation,
        "serves"
    );
    // The version before stays ready for a rollback; what served before that
    // is loaded again from the store if a fetch still names it.
    if let Some(older) = before.and_then(|before| before.previous)
        && older != loaded.digest
        && Some(&older) != activation.previous.as_ref()
    {
        app.plugins.retire(&older);
    }
    app.pipeline.wake();
    let (task_app, digest) = (Arc::clone(app), loaded.digest.clone());
    super::spawn(
        app,
        async move { redrive::run(&task_app, &name, &digest).await },
    );
    Ok(activation)
}

fn agreed(loaded: &Loaded, concerns: Vec<Concern>, accept: &Accept) -> Result<(), DeployError> {
    let concerns: Vec<_> = concerns
        .into_iter()
        .filter(|concern| concern.accept.is_empty() || !accept.has(&concern.accept))
        .collect();
    if concerns.is_empty() {
        return Ok(());
    }
    let (name, version) = (
        loaded.description.name.clone(),
        loaded.description.version.clone(),
    );
    Err(DeployError::Refused {
        name,
        version,
        concerns,
    })
}

/// What stands against making this version serve. `origin` is the file or
/// upload that it came with, when it came just now.
async fn concerns(
    app: &App,
    prepared: &Prepared,
    origin: Option<&str>,
) -> Result<Vec<Concern>, DeployError> {
    let new = &prepared.loaded;
    let mut concerns = configurations(app, new).await?;
    let name = &new.description.name;
    let Some(active) = app
        .store
        .activations()
        .await?
        .into_iter()
        .find(|activation| &activation.name == name)
    else {
        return Ok(concerns);
    };
    let Some(old) = app.store.plugin(&active.digest).await? else {
        return Ok(concerns);
    };
    if old.digest == new.digest {
        return Ok(concerns);
    }
    let mut ask = |accept: &str, what: String| {
        concerns.push(Concern {
            accept: accept.to_owned(),
            what,
        })
    };

    match compare_versions(&new.description.version, &old.description.version) {
        std::cmp::Ordering::Less => {
            ask(
                "older",
                format!(
                    "version {} is older than {}, which serves",
                    new.description.version, old.description.version
                ),
            );
        }
        // The same file edited again is its author at work; any other is a mix-up.
        std::cmp::Ordering::Equal if origin.is_some_and(|origin| origin != old.origin) => {
            ask(
                "same-version",
                format!(
                    "version {} has other content than the one from {}, which serves",
                    new.description.version, old.origin
                ),
            );
        }
        _ => {}
    }
    let added = |new: Vec<&str>, old: Vec<&str>| {
        new.iter()
            .filter(|name| !old.contains(name))
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let hosts = added(
        new.description.hosts.iter().map(String::as_str).collect(),
        old.description.hosts.iter().map(String::as_str).collect(),
    );
    if !hosts.is_empty() {
        ask("new-hosts", format!("it asks to call {hosts}"));
    }
    let secrets = added(
        new.description
            .secrets
            .iter()
            .map(|secret| secret.name.as_str())
            .collect(),
        old.description
            .secrets
            .iter()
            .map(|secret| secret.name.as_str())
            .collect(),
    );
    if !secrets.is_empty() {
        ask("new-secrets", format!("it asks for the secrets {secrets}"));
    }
    for weaker in weaker_checks(&prepared.checks, &old.checks) {
        ask("weaker-checks", weaker);
    }
    for weaker in weaker_for_connections(app, new, &active.digest).await? {
        ask("weaker-checks", weaker);
    }
    Ok(concerns)
}

/// Connections whose configuration the new version would refuse.
async fn configurations(app: &App, new: &Loaded) -> Result<Vec<Concern>, DeployError> {
    let mut concerns = Vec::new();
    for connection in app
        .store
        .connections(None)
        .await?
        .iter()
        .filter(|connection| connection.plugin == new.description.name)
    {
        let config = serde_json::from_str(&connection.config).unwrap_or_default();
        if let Err(problems) = new.validate_config(&config) {
            let what = format!(
                "the configuration of connection `{}` does not fit it: {}",
                connection.name,
                problems.join(", ")
            );
            concerns.push(Concern {
                accept: String::new(),
                what,
            });
        }
    }
    Ok(concerns)
}

/// Connections whose senders would have to prove less than now.
async fn weaker_for_connections(
    app: &App,
    new: &Arc<Loaded>,
    active: &Digest,
) -> Result<Vec<String>, DeployError> {
    let Some(old) = app.plugins.by_digest(active) else {
        return Ok(vec![]);
    };
    let mut weaker = BTreeSet::new();
    for connection in app
        .store
        .connections(None)
        .await?
        .iter()
        .filter(|connection| connection.plugin == new.description.name)
    {
        let lane = connection.id.as_str();
        let (before, after) = (
            app.plugins
                .sender_checks(&old, lane, &connection.config, Budget::Worker)
                .await,
            app.plugins
                .sender_checks(new, lane, &connection.config, Budget::Worker)
                .await,
        );
        match (before, after) {
            (Ok(Ok(before)), Ok(Ok(after))) => {
                weaker.extend(
                    weaker_checks(&after, &before)
                        .into_iter()
                        .map(|what| format!("{what} (connection `{}`)", connection.name)),
                );
            }
            (_, Ok(Err(problem))) => {
                weaker.insert(format!(
                    "it cannot say how senders of connection `{}` prove themselves: {}",
                    connection.name, problem.message
                ));
            }
            (_, Err(error @ (CallError::Busy | CallError::ShuttingDown))) => {
                return Err(DeployError::Load(LoadError::Host(error.to_string())));
            }
            (_, Err(error)) => {
                weaker.insert(format!(
                    "it fails when asked how senders of connection `{}` prove themselves: {error}",
                    connection.name
                ));
            }
            (Err(_) | Ok(Err(_)), Ok(Ok(_))) => {}
        }
    }
    Ok(weaker.into_iter().collect())
}

/// Checks of the old that the new lacks or loosens.
fn weaker_checks(new: &SenderChecks, old: &SenderChecks) -> Vec<String> {
    let mut weaker = Vec::new();
    for before in &old.checks {
        let same_secret = new
            .checks
            .iter()
            .find(|after| after.secret == before.secret);
        let what = match same_secret {
            None => format!("senders no longer prove that they know `{}`", before.secret),
            Some(after) if after == before => continue,
            Some(after) => {
                let longer = before.tolerance_seconds > 0
                    && (after.tolerance_seconds == 0
                        || after.tolerance_seconds > before.tolerance_seconds);
                let mut alike = after.clone();
                alike.tolerance_seconds = before.tolerance_seconds;
                if alike == *before && !longer {
                    continue;
                }
                format!("the check of `{}` is another one", before.secret)
            }
        };
        weaker.push(what);
    }
    for carried in &old.carried_secrets {
        if !new.carried_secrets.contains(carried) {
            weaker.push(format!(
                "the secret in {} `{}` is no longer masked",
                carried.place, carried.name
            ));
        }
    }
    weaker
}

/// By semantic versioning: numbers first, then a pre-release is below its release.
fn compare_versions(left: &str, right: &str) -> std::cmp::Ordering {
    match (semver::Version::parse(left), semver::Version::parse(right)) {
        (Ok(left), Ok(right)) => left.cmp_precedence(&right),
        _ => left.cmp(right),
    }
}

/// Takes in what appears in the inbox.
pub async fn watch_inbox(app: Arc<App>, shutdown: Shutdown) {
    let folder = std::path::PathBuf::from(&app.config.plugins.inbox);
    let mut inbox = match Inbox::watch(&folder) {
        Ok(inbox) => inbox,
        Err(error) => {
            return tracing::error!(folder = %folder.display(), %error, "the inbox cannot be watched");
        }
    };
    loop {
        let file = tokio::select! {
            file = inbox.next() => file,
            () = shutdown.begun() => return,
        };
        let origin = file.path.file_name().map_or_else(
            || file.path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        take_in(&app, file.bytes, &origin).await;
    }
}

/// Takes one file in: new bytes are stored and activated once, or refused once.
pub async fn take_in(app: &Arc<App>, wasm: Vec<u8>, origin: &str) {
    let digest = Digest::of(&wasm);
    match is_known(app, &digest).await {
        Ok(true) => {
            return tracing::debug!(origin, digest = digest.short(), "the inbox's file is known");
        }
        Ok(false) => {}
        Err(error) => {
            return tracing::error!(origin, %error, "the inbox's file cannot be looked up");
        }
    }
    match upload(app, wasm, origin, true, &Accept::default()).await {
        Ok(deployed) => {
            tracing::info!(origin, plugin = %deployed.record.description.name, digest = digest.short(), "taken in from the inbox")
        }
        Err(error) => {
            tracing::error!(origin, digest = digest.short(), %error, "the inbox's file is refused; nothing changed");
            app.metrics.plugin_refused();
            let refusal = Refusal {
                origin: origin.to_owned(),
                digest: for_good(&error).then_some(digest),
                reason: error.to_string(),
                at: app.clock.now(),
            };
            if let Err(error) = app.store.note_refusal(&refusal).await {
                tracing::warn!(%error, "the refusal cannot be noted");
            }
        }
    }
}

/// Stored, or refused for good: a restart must not make a version serve that
/// was once refused, only because another one serves by now.
async fn is_known(app: &App, digest: &Digest) -> Result<bool, StoreError> {
    if app.store.plugin(digest).await?.is_some() {
        return Ok(true);
    }
    let refusals = app.store.refusals().await?;
    Ok(refusals
        .iter()
        .any(|refusal| refusal.digest.as_ref() == Some(digest)))
}

/// Whether the file is at fault, and not the host at that moment.
fn for_good(error: &DeployError) -> bool {
    !matches!(
        error,
        DeployError::Store(_)
            | DeployError::Load(
                LoadError::Host(_) | LoadError::Compiler(_) | LoadError::CompileTimeout { .. }
            )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::exchange::{Location, SenderCheck};

    fn check(secret: &str, tolerance_seconds: u32) -> SenderCheck {
        SenderCheck {
            secret: secret.into(),
            scheme: "hmac-sha256".into(),
            proof: Location {
                place: "header".into(),
                name: "x".into(),
            },
            encoding: "hex".into(),
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds,
            signed: vec![],
        }
    }

    #[test]
    fn a_check_that_is_gone_or_looser_is_weaker_and_a_stricter_one_is_not() {
        let checks = |checks: &[SenderCheck]| SenderChecks {
            checks: checks.to_vec(),
            carried_secrets: vec![],
        };
        let weaker = |new: &[SenderCheck], old: &[SenderCheck]| {
            weaker_checks(&checks(new), &checks(old)).len()
        };
        assert_eq!(weaker(&[], &[check("s", 0)]), 1);
        assert_eq!(weaker(&[check("s", 600)], &[check("s", 300)]), 1);
        assert_eq!(weaker(&[check("s", 0)], &[check("s", 300)]), 1);
        assert_eq!(weaker(&[check("s", 300)], &[check("s", 600)]), 0);
        assert_eq!(weaker(&[check("s", 0), check("t", 0)], &[check("s", 0)]), 0);
    }

    #[test]
    fn versions_compare_as_semantic_ones() {
        assert!(compare_versions("1.10.0", "1.9.0").is_gt());
        assert!(compare_versions("1.0.0-rc.1", "1.0.0").is_lt());
        assert!(compare_versions("1.0.0+b", "1.0.0").is_eq());
    }
}
