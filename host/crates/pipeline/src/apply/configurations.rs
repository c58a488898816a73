//! The configurations of a file: which plugins they are for, and whether these take them.

use super::binding::{AvailablePlugin, AvailablePlugins, Binding};
use super::connection::DeclaredConnection;
use super::declaration::{Checked, Declaration};
use super::reader::Unchecked;

use super::outcome::ApplyError;
use crate::prelude::*;
use leadhost_domain::exchange::{SenderCheck, SenderChecks};

pub fn active_plugins(pipeline: &Pipeline) -> AvailablePlugins {
    pipeline
        .plugins
        .list()
        .into_iter()
        .filter(|listed| listed.active)
        .map(|listed| {
            let description = listed.loaded.description.clone();
            let kind = listed.loaded.kind;
            (
                description.name.clone(),
                AvailablePlugin { description, kind },
            )
        })
        .collect()
}

/// Validates all configurations of a plugin with one call for its schema.
pub async fn check_configurations(pipeline: &Pipeline, unchecked: &[Unchecked]) -> Vec<Checked> {
    let mut of_plugin: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, one) in unchecked.iter().enumerate() {
        of_plugin.entry(&one.plugin).or_default().push(index);
    }
    let mut checked = vec![Ok(Vec::new()); unchecked.len()];
    for (plugin, indexes) in of_plugin {
        // It was active when the file was read.
        let Some(loaded) = pipeline.plugins.active(plugin) else {
            continue;
        };
        let configs: Vec<Value> = indexes
            .iter()
            .map(|&index| unchecked[index].config.clone())
            .collect();
        match pipeline.plugins.config_faults(&loaded, configs).await {
            Ok(faults) => {
                for (index, faults) in indexes.into_iter().zip(faults) {
                    checked[index] = Ok(faults);
                }
            }
            Err(error) => {
                for index in indexes {
                    checked[index] = Err(error.to_string());
                }
            }
        }
    }
    checked
}

/// Asks each plugin for its sender checks under the configuration, as for the first delivery, and
/// an adapter also for the routes of its events: a configuration may fit the schema and still make
/// no sense to the plugin. Returns the warnings for the operator.
pub async fn try_configurations(
    pipeline: &Pipeline,
    declaration: &mut Declaration,
    before: &[Connection],
) -> Result<Vec<InputProblem>, ApplyError> {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    for connection in &mut declaration.connections {
        let binding = &connection.binding;
        let Some(loaded) = pipeline.plugins.active(&binding.plugin) else {
            // It was active when the file was read. If a version fails to load, that is reported at
            // its activation.
            continue;
        };
        let lane = &connection.name;
        let checks = pipeline
            .plugins
            .sender_checks(&loaded, lane, &binding.config, CallBudget::Trial)
            .await;
        let is_open = matches!(&checks, Ok(Ok(checks)) if is_open(binding, checks));
        let was_checked = is_open && was_checked(pipeline, connection, before).await;
        if let Ok(Ok(checks)) = &checks {
            if is_open {
                warnings.extend(warn_of_open(connection, checks, was_checked));
            }
            problems.extend(unused_secrets(&connection.path, binding, checks));
        }
        let routes = match (connection.kind, checks) {
            (_, Err(error)) => Err(error),
            (_, Ok(Err(problem))) => Ok(Err(problem)),
            (ConnectionKind::Source, Ok(Ok(_))) => Ok(Ok(Vec::new())),
            (ConnectionKind::Channel, Ok(Ok(_))) => {
                pipeline
                    .plugins
                    .routes(&loaded, lane, &binding.config, CallBudget::Trial)
                    .await
            }
        };
        let path = format!("{}.config", connection.path);
        match routes {
            Ok(Ok(routes)) => add_routes(&mut connection.binding.routes, routes),
            Ok(Err(problem)) => problems.push(InputProblem {
                path,
                message: problem.message,
            }),
            Err(error) => problems.push(InputProblem {
                path,
                message: format!(
                    "plugin {} could not check the configuration: {error}",
                    binding.plugin
                ),
            }),
        }
    }
    if problems.is_empty() {
        Ok(warnings)
    } else {
        Err(ApplyError::Problems(problems))
    }
}

/// Returns a warning for each secret without a use: its name is misspelt, or it is in the wrong
/// place.
pub fn unused_secrets(
    path: &str,
    binding: &Binding,
    declared: &SenderChecks,
) -> impl Iterator<Item = InputProblem> {
    let checks = &declared.checks;
    let is_checked = |name: &String| checks.iter().any(|check| check.secret == *name);
    let unused = binding
        .undeclared
        .iter()
        .filter(move |name| !is_checked(name));
    unused.map(move |name| InputProblem {
        path: format!("{path}.secrets.{name}"),
        message: "neither the plugin nor one of `checks` uses this secret".to_owned(),
    })
}

/// Returns whether no sender check has its secret, neither of the plugin nor of the file.
pub fn is_open(binding: &Binding, declared: &SenderChecks) -> bool {
    let has = |check: &SenderCheck| binding.secrets.contains_key(&check.secret);
    let any = |checks: &[SenderCheck]| checks.iter().any(has);
    !any(&declared.checks) && !any(&binding.checks)
}

pub async fn was_checked(
    pipeline: &Pipeline,
    connection: &DeclaredConnection,
    before: &[Connection],
) -> bool {
    let known = before
        .iter()
        .find(|one| one.kind == connection.kind && one.name == connection.name);
    let Some(known) = known else {
        return false;
    };
    if has_secret_of_any(known, &known.checks) {
        return true;
    }
    let plugins = &pipeline.plugins;
    let Some(loaded) = plugins.active(&known.plugin) else {
        return false;
    };
    let declared = plugins
        .sender_checks(&loaded, &known.name, &known.config, CallBudget::Trial)
        .await;
    matches!(&declared, Ok(Ok(declared)) if has_secret_of_any(known, &declared.checks))
}

fn has_secret_of_any(known: &Connection, checks: &[SenderCheck]) -> bool {
    checks
        .iter()
        .any(|check| known.secrets.contains(&check.secret))
}

/// Warns about an open connection that `was_checked` so far, or whose plugin could check senders,
/// but has no secret for it.
pub fn warn_of_open(
    connection: &DeclaredConnection,
    declared: &SenderChecks,
    was_checked: bool,
) -> Option<InputProblem> {
    let plugin = &connection.binding.plugin;
    let (field, why) = match declared.checks.first() {
        Some(SenderCheck { secret, .. }) => (
            "secrets",
            format!(
                "`{plugin}` checks its senders only with the secret `{secret}`, which is missing here"
            ),
        ),
        None if was_checked => (
            "checks",
            format!("neither `{plugin}` nor `checks` declares a sender check"),
        ),
        // Its plugin cannot check senders, and it has been open before.
        None => return None,
    };
    let (owner, what) = match connection.kind {
        ConnectionKind::Source => ("connection", "leads"),
        ConnectionKind::Channel => ("instance", "webhooks"),
    };
    let subject = if was_checked {
        format!(
            "{owner} `{}` loses its last sender check: it",
            connection.name
        )
    } else {
        "it".to_owned()
    };
    Some(InputProblem {
        path: format!("{}.{field}", connection.path),
        message: format!(
            "{subject} accepts {what} from every sender that knows its address, because {why}"
        ),
    })
}

fn add_routes(known: &mut BTreeMap<String, Vec<String>>, more: Pairs) {
    for (name, value) in more {
        let values = known.entry(name).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }
}
