//! The workspace of the private service: one connection for a converter, one instance for an adapter,
//! with the fields that the author gives. Secrets that are not given are generated.

use serde_json::Map;

use crate::cli::prelude::*;
use leadhost_domain::exchange::{Scheme, SenderCheck};
use leadhost_domain::plugin::{SecretDeclaration, SecretKind};
use leadhost_plugin::{CallBudget, Loaded, Plugins, TRIAL_LANE};

/// The name of the workspace, the partner, and the connection or the instance.
pub const NAME: &str = "dev";

/// Refuses fields that the command sets: the author's would be left out silently.
pub fn refuse_own(fields: &Map<String, Value>, kind: PluginKind, file: &Path) -> CommandResult {
    let own: &[&str] = match kind {
        PluginKind::Converter => &["name", "partner", "plugin", "instance"],
        PluginKind::Adapter => &["name", "adapter"],
    };
    let given: Vec<&str> = own
        .iter()
        .copied()
        .filter(|name| fields.contains_key(*name))
        .collect();
    if given.is_empty() {
        return Ok(());
    }
    let what = match kind {
        PluginKind::Converter => "connection",
        PluginKind::Adapter => "instance",
    };
    Err(failed!(
        "{}: `plugin dev` sets `{}` of the {what} itself: leave it out",
        file.display(),
        given.join("` and `")
    ))
}

/// Returns the workspace as a file declares it. `fields`: what the author gives of the connection or the
/// instance.
pub fn declaration(
    loaded: &Loaded,
    fields: &Map<String, Value>,
    generated: Map<String, Value>,
    has_sandbox: bool,
) -> Value {
    let mut own = fields.clone();
    let secrets = own.entry("secrets").or_insert_with(|| json!({}));
    if let Some(secrets) = secrets.as_object_mut() {
        for (name, value) in generated {
            secrets.entry(name).or_insert(value);
        }
    }
    own.insert("name".to_owned(), NAME.into());
    let plugin = loaded.description.name.as_str();
    let mut instances = Vec::new();
    let mut connections = Vec::new();
    let sandbox = json!({
        "name": "sandbox",
        "number": "+5511900000001",
        "adapter": "sandbox",
        "config": {"templates": [
            {"name": "welcome", "language": "pt_BR", "text": "Olá {{1}}, recebemos o seu contato."}
        ]},
    });
    match loaded.kind {
        PluginKind::Converter => {
            own.insert("partner".to_owned(), NAME.into());
            own.insert("plugin".to_owned(), plugin.into());
            if has_sandbox {
                instances.push(sandbox);
                own.insert("instance".to_owned(), "sandbox".into());
            }
            connections.push(Value::Object(own));
        }
        PluginKind::Adapter => {
            own.insert("adapter".to_owned(), plugin.into());
            own.entry("number")
                .or_insert_with(|| "+5511900000000".into());
            instances.push(Value::Object(own));
        }
    }
    json!({
        "workspace": {"slug": NAME, "name": "Development"},
        "partners": [{"name": NAME}],
        "instances": instances,
        "connections": connections,
        "keys": [{"kind": "partner", "label": NAME, "partner": NAME}],
    })
}

/// Returns the secrets to generate: what the plugin and its sender checks require.
pub async fn generated_secrets(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    config: &Value,
) -> CommandResult<Map<String, Value>> {
    let checks = sender_checks(plugins, loaded, config).await?;
    let can_be_made_up = |secret: &SecretDeclaration| match secret.kind() {
        Ok(SecretKind::Static) => !secret.name.ends_with("/*"),
        Ok(SecretKind::Oauth2Refresh | SecretKind::ClientCredentials) | Err(_) => false,
    };
    let declared = loaded.description.secrets.iter();
    let required = declared.filter(|secret| secret.required && can_be_made_up(secret));
    let mut secrets: Map<String, Value> = required
        .map(|secret| (secret.name.clone(), json!({"generate": ""})))
        .collect();
    for check in &checks {
        // HTTP Basic has the user before the password.
        let prefix = match check.scheme {
            Scheme::Basic => format!("{NAME}:"),
            Scheme::HmacSha256 | Scheme::HmacSha1 | Scheme::Bearer | Scheme::Equals => {
                String::new()
            }
        };
        secrets.insert(check.secret.clone(), json!({"generate": prefix}));
    }
    Ok(secrets)
}

async fn sender_checks(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    config: &Value,
) -> CommandResult<Vec<SenderCheck>> {
    let refused = |what: &dyn std::fmt::Display| {
        failed!(
            "the plugin {} does not take the configuration of its connection: {what}",
            loaded.description.name
        )
        .hint("write it to dev.toml in the project's folder, below [config], or name such a file with --connection")
    };
    let faults = plugins
        .config_faults(loaded, vec![config.clone()])
        .await
        .map_err(|error| refused(&error))?;
    let faults: Vec<String> = faults.iter().flatten().map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(refused(&faults.join("; ")));
    }
    let text = config.to_string();
    let asked = plugins.sender_checks(loaded, TRIAL_LANE, &text, CallBudget::Trial);
    match asked.await {
        Ok(Ok(checks)) => Ok(checks.checks),
        Ok(Err(problem)) => Err(refused(&problem)),
        Err(error) => Err(refused(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_command_sets_are_refused() {
        let refused = |fields: Value, kind| {
            let fields = fields.as_object().cloned().unwrap_or_default();
            refuse_own(&fields, kind, Path::new("dev.toml"))
                .err()
                .map(|failure| failure.to_string())
        };
        let said = refused(
            json!({"plugin": "other", "name": "x", "config": {}}),
            PluginKind::Converter,
        );
        let said = said.expect("it is refused");
        assert!(said.contains("dev.toml"), "{said}");
        assert!(said.contains("`name` and `plugin`"), "{said}");
        let said = refused(json!({"adapter": "other"}), PluginKind::Adapter);
        assert!(said.expect("it is refused").contains("`adapter`"));
        let usual = json!({"config": {}, "secrets": {}, "allow": []});
        assert_eq!(refused(usual, PluginKind::Converter), None);
    }
}
