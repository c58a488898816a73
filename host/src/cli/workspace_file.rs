//! Reads a workspace file and resolves its references to environment variables and files on the
//! machine of the user; the service gets values. A reference that cannot be resolved is sent as
//! such, so that the service lists it with the other problems of the file.

use serde_json::Map;

use crate::cli::prelude::*;
use leadhost_admin_api::apply;

pub fn read(path: &Path) -> CommandResult<Value> {
    let mut file = read_toml(path).map_err(|failure| {
        if path.exists() {
            failure
        } else {
            failure
                .hint("name the workspace file; examples/quickstart/workspace.toml is one to copy")
        }
    })?;
    for list in ["connections", "instances"] {
        let tables = file.get_mut(list).and_then(Value::as_array_mut);
        for table in tables.into_iter().flatten() {
            resolve_secrets(table, path);
        }
    }
    Ok(file)
}

/// Returns a file with the fields of one connection or one instance as JSON, with its secrets
/// resolved.
pub fn read_one(path: &Path) -> CommandResult<Value> {
    let mut table = read_toml(path)?;
    resolve_secrets(&mut table, path);
    Ok(table)
}

fn read_toml(path: &Path) -> CommandResult<Value> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| failed!("cannot read {}: {error}", path.display()))?;
    let table: toml::Table = text
        .parse()
        .map_err(|error| failed!("{} is not valid TOML: {error}", path.display()))?;
    Ok(to_json(toml::Value::Table(table)))
}

fn resolve_secrets(table: &mut Value, path: &Path) {
    let folder = path.parent().unwrap_or(Path::new("."));
    let secrets = table.get_mut("secrets").and_then(Value::as_object_mut);
    for value in secrets.into_iter().flat_map(Map::values_mut) {
        if let Value::String(text) = value {
            *value = resolve(text, folder, environment);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the workspace file names the variables: they cannot be arguments"
)]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Resolves `env:NAME`, `file:PATH` (relative to the workspace file's folder), `generate:` with an
/// optional prefix, `literal:` before a text that looks like one of these, or the secret itself.
fn resolve(text: &str, folder: &Path, environment: impl Fn(&str) -> Option<String>) -> Value {
    let unresolved = |why: String| json!({ "unresolved": why });
    if let Some(name) = text.strip_prefix("env:") {
        match environment(name) {
            Some(value) if !value.is_empty() => Value::String(value),
            _ => unresolved(format!("the environment variable {name} is not set")),
        }
    } else if let Some(file) = text.strip_prefix("file:") {
        let path = folder.join(file);
        match std::fs::read_to_string(&path) {
            Ok(value) => Value::String(value.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) => unresolved(format!("cannot read {}: {error}", path.display())),
        }
    } else if let Some(generated) = apply::to_generate(text) {
        generated
    } else {
        Value::String(text.strip_prefix("literal:").unwrap_or(text).to_owned())
    }
}

fn to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(values) => values.into_iter().map(to_json).collect(),
        toml::Value::Table(table) => table
            .into_iter()
            .map(|(name, value)| (name, to_json(value)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_a_broken_one_gives_its_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("token"), "from-file\n").expect("written");
        let environment = |name: &str| (name == "TOKEN").then(|| "from-env".to_owned());
        let check = |text: &str, expect: Value| {
            assert_eq!(resolve(text, folder.path(), environment), expect, "{text}");
        };
        check("env:TOKEN", json!("from-env"));
        check("file:token", json!("from-file"));
        check("plain", json!("plain"));
        check("literal:env:TOKEN", json!("env:TOKEN"));
        check("generate:portal:", json!({"generate": "portal:"}));
        check(
            "env:OTHER",
            json!({"unresolved": "the environment variable OTHER is not set"}),
        );
        assert!(resolve("file:none", folder.path(), environment)["unresolved"].is_string());
    }

    #[test]
    fn only_secrets_are_references() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("workspace.toml");
        let text = "[[connections]]\nname = \"env:PATH\"\n[connections.secrets]\na = \"generate:\"\n[connections.config]\nsince = 2026-01-02\n[[instances]]\nname = \"file:x\"\n[instances.secrets]\nb = \"generate:b\"\n";
        std::fs::write(&path, text).expect("written");
        let file = read(&path).expect("it reads");
        assert_eq!(
            file["connections"][0],
            json!({
                "name": "env:PATH",
                "secrets": {"a": {"generate": ""}},
                "config": {"since": "2026-01-02"}
            })
        );
        assert_eq!(
            file["instances"][0],
            json!({"name": "file:x", "secrets": {"b": {"generate": "b"}}})
        );
    }

    #[test]
    fn invalid_toml_is_reported_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("workspace.toml");
        std::fs::write(&path, "[workspace\n").expect("written");
        let message = read(&path).expect_err("no TOML").to_string();
        assert!(message.contains("line 1"), "{message}");
    }
}
