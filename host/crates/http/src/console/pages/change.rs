//! Changes of a connection or an instance: a new value of a secret, another configuration, a pause. A form of
//! the first two has the version of the configuration that it shows, so that two operators do not overwrite
//! each other.

use serde::Deserialize as _;

use crate::console::pages::prelude::*;
use leadhost_admin_api::apply::{FileProblem, GENERATED, RefusedFile};
use leadhost_admin_api::connections::{
    BY_AN_OPERATOR, Bound, ChangeRequest, Changed, PauseRequest,
};
use leadhost_admin_api::instances::InstanceView;
use leadhost_admin_api::plugins::PluginList;
use leadhost_admin_api::replays::{ReplayManyRequest, ReplayedMany};
use leadhost_domain::plugin::SecretDeclaration;

/// The list that a connection or an instance belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Connection,
    Instance,
}

impl Kind {
    /// The part of an address, and the name of the list in a workspace file.
    pub fn list(self) -> &'static str {
        match self {
            Self::Connection => "connections",
            Self::Instance => "instances",
        }
    }

    fn filter(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Instance => "instance",
        }
    }
}

/// The contents of the forms of a page.
pub struct ChangeForms {
    /// The address of the page, below `/console`.
    pub page: String,
    pub version: i64,
    /// The configuration, as it is or as it was typed.
    pub config: String,
    /// The secrets that the plugin declares, but for families of names.
    pub declared: Vec<SecretDeclaration>,
    /// The other secrets that it has, or that a sender check names.
    pub others: Vec<String>,
    /// The name of the secret that was typed, or that the address of the page names.
    pub secret: String,
    /// Whether a pause may end with the change.
    pub is_paused: bool,
    /// Why a form was refused.
    pub problems: Vec<String>,
}

impl ChangeForms {
    /// Returns the forms as they are first shown: of a connection or an instance with this plugin and these
    /// settings, and whether it is paused. The address of the page may name a secret.
    pub async fn new(
        visit: &Visit<'_>,
        page: String,
        (plugin, bound, is_paused): (&str, &Bound, bool),
    ) -> PageResult<Self> {
        let plugins: PluginList = visit.api().get("/plugins").await?;
        let mut plugins = plugins.plugins.into_iter();
        let plugin = plugins.find(|one| one.name == plugin);
        let active = plugin.and_then(|plugin| {
            let mut versions = plugin.versions.into_iter();
            versions.find(|version| Some(&version.digest) == plugin.digest.as_ref())
        });
        let declared = active.map(|version| version.secrets).unwrap_or_default();
        let declared: Vec<_> = declared
            .into_iter()
            .filter(|secret| !secret.name.ends_with("/*"))
            .collect();
        let checks = bound.checks.iter().map(|check| &check.secret);
        let mut others: Vec<String> = bound.secrets.iter().chain(checks).cloned().collect();
        others.retain(|name| declared.iter().all(|one| one.name != *name));
        others.sort_unstable();
        others.dedup();
        Ok(Self {
            page,
            version: bound.config_version,
            config: bound.config_text(),
            declared,
            others,
            secret: Filters::read(visit, &["secret"]).get("secret").to_owned(),
            is_paused,
            problems: Vec::new(),
        })
    }

    pub fn refused(&mut self, form: &Form, refusal: ApiRefusal) {
        self.typed(form);
        self.problems = match RefusedFile::deserialize(&refusal.body) {
            Ok(refused) => refused.problems.into_iter().map(line).collect(),
            Err(_) => vec![refusal.message],
        };
    }

    /// Shows what was typed, but for the value of a secret.
    pub fn typed(&mut self, form: &Form) {
        if let Some(config) = form.filled("config") {
            self.config = config;
        }
        form.get("secret").clone_into(&mut self.secret);
        // The version that the operator saw: what changed since is not overwritten by a second try.
        if let Ok(version) = form.get("version").parse() {
            self.version = version;
        }
    }
}

pub fn line(problem: FileProblem) -> String {
    match problem.path {
        Some(path) => format!("{path}: {}", problem.message),
        None => problem.message,
    }
}

