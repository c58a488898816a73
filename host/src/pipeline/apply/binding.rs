//! A plugin bound to a place: what a connection's source and an instance's
//! channel have in common. It is read against the plugin that it names, so that
//! a configuration that the plugin would refuse, a secret that it needs and
//! lacks, or one that nobody uses, is told before the first lead or message.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde_json::Value;

use super::address::allowed_host;
use super::declaration::{
    ActivePlugin, ActivePlugins, REGION, TIME_ZONE, is_region, is_time_zone, read_config,
};
use super::reader::Table;
use crate::domain::connection::AllowedHost;
use crate::domain::exchange::{Location, SenderCheck, SignedPart};
use crate::domain::plugin::{Description, PluginKind};
use crate::domain::word::UnknownWord;

#[derive(Debug)]
pub struct Binding {
    pub plugin: String,
    pub config: String,
    pub allow: Vec<AllowedHost>,
    pub checks: Vec<SenderCheck>,
    pub routes: BTreeMap<String, Vec<String>>,
    pub secrets: BTreeMap<String, DeclaredSecret>,
    /// Secrets that neither the plugin's description nor `checks` names. The plugin
    /// may still check senders with them; it knows with which when it is asked.
    pub undeclared: Vec<String>,
    /// Secrets that the plugin's replies may tell.
    pub reply_secrets: Vec<String>,
    pub region: Option<String>,
    pub time_zone: Option<String>,
}

/// Where a secret's value comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum DeclaredSecret {
    Value(String),
    /// Made by the host when the connection does not have it yet, and kept
    /// from then on: a prefix, then random characters.
    Generate(String),
}

impl std::fmt::Debug for DeclaredSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Value(_) => "a value",
            Self::Generate(_) => "generated",
        })
    }
}

/// The fields of a table that [`Binding::read`] asks for, beside the plugin's own.
pub(super) const FIELDS: [&str; 8] = [
    "config",
    "secrets",
    "reply_secrets",
    "allow",
    "checks",
    "routes",
    "region",
    "time_zone",
];

impl Binding {
    /// `plugin` is what the table names in `field`.
    pub(super) fn read(
        table: &Table<'_>,
        field: &str,
        plugin: String,
        kind: PluginKind,
        plugins: &ActivePlugins,
    ) -> Self {
        let active = plugins.get(&plugin).filter(|found| found.kind == kind);
        if active.is_none() && !plugin.is_empty() {
            table.problem(field, not_active(&plugin, kind, plugins));
        }
        let config = read_config(table);
        if let Some(active) = active {
            check_config(table, &config, &active.description);
        }
        let secrets = read_secrets(table, active);
        Self {
            plugin,
            config,
            allow: read_allow(table, active),
            checks: read_checks(table, &secrets),
            undeclared: undeclared(table, &secrets, active),
            routes: read_routes(table),
            reply_secrets: read_reply_secrets(table, &secrets),
            secrets,
            region: table.matching("region", REGION, is_region),
            time_zone: table.matching("time_zone", TIME_ZONE, is_time_zone),
        }
    }
}

fn check_config(table: &Table<'_>, config: &str, description: &Description) {
    let config: Value = serde_json::from_str(config).expect("it was just written as JSON");
    if description.config_schema.trim().is_empty() {
        if config.as_object().is_some_and(|config| !config.is_empty()) {
            table.problem(
                "config",
                format!("the plugin {} takes no configuration", description.name),
            );
        }
        return;
    }
    let path = table.path("config");
    table.problems().leave(path, &description.name, config);
}

