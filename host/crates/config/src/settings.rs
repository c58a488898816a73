//! The configuration in force as operators see it: every key with its value and where it is set, without
//! what may be secret.

use super::store_url::StoreUrl;
use leadhost_domain::setting::{Setting, SettingSource};

/// Returns all settings in the order of their keys.
pub(super) fn settings(
    table: &toml::Table,
    of_file: &toml::Table,
    overrides: &[(String, String)],
) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (section, keys) in table {
        let toml::Value::Table(keys) = keys else {
            continue;
        };
        for (name, value) in keys {
            let key = format!("{section}.{name}");
            let in_file = of_file.get(section).and_then(|keys| keys.get(name));
            let source = if overrides.iter().any(|(one, _)| *one == key) {
                SettingSource::Flag
            } else if in_file.is_some() {
                SettingSource::File
            } else {
                SettingSource::Default
            };
            settings.push(Setting {
                value: shown(&key, value),
                key,
                source,
            });
        }
    }
    settings
}

/// Returns a value without what may be secret.
fn shown(key: &str, value: &toml::Value) -> String {
    let text = match value {
        toml::Value::String(text) => text,
        other => return other.to_string(),
    };
    let text = match key {
        _ if text.is_empty() => String::new(),
        "telemetry.otlp_headers" => "(not shown)".to_owned(),
        "store.url" | "telemetry.otlp_endpoint" | "server.public_url" => {
            StoreUrl::new(text).to_string()
        }
        _ => text.clone(),
    };
    toml::Value::String(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn each_key_has_its_value_and_its_source_and_no_secret() {
        let overrides = [
            (
                "store.url".to_owned(),
                "postgres://ana:hidden@db.example.com/leads?sslkey=hidden".to_owned(),
            ),
            (
                "telemetry.otlp_headers".to_owned(),
                "authorization=hidden".to_owned(),
            ),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("leadhost.toml");
        std::fs::write(&file, "[server]\nname = \"one\"\n").expect("written");
        let config = Config::load(Some(&file), &overrides).expect("valid");
        let find = |key: &str| {
            let mut all = config.settings.iter();
            let found = all.find(|one| one.key == key).expect("a key");
            (found.value.as_str(), found.source)
        };
        assert_eq!(find("server.name"), ("\"one\"", SettingSource::File));
        assert_eq!(
            find("store.url"),
            ("\"postgres://db.example.com/leads\"", SettingSource::Flag)
        );
        assert_eq!(find("server.listen").1, SettingSource::Default);
        let all = format!("{:?}", config.settings);
        assert!(
            !all.contains("hidden@") && !all.contains("=hidden"),
            "{all}"
        );
    }
}
