//! Changes the configuration or the secrets of one existing connection or channel. Everything that the change
//! does not name stays: other secrets, the allow-list, sender checks, settings, a pause. The result is
//! checked and stored like a workspace file.

use super::binding::{AvailablePlugin, Binding, DeclaredSecret, declares};
use super::connection::DeclaredConnection;
use super::declaration::Declaration;
use super::plan::{self, carry_out, new_secret};
use super::reader::Unchecked;
use super::{
    configurations::{active_plugins, check_configurations, try_configurations},
    outcome::ApplyError,
};
use crate::prelude::*;
use leadhost_domain::text;
use leadhost_domain::workspace::Workspace;
use leadhost_egress::seal::Secrets;

/// The requested changes. They are not shown in logs: they have secrets.
pub struct ConnectionChange {
    /// The version of the configuration that the author saw, if the change is based on one.
    pub based_on: Option<i64>,
    pub config: Option<Value>,
    pub secrets: BTreeMap<String, String>,
    /// Secrets that the host makes, by name, each with the beginning of its text.
    pub generate: BTreeMap<String, String>,
}

#[derive(Debug)]
pub struct ChangeOutcome {
    pub version: i64,
    /// The keys of the workspace file whose values differ from before.
    pub fields: Vec<&'static str>,
    /// The names of the secrets that have another value than before.
    pub secrets: Vec<String>,
    pub generated: BTreeMap<String, String>,
    pub warnings: Vec<InputProblem>,
}

/// The place in front of the paths of problems, which is left out of them.
const HERE: &str = "this";

#[leadhost_boxed::boxed]
pub async fn change(
    pipeline: &Pipeline,
    workspace: &Workspace,
    known: &Connection,
    change: ConnectionChange,
) -> Result<ChangeOutcome, ApplyError> {
    let based_on = change.based_on.unwrap_or(known.config_version);
    if based_on != known.config_version {
        return Err(StoreError::Outdated.into());
    }
    let sealer = &pipeline.sealer;
    let had = sealer
        .open_secrets(known.workspace, &known.name, &known.sealed)
        .map_err(|source| ApplyError::Sealed {
            connection: known.name.clone(),
            source,
        })?;
    let plugin = plugin_of(pipeline, known)?;
    let config = match &change.config {
        Some(config) => checked(pipeline, &plugin, config).await?,
        None => parsed(&known.config).unwrap_or_default(),
    };
    let ChangedSecrets {
        all: secrets,
        generated,
    } = secrets(&had, &change)?;
    let has_other_config = parsed(&known.config).as_ref() != Some(&config);
    let mut declaration =
        declaration(pipeline, workspace, known, &plugin, &config, secrets).await?;
    let named = change.secrets.keys().chain(change.generate.keys());
    let connection = &mut declaration.connections[0];
    connection.binding.undeclared = named
        .filter(|name| !declares(&plugin.description, name) && !is_checked(known, name))
        .cloned()
        .collect();
    if has_other_config && known.kind == ConnectionKind::Channel {
        forget_routes(pipeline, known, &mut connection.binding).await;
    }
    let before = [known.clone()];
    let warnings = try_configurations(pipeline, &mut declaration, &before)
        .await
        .map_err(here)?;
    let now = pipeline.clock.now();
    let mut planned = plan::plan(declaration, workspace.id, &before, sealer, now)?;
    planned.plan.is_part = true;
    let connection = &mut planned.plan.connections[0];
    connection.based_on = Some(based_on);
    let mut fields = Vec::new();
    if has_other_config {
        fields.push("config");
    }
    let now = sealer
        .open_secrets(workspace.id, &connection.name, &connection.sealed)
        .map_err(|source| ApplyError::Sealed {
            connection: known.name.clone(),
            source,
        })?;
    let differs =
        |(name, value): (&str, &str)| (had.get(name) != Some(value)).then(|| name.to_owned());
    let secrets: Vec<String> = now.iter().filter_map(differs).collect();
    if !secrets.is_empty() {
        fields.push("secrets");
    }
    if connection.routes != known.routes {
        fields.push("routes");
    }
    let applied = carry_out(pipeline, &planned.plan, false).await?;
    Ok(ChangeOutcome {
        version: based_on + i64::from(!applied.changes.is_empty()),
        fields,
        secrets,
        generated,
        warnings: warnings.into_iter().map(without_place).collect(),
    })
}

fn plugin_of(pipeline: &Pipeline, known: &Connection) -> Result<AvailablePlugin, ApplyError> {
    let kind = match known.kind {
        ConnectionKind::Source => PluginKind::Converter,
        ConnectionKind::Channel => PluginKind::Adapter,
    };
    let active = active_plugins(pipeline).remove(&known.plugin);
    active.filter(|plugin| plugin.kind == kind).ok_or_else(|| {
        let message = format!(
            "no version of `{}` is active, so nothing can be checked",
            known.plugin
        );
        problem("", message)
    })
}