/// Secrets as the command line sends them: a text is the value; a table is
/// `{ generate = "prefix" }`, or `{ unresolved = "why" }` for a reference that
/// the command line could not follow, so that it is listed with all the rest.
fn read_secrets(
    table: &Table<'_>,
    active: Option<&ActivePlugin>,
) -> BTreeMap<String, DeclaredSecret> {
    let mut secrets = BTreeMap::new();
    let mut named = BTreeSet::new();
    if let Some(entries) = table.table("secrets") {
        for (name, value) in entries.entries() {
            named.insert(name.clone());
            let note = |key: &str| value.get(key).and_then(Value::as_str);
            match value {
                Value::String(text) if !text.is_empty() => {
                    secrets.insert(name.clone(), DeclaredSecret::Value(text.clone()));
                }
                Value::Object(_) if note("generate").is_some() => {
                    let prefix = note("generate").unwrap_or_default().to_owned();
                    secrets.insert(name.clone(), DeclaredSecret::Generate(prefix));
                }
                Value::Object(_) if note("unresolved").is_some() => {
                    entries.problem(name, note("unresolved").unwrap_or_default());
                }
                // The value is never repeated, whatever it is.
                _ => entries.problem(
                    name,
                    "expected a text: the secret itself, env:NAME, file:PATH or generate:",
                ),
            }
        }
    }
    for wanted in active.map_or(&[][..], |plugin| &plugin.description.secrets) {
        let given = match wanted.name.strip_suffix("/*") {
            Some(family) => named.iter().any(|name| in_family(family, name)),
            None => named.contains(&wanted.name),
        };
        if wanted.required && !given {
            table.problem(
                &format!("secrets.{}", wanted.name),
                format!("is missing: {}", wanted.summary),
            );
        }
    }
    secrets
}

fn undeclared(
    table: &Table<'_>,
    secrets: &BTreeMap<String, DeclaredSecret>,
    active: Option<&ActivePlugin>,
) -> Vec<String> {
    let Some(active) = active else {
        return Vec::new();
    };
    let mut names: Vec<_> = secrets.keys().cloned().collect();
    names.retain(|name| !declares(&active.description, name) && !adds_check(table, name));
    names
}

fn declares(description: &Description, name: &str) -> bool {
    description
        .secrets
        .iter()
        .any(|secret| match secret.name.strip_suffix("/*") {
            Some(family) => in_family(family, name),
            None => secret.name == name,
        })
}

fn in_family(family: &str, name: &str) -> bool {
    name == family
        || name
            .strip_prefix(family)
            .is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
}

fn adds_check(table: &Table<'_>, secret: &str) -> bool {
    table
        .value("checks")
        .and_then(Value::as_array)
        .is_some_and(|checks| {
            checks
                .iter()
                .any(|check| check.get("secret").and_then(Value::as_str) == Some(secret))
        })
}

/// Absent: the hosts that the plugin asks for, over https.
fn read_allow(table: &Table<'_>, active: Option<&ActivePlugin>) -> Vec<AllowedHost> {
    if table.value("allow").is_none() {
        return active.map_or_else(Vec::new, |plugin| {
            plugin
                .description
                .hosts
                .iter()
                .map(|host| AllowedHost {
                    scheme: "https".to_owned(),
                    authority: host.to_lowercase(),
                    private: false,
                })
                .collect()
        });
    }
    let mut allow = Vec::new();
    for (path, entry) in table.list("allow") {
        match allowed_host(entry) {
            Ok(host) => allow.push(host),
            Err(message) => table.problems().add(path, message),
        }
    }
    allow
}

fn read_reply_secrets(
    table: &Table<'_>,
    secrets: &BTreeMap<String, DeclaredSecret>,
) -> Vec<String> {
    let mut named = Vec::new();
    for (path, entry) in table.list("reply_secrets") {
        match entry.as_str() {
            Some(name) if secrets.contains_key(name) => named.push(name.to_owned()),
            Some(name) => table
                .problems()
                .add(path, format!("`{name}` is not among the secrets here")),
            None => table
                .problems()
                .add(path, "expected the name of a secret".to_owned()),
        }
    }
    named
}

fn read_checks(table: &Table<'_>, secrets: &BTreeMap<String, DeclaredSecret>) -> Vec<SenderCheck> {
    let checks = table.tables("checks");
    // One with a problem is left out: a file with problems is not applied.
    checks
        .into_iter()
        .filter_map(|check| {
            let read = read_check(&check, secrets);
            check.finish();
            read
        })
        .collect()
}