#[derive(Template)]
#[template(path = "console/changed.html")]
pub struct ChangedPage {
    frame: Frame,
    /// The address of the connection or instance, below `/console`.
    back: String,
    which: String,
    /// The filter of deliveries that names it.
    filter: &'static str,
    changed: Changed,
    /// The lines for the workspace file.
    declaration: String,
    what: ChangedPart,
    /// The work that waits, if it is still paused.
    waits: Option<&'static str>,
    /// Deliveries of it that wait in quarantine for another secret.
    quarantined: Option<QuarantinedDeliveries>,
}

/// The changes of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedPart {
    Secret,
    /// A secret, and a pause has ended with it.
    SecretOfResumed,
    Config,
    Entry(AppliedEntry),
}

/// How the entry of a connection is another one now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliedEntry {
    Changed,
    Retired,
    BroughtBack,
}

/// The deliveries in quarantine that a release would look at.
struct QuarantinedDeliveries {
    count: u64,
    /// The end of the time in which they were counted, so that a release takes the same ones.
    until: String,
}

pub async fn secret(
    visit: &Visit<'_>,
    kind: Kind,
    which: &str,
    form: &Form,
) -> PageResult<FormOutcome> {
    let name = form.get("secret").to_owned();
    if name.is_empty() {
        let message = "Its name is missing: choose or write the name of the secret.";
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, message));
    }
    let is_made = form.has("generate");
    let mut request = ChangeRequest {
        version: version(form)?,
        ..ChangeRequest::default()
    };
    if is_made {
        request.generate = BTreeMap::from([(name.clone(), String::new())]);
    } else {
        request.secrets = BTreeMap::from([(name.clone(), form.get("value").to_owned())]);
    }
    let changed = send(visit, kind, which, &request).await?;
    let is_resumed = form.has("resume") && resumed(visit, which, kind).await;
    let value = if is_made {
        GENERATED.to_owned()
    } else {
        format!("env:{}", variable(&name))
    };
    let entry = json!({"name": changed.name, "secrets": { name: value }});
    let declaration = lines(kind, &entry);
    let what = if is_resumed {
        ChangedPart::SecretOfResumed
    } else {
        ChangedPart::Secret
    };
    shown(visit, kind, which, changed, declaration, what).await
}

pub async fn pause(
    visit: &Visit<'_>,
    which: &str,
    form: &Form,
    kind: Kind,
) -> PageResult<FormOutcome> {
    let reason = form
        .filled("reason")
        .unwrap_or_else(|| BY_AN_OPERATOR.to_owned());
    let list = format!("/{}", kind.list());
    let path = format!("{list}/{}/pause", encoded(which));
    let _: Value = visit.api().post(&path, &PauseRequest { reason }).await?;
    let notice = match kind {
        Kind::Connection => "The connection is paused: its fetches wait. Leads are still accepted.",
        Kind::Instance => "The instance is paused: its messages wait.",
    };
    Ok(FormOutcome::done(list, notice))
}

pub async fn resume(visit: &Visit<'_>, which: &str, kind: Kind) -> PageResult<FormOutcome> {
    let list = format!("/{}", kind.list());
    let path = format!("{list}/{}/resume", encoded(which));
    let _: Value = visit.api().post(&path, &json!({})).await?;
    let notice = format!("The {} is resumed.", kind.filter());
    Ok(FormOutcome::done(list, notice))
}

/// Ends the pause after a change. Returns false if that fails: the next page says that it is still paused.
async fn resumed(visit: &Visit<'_>, which: &str, kind: Kind) -> bool {
    let resumed = resume(visit, which, kind).await;
    if let Err(refusal) = &resumed {
        tracing::debug!(reason = refusal.message, "pause not ended after a change");
    }
    resumed.is_ok()
}

pub async fn config(
    visit: &Visit<'_>,
    kind: Kind,
    which: &str,
    form: &Form,
) -> PageResult<FormOutcome> {
    let config = typed_config(form)?;
    let request = ChangeRequest {
        version: version(form)?,
        config: Some(config.clone()),
        ..ChangeRequest::default()
    };
    let changed = send(visit, kind, which, &request).await?;
    let entry = json!({"name": changed.name, "config": config});
    let declaration = lines(kind, &entry);
    let what = ChangedPart::Config;
    shown(visit, kind, which, changed, declaration, what).await
}