async fn checked(
    pipeline: &Pipeline,
    plugin: &AvailablePlugin,
    config: &Value,
) -> Result<Value, ApplyError> {
    let Value::Object(entries) = config else {
        return Err(problem("config", "is not a JSON object"));
    };
    if let Some(path) = text::first_zero(config) {
        let message = "contains the character U+0000, which is not allowed";
        return Err(problem(&format!("config.{path}"), message));
    }
    let name = &plugin.description.name;
    if plugin.description.config_schema.trim().is_empty() {
        return if entries.is_empty() {
            Ok(config.clone())
        } else {
            Err(problem(
                "config",
                format!("the plugin {name} takes no configuration"),
            ))
        };
    }
    let unchecked = [Unchecked {
        path: "config".to_owned(),
        plugin: name.clone(),
        config: config.clone(),
        after: 0,
    }];
    let faults = match check_configurations(pipeline, &unchecked).await.remove(0) {
        Ok(faults) => faults,
        Err(why) => {
            let message = format!("cannot be checked against the schema of {name}: {why}");
            return Err(problem("config", message));
        }
    };
    if faults.is_empty() {
        return Ok(config.clone());
    }
    let problems = faults.into_iter().map(|fault| InputProblem {
        path: fault.path_below("config"),
        message: fault.what,
    });
    Err(ApplyError::Problems(problems.collect()))
}

struct ChangedSecrets {
    all: BTreeMap<String, DeclaredSecret>,
    generated: BTreeMap<String, String>,
}

fn secrets(had: &Secrets, change: &ConnectionChange) -> Result<ChangedSecrets, ApplyError> {
    let had = had.iter();
    let mut all: BTreeMap<_, _> = had
        .map(|(name, value)| (name.to_owned(), DeclaredSecret::Value(value.to_owned())))
        .collect();
    for (name, value) in &change.secrets {
        let at = format!("secrets.{name}");
        if value.is_empty() {
            return Err(problem(&at, "has no value"));
        }
        if value.contains('\0') {
            let message = "contains the character U+0000, which is not allowed";
            return Err(problem(&at, message));
        }
        all.insert(name.clone(), DeclaredSecret::Value(value.clone()));
    }
    let mut generated = BTreeMap::new();
    for (name, prefix) in &change.generate {
        let value = new_secret(prefix);
        all.insert(name.clone(), DeclaredSecret::Value(value.clone()));
        generated.insert(name.clone(), value);
    }
    Ok(ChangedSecrets { all, generated })
}

/// Returns the workspace with nothing but this connection, as a file would declare it.
async fn declaration(
    pipeline: &Pipeline,
    workspace: &Workspace,
    known: &Connection,
    plugin: &AvailablePlugin,
    config: &Value,
    secrets: BTreeMap<String, DeclaredSecret>,
) -> Result<Declaration, StoreError> {
    let store = &pipeline.store;
    let partners = store.partners(workspace.id).await?;
    let partner = partners
        .into_iter()
        .find(|one| Some(one.id) == known.partner);
    let agents = store.agents(workspace.id).await?;
    let agent = agents.into_iter().find(|one| Some(one.id) == known.agent);
    Ok(Declaration {
        slug: workspace.slug.clone(),
        name: workspace.name.clone(),
        region: workspace.region.clone(),
        time_zone: workspace.time_zone.clone(),
        rate_limit: workspace.rate_limit,
        partners: Vec::new(),
        agents: Vec::new(),
        owners: Vec::new(),
        connections: vec![DeclaredConnection {
            path: HERE.to_owned(),
            kind: known.kind,
            name: known.name.clone(),
            partner: partner.map(|one| one.name),
            agent: agent.map(|one| one.name),
            binding: Binding {
                plugin: plugin.description.name.clone(),
                config: config.to_string(),
                allow: known.allow.clone(),
                checks: known.checks.clone(),
                routes: known.routes.clone(),
                secrets,
                undeclared: Vec::new(),
                reply_secrets: known.settings.reply_secrets.clone(),
                region: Some(known.region.clone()),
                time_zone: Some(known.time_zone.clone()),
            },
            dedupe_by_content: known.dedupe_by_content,
            settings: known.settings.clone(),
        }],
        products: Vec::new(),
        keys: Vec::new(),
    })
}

/// Removes the routes that the adapter made from the former configuration: it makes new ones from the new
/// configuration.
async fn forget_routes(pipeline: &Pipeline, known: &Connection, binding: &mut Binding) {
    let plugins = &pipeline.plugins;
    let Some(loaded) = plugins.active(&known.plugin) else {
        return;
    };
    let former = plugins
        .routes(&loaded, &known.name, &known.config, CallBudget::Trial)
        .await;
    // If the adapter no longer makes routes from the former configuration, they stay until the file is
    // applied.
    let Ok(Ok(former)) = former else {
        return;
    };
    for (name, value) in former {
        if let Some(values) = binding.routes.get_mut(&name) {
            values.retain(|one| *one != value);
            if values.is_empty() {
                binding.routes.remove(&name);
            }
        }
    }
}

fn is_checked(known: &Connection, name: &str) -> bool {
    known.checks.iter().any(|check| check.secret == name)
}

fn parsed(config: &str) -> Option<Value> {
    serde_json::from_str(config).ok()
}

fn problem(path: &str, message: impl Into<String>) -> ApplyError {
    ApplyError::Problems(vec![InputProblem {
        path: path.to_owned(),
        message: message.into(),
    }])
}

fn here(error: ApplyError) -> ApplyError {
    match error {
        ApplyError::Problems(problems) => {
            ApplyError::Problems(problems.into_iter().map(without_place).collect())
        }
        other => other,
    }
}

fn without_place(problem: InputProblem) -> InputProblem {
    let path = problem.path.strip_prefix(HERE).unwrap_or(&problem.path);
    InputProblem {
        path: path.trim_start_matches('.').to_owned(),
        message: problem.message,
    }
}