fn read_check(
    check: &Table<'_>,
    secrets: &BTreeMap<String, DeclaredSecret>,
) -> Option<SenderCheck> {
    let secret = check.required_text("secret");
    if !secret.is_empty() && !secrets.contains_key(&secret) {
        check.problem(
            "secret",
            format!("`{secret}` is not among the secrets here: the check would never run"),
        );
    }
    if check.value("proof").is_none() {
        check.problem(
            "proof",
            "is missing: expected { place = \"header\", name = \"…\" }",
        );
    }
    let proof = check.table("proof").and_then(|proof| {
        let (place, name) = (required_word(&proof, "place"), proof.required_text("name"));
        proof.finish();
        Some(Location {
            place: place?,
            name,
        })
    });
    let signed: Vec<_> = check
        .tables("signed")
        .into_iter()
        .map(|part| {
            let kind = required_word(&part, "kind");
            let value = part.text("value").unwrap_or_default();
            part.finish();
            Some(SignedPart { kind: kind?, value })
        })
        .collect();
    let (scheme, encoding) = (required_word(check, "scheme"), word(check, "encoding"));
    let prefix = check.text("prefix").unwrap_or_default();
    let timestamp_header = check.text("timestamp_header").unwrap_or_default();
    let tolerance_seconds = check.number("tolerance_seconds", 0, 86_400).unwrap_or(0);
    Some(SenderCheck {
        secret,
        scheme: scheme?,
        proof: proof?,
        encoding: encoding.unwrap_or_default(),
        prefix,
        timestamp_header,
        tolerance_seconds,
        signed: signed.into_iter().collect::<Option<_>>()?,
    })
}

/// Reads a word of the contract. `None`: it is absent, or it was reported as a problem.
fn word<T: FromStr<Err = UnknownWord>>(table: &Table<'_>, field: &'static str) -> Option<T> {
    parsed(table, field, &table.text(field)?)
}

/// As [`word`], and reports a field that is missing.
fn required_word<T: FromStr<Err = UnknownWord>>(
    table: &Table<'_>,
    field: &'static str,
) -> Option<T> {
    let text = table.required_text(field);
    // Empty: it was reported as missing.
    (!text.is_empty()).then(|| parsed(table, field, &text))?
}

fn parsed<T: FromStr<Err = UnknownWord>>(
    table: &Table<'_>,
    field: &'static str,
    text: &str,
) -> Option<T> {
    text.parse()
        .map_err(|unknown: UnknownWord| table.problem(field, unknown.to_string()))
        .ok()
}

/// `page-id = "123"` or `page-id = ["123", "456"]`.
fn read_routes(table: &Table<'_>) -> BTreeMap<String, Vec<String>> {
    let mut routes = BTreeMap::new();
    let Some(entries) = table.table("routes") else {
        return routes;
    };
    for (name, value) in entries.entries() {
        let values: Option<Vec<String>> = match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(list) => list
                .iter()
                .map(|value| value.as_str().map(str::to_owned))
                .collect(),
            _ => None,
        };
        match values {
            Some(values) => {
                routes.insert(name.clone(), values);
            }
            None => entries.problem(name, "expected a text or a list of texts (quote ids)"),
        }
    }
    routes
}

/// Why a name is no plugin of this kind that serves.
fn not_active(name: &str, kind: PluginKind, plugins: &ActivePlugins) -> String {
    if let Some(other) = plugins.get(name) {
        return format!(
            "`{name}` is {}: expected the name of {}",
            other.kind.with_article(),
            kind.with_article()
        );
    }
    let wanted = kind.as_str();
    let active: Vec<_> = plugins
        .iter()
        .filter(|(_, plugin)| plugin.kind == kind)
        .map(|(name, _)| name.as_str())
        .collect();
    if active.is_empty() {
        format!(
            "no {wanted} `{name}` is active, nor any other: `leadhost plugin activate FILE` first"
        )
    } else {
        format!(
            "no {wanted} `{name}` is active; active are {}",
            active.join(", ")
        )
    }
}