pub async fn shown_entry(
    visit: &Visit<'_>,
    which: &str,
    changed: Changed,
    declaration: String,
    what: AppliedEntry,
) -> PageResult<FormOutcome> {
    let what = ChangedPart::Entry(what);
    shown(visit, Kind::Connection, which, changed, declaration, what).await
}

fn lines(kind: Kind, entry: &Value) -> String {
    toml::to_string(&json!({ kind.list(): [entry] })).unwrap_or_default()
}

/// Returns the deliveries in quarantine of a connection or an instance. `None` if there is none, or if they
/// cannot be counted now.
async fn quarantined(visit: &Visit<'_>, kind: Kind, which: &str) -> Option<QuarantinedDeliveries> {
    let request = ReplayManyRequest {
        apply: false,
        release: true,
        after: None,
    };
    let path = format!(
        "/deliveries/replay?status=quarantined&{}={}",
        kind.filter(),
        encoded(which)
    );
    let found: ReplayedMany = visit.api().post(&path, &request).await.ok()?;
    (found.left > 0).then(|| QuarantinedDeliveries {
        count: found.left,
        until: found.until.text(),
    })
}

pub fn typed_config(form: &Form) -> PageResult<Value> {
    let found: Result<serde_json::Map<String, Value>, _> =
        serde_json::from_str(form.text("config"));
    found.map(Value::Object).map_err(|error| {
        let message = format!("Configuration: this is not a JSON object ({error}).");
        ApiRefusal::new(StatusCode::BAD_REQUEST, message)
    })
}

fn version(form: &Form) -> PageResult<Option<i64>> {
    form.get("version").parse().map(Some).map_err(|_| {
        ApiRefusal::new(
            StatusCode::BAD_REQUEST,
            "The form does not say which version of the configuration it shows. Load the page again.",
        )
    })
}

async fn send(
    visit: &Visit<'_>,
    kind: Kind,
    which: &str,
    request: &ChangeRequest,
) -> PageResult<Changed> {
    let path = format!("/{}/{}", kind.list(), encoded(which));
    visit.api().patch(&path, request).await
}

async fn is_paused(visit: &Visit<'_>, kind: Kind, which: &str) -> PageResult<bool> {
    match kind {
        Kind::Connection => {
            let list: Connections = visit.api().get("/connections").await?;
            let mut all = list.connections.iter();
            let found = all.find(|one| one.id.to_string() == which);
            Ok(found.is_some_and(|one| one.paused.is_some()))
        }
        Kind::Instance => {
            let path = format!("/instances/{}", encoded(which));
            let instance: InstanceView = visit.api().get(&path).await?;
            Ok(instance.paused.is_some())
        }
    }
}

async fn shown(
    visit: &Visit<'_>,
    kind: Kind,
    which: &str,
    changed: Changed,
    declaration: String,
    what: ChangedPart,
) -> PageResult<FormOutcome> {
    let is = match what {
        _ if changed.fields.is_empty() => "is as it was",
        ChangedPart::Entry(AppliedEntry::Retired) => "is retired",
        ChangedPart::Entry(AppliedEntry::BroughtBack) => "is in use again",
        ChangedPart::Secret
        | ChangedPart::SecretOfResumed
        | ChangedPart::Config
        | ChangedPart::Entry(AppliedEntry::Changed) => "is changed",
    };
    let title = format!("{}/{} {is}", changed.workspace, changed.name);
    let quarantined = match what {
        ChangedPart::Secret | ChangedPart::SecretOfResumed => quarantined(visit, kind, which).await,
        ChangedPart::Config | ChangedPart::Entry(_) => None,
    };
    // The change is made, so the page shows it even if the state of the pause cannot be read now.
    let is_paused = is_paused(visit, kind, which).await.unwrap_or_default();
    let shown = ChangedPage {
        waits: is_paused.then_some(match kind {
            Kind::Connection => "fetches",
            Kind::Instance => "messages",
        }),
        frame: visit.frame(kind.list(), title),
        back: format!("/{}/{}", kind.list(), encoded(which)),
        which: which.to_owned(),
        filter: kind.filter(),
        declaration,
        changed,
        what,
        quarantined,
    };
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}

pub fn variable(secret: &str) -> String {
    let plain = |one: char| {
        if one.is_ascii_alphanumeric() {
            one.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    secret.chars().map(plain).collect()
}
