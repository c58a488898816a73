//! The configuration: built-in defaults, overridden by a file, overridden by flags.
//! `config.default.toml` documents every key; a key that it does not have is refused by name.

mod check;
pub mod disk;
pub mod memory;
mod settings;
pub mod shutdown;
mod store_url;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub use self::store_url::StoreUrl;
use leadhost_domain::export_headers::ExportHeaders;
use leadhost_domain::network::Networks;
use leadhost_domain::publisher::TrustedKeys;
use leadhost_domain::setting::Setting;
use leadhost_domain::time::span;

/// The built-in defaults, which `leadhost config` prints.
pub const DEFAULTS: &str = include_str!("../config.default.toml");

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the configuration file {} is not valid TOML: {message}", path.display())]
    Toml { path: PathBuf, message: String },
    /// All keys that do not exist, or cannot have their values.
    #[error("{}", listed(.0))]
    Refused(Vec<RefusedKey>),
}

/// A key that does not exist, or cannot have this value.
#[derive(Debug, thiserror::Error)]
#[error("{key} {origin} {problem}")]
pub struct RefusedKey {
    key: String,
    origin: ValueOrigin,
    problem: String,
}

fn listed(refused: &[RefusedKey]) -> String {
    let lines: Vec<String> = refused.iter().map(RefusedKey::to_string).collect();
    match &lines[..] {
        [one] => one.clone(),
        all => format!(
            "{} settings cannot be used:\n  {}",
            all.len(),
            all.join("\n  ")
        ),
    }
}

impl ConfigError {
    /// Returns all mistakes, each with its place.
    pub fn mistakes(&self) -> Vec<String> {
        match self {
            Self::Refused(keys) => keys.iter().map(RefusedKey::to_string).collect(),
            other => vec![other.to_string()],
        }
    }

    /// Returns whether the command line is at fault, and not the file.
    pub fn is_usage(&self) -> bool {
        let of_command = |one: &RefusedKey| matches!(one.origin, ValueOrigin::CommandLine);
        matches!(self, Self::Refused(keys) if keys.iter().all(of_command))
    }
}

#[derive(Clone, Debug)]
pub enum ValueOrigin {
    File(PathBuf),
    CommandLine,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::CommandLine => f.write_str("on the command line"),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: ServerSection,
    pub store: StoreSection,
    pub plugins: PluginsSection,
    pub verify: VerifySection,
    pub worker: WorkerSection,
    pub messages: MessagesSection,
    pub search: SearchSection,
    pub analytics: AnalyticsSection,
    pub intake: IntakeSection,
    pub retention: RetentionSection,
    pub log: LogSection,
    pub telemetry: TelemetrySection,
    /// Every key with its value and where it is set.
    #[serde(skip)]
    pub settings: Vec<Setting>,
}

/// The addresses, the limits of connections and requests, and the times of the HTTP surfaces.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSection {
    pub name: String,
    pub listen: String,
    pub data_listen: String,
    pub admin_listen: String,
    pub tls_certificate: String,
    pub tls_key: String,
    pub public_url: String,
    pub trusted_proxies: Networks,
    pub connections: usize,
    pub connections_per_peer: usize,
    pub bodies_mib: usize,
    pub bodies_peer_percent: usize,
    pub bodies_connection_percent: usize,
    pub answers_mib: usize,
    pub answers_peer_percent: usize,
    pub failed_keys: u32,
    pub partner_rate: u32,
    pub admin_rate: u32,
    pub header_seconds: u64,
    pub body_seconds: u64,
    pub answer_seconds: u64,
    pub idle_seconds: u64,
    pub drain_seconds: u64,
    pub linger_ms: u64,
}

impl ServerSection {
    pub fn has_tls(&self) -> bool {
        !self.tls_certificate.is_empty()
    }

    /// Returns the time from accepting a connection to the end of its first headers.
    pub fn header_time(&self) -> Duration {
        Duration::from_secs(self.header_seconds)
    }

    /// Returns how long the body of a request may take to arrive.
    pub fn body_time(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }

    /// Returns how long the answer may take, after which the client gets 503.
    pub fn answer_time(&self) -> Duration {
        Duration::from_secs(self.answer_seconds)
    }

    /// Returns how long a connection may be open without a request in progress.
    pub fn idle_time(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }

    /// Returns the public URL of a path, if `server.public_url` is set.
    pub fn public(&self, path: &str) -> Option<String> {
        let base = self.public_url.trim_end_matches('/');
        (!base.is_empty()).then(|| format!("{base}{path}"))
    }
}

/// The store and the data folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreSection {
    pub url: StoreUrl,
    pub connections: u32,
    pub data_dir: PathBuf,
    pub writes_per_commit: usize,
}

/// The inbox, and the limits of plugins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginsSection {
    pub inbox: String,
    pub inline_ms: u64,
    pub deadline_ms: u64,
    pub memory_mib: usize,
    pub output_mib: usize,
    pub threads: usize,
    pub queue: usize,
    pub share_percent: usize,
    pub compile_seconds: u64,
    pub compile_memory_mib: u64,
    pub trial_seconds: u64,
    pub component_mib: usize,
    /// Mebibytes for the memories of all warm instances together.
    pub warm_mib: usize,
    /// The signers whose components are stored and activated.
    pub trusted_keys: TrustedKeys,
    /// The file with the functions of the last compilation. No configuration names it: only commands
    /// that compile one developer's own components set it.
    #[serde(skip)]
    pub compiled_functions: Option<PathBuf>,
}

impl PluginsSection {
    /// Returns how long compiling a component may take.
    pub fn compile_time(&self) -> Duration {
        Duration::from_secs(self.compile_seconds)
    }

    /// Returns how long the trial of a component may take, compilation not included.
    pub fn trial_time(&self) -> Duration {
        Duration::from_secs(self.trial_seconds)
    }
}

/// The verification of a version before its activation, and which differences refuse it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifySection {
    /// The greatest number of stored deliveries that are compared; zero for none.
    pub deliveries: u32,
    pub seconds: u64,
    pub failing_per_mille: u64,
    pub lost_per_mille: u64,
    /// Leads that may change in an identifying field, or gain there what others gain too.
    pub altered_per_mille: u64,
    pub leads_per_mille: u64,
    /// Deliveries whose lead may be fetched by another request.
    pub changed_fetches_per_mille: u64,
    /// Sends of an adapter whose request may differ.
    pub changed_sends_per_mille: u64,
    /// Sends of an adapter whose answer may be read with another result.
    pub changed_answers_per_mille: u64,
    /// Conversions that may exceed the time of a request only with the candidate.
    pub slow_per_mille: u64,
    /// A candidate needs far more memory if it needs more than so many times the memory of the
    /// stable version…
    pub memory_times: u64,
    /// …and so many mebibytes more.
    pub memory_mib: u64,
}

impl VerifySection {
    /// A policy that allows nothing but other requests of sends, which a new version is usually made for.
    pub const STRICT: Self = Self {
        deliveries: 1_000,
        seconds: 30,
        failing_per_mille: 0,
        lost_per_mille: 0,
        altered_per_mille: 0,
        leads_per_mille: 0,
        changed_fetches_per_mille: 0,
        changed_sends_per_mille: 1_000,
        changed_answers_per_mille: 0,
        slow_per_mille: 500,
        memory_times: 4,
        memory_mib: 16,
    };

    /// Returns the time of a verification. It ends with what was compared by then.
    pub fn budget(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// The worker: its leases, its fetches and their retries.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSection {
    pub concurrency: usize,
    pub lease_seconds: i64,
    pub fetch_seconds: u64,
    pub fetch_days: i64,
    pub backoff_first_seconds: i64,
    pub backoff_longest_seconds: i64,
}

impl WorkerSection {
    /// Returns how long a host holds claimed work. Other hosts may claim it after that.
    pub fn lease(&self) -> Duration {
        span(self.lease_seconds, 1)
    }

    /// Returns how long after its delivery a fetch is given up.
    pub fn fetched_for(&self) -> Duration {
        span(self.fetch_days, 24 * 3_600)
    }

    /// Returns the pause after the first failure; later pauses grow up to `backoff_longest`.
    pub fn backoff_first(&self) -> Duration {
        span(self.backoff_first_seconds, 1)
    }

    /// Returns the longest pause between two attempts.
    pub fn backoff_longest(&self) -> Duration {
        span(self.backoff_longest_seconds, 1)
    }
}

/// Sends: their retries, and the lists of templates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesSection {
    pub answer_seconds: u64,
    pub backoff_first_seconds: i64,
    pub backoff_longest_seconds: i64,
    pub templates_minutes: i64,
}

impl MessagesSection {
    /// Returns how long a partner waits for the outcome of a send. After that, the answer is that
    /// the message is being sent.
    pub fn answer_time(&self) -> Duration {
        Duration::from_secs(self.answer_seconds)
    }

    /// Returns the pause after the first failed send; later pauses grow up to
    /// `backoff_longest`.
    pub fn backoff_first(&self) -> Duration {
        span(self.backoff_first_seconds, 1)
    }

    /// Returns the longest pause between two attempts to send.
    pub fn backoff_longest(&self) -> Duration {
        span(self.backoff_longest_seconds, 1)
    }

    /// Returns the time between two renewals of a list of templates.
    pub fn templates_period(&self) -> Duration {
        span(self.templates_minutes, 60)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSection {
    pub memory_mib: usize,
}

/// The counts of analytics.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyticsSection {
    pub refresh_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntakeSection {
    pub waiting: u64,
    pub waiting_of_connection: u64,
    pub connection_rate: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionSection {
    pub deliveries_days: i64,
    pub quarantine_days: i64,
    pub idempotency_hours: i64,
    pub audit_days: i64,
}

impl RetentionSection {
    pub fn deliveries(&self) -> Duration {
        span(self.deliveries_days, 24 * 3_600)
    }

    pub fn quarantine(&self) -> Duration {
        span(self.quarantine_days, 24 * 3_600)
    }

    pub fn audit(&self) -> Duration {
        span(self.audit_days, 24 * 3_600)
    }

    /// Returns how long a request with an idempotency key is remembered.
    pub fn idempotency(&self) -> Duration {
        span(self.idempotency_hours, 3_600)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSection {
    pub filter: String,
    pub format: String,
}

/// The export of traces.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySection {
    /// The base URL of the receiver. Empty: no traces are made.
    pub otlp_endpoint: String,
    pub otlp_headers: ExportHeaders,
    /// Traces without an error that are exported.
    pub traces_per_mille: u32,
    pub service_name: String,
}

impl Config {
    /// Loads the defaults, overridden by `file` and then by `overrides`: pairs of `section.key` and
    /// a value as plain text.
    pub fn load(file: Option<&Path>, overrides: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut table: toml::Table = DEFAULTS.parse().expect("the built-in defaults are TOML");
        let mut of_file = toml::Table::new();
        let mut refused = Vec::new();
        if let Some(path) = file {
            of_file = read(path)?;
            let origin = ValueOrigin::File(path.to_owned());
            merge(&mut table, of_file.clone(), &origin, &mut refused);
        }
        for (key, value) in overrides {
            refused.extend(set(&mut table, key, value).err());
        }
        let settings = settings::settings(&table, &of_file, overrides);
        let mut config: Self = toml::Value::Table(table)
            .try_into()
            .expect("only values that were checked replace the defaults");
        config.settings = settings;
        // A refused value of one of its keys is no missing one.
        if !refused.iter().any(|one| one.key.starts_with("server.tls_")) {
            refused.extend(config.check_tls(file, overrides).err());
        }
        if refused.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Refused(refused))
        }
    }

    fn check_tls(
        &self,
        file: Option<&Path>,
        overrides: &[(String, String)],
    ) -> Result<(), RefusedKey> {
        const KEYS: [&str; 2] = ["server.tls_certificate", "server.tls_key"];
        let (set, missing) = match (self.server.has_tls(), self.server.tls_key.is_empty()) {
            (true, true) => (KEYS[0], KEYS[1]),
            (false, false) => (KEYS[1], KEYS[0]),
            _ => return Ok(()),
        };
        let is_typed = overrides
            .iter()
            .any(|(key, _)| KEYS.contains(&key.as_str()));
        Err(RefusedKey {
            key: set.to_owned(),
            origin: match file {
                Some(path) if !is_typed => ValueOrigin::File(path.to_owned()),
                _ => ValueOrigin::CommandLine,
            },
            problem: format!("is set, and {missing} is not: set both, or neither"),
        })
    }
}

fn read(path: &Path) -> Result<toml::Table, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    text.parse()
        .map_err(|error: toml::de::Error| ConfigError::Toml {
            path: path.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })
}

fn merge(
    table: &mut toml::Table,
    over: toml::Table,
    origin: &ValueOrigin,
    refused: &mut Vec<RefusedKey>,
) {
    for (section, keys) in over {
        let keys = match keys {
            toml::Value::Table(keys) if table.contains_key(&section) => keys,
            _ => {
                refused.push(RefusedKey {
                    key: section,
                    origin: origin.clone(),
                    problem: format!("is not a section: the sections are {}", names(table)),
                });
                continue;
            }
        };
        for (name, value) in keys {
            refused.extend(put(table, &section, &name, value, origin).err());
        }
    }
}

/// Sets a key to a value that is plain text.
fn set(table: &mut toml::Table, key: &str, text: &str) -> Result<(), RefusedKey> {
    let origin = ValueOrigin::CommandLine;
    let Some((section, name)) = key.split_once('.') else {
        return Err(RefusedKey {
            key: key.to_owned(),
            origin,
            problem: "is not a key: expected section.key".to_owned(),
        });
    };
    let known = table.get(section).and_then(|keys| keys.get(name));
    let read = match known {
        Some(toml::Value::Integer(_)) => text.parse().ok().map(toml::Value::Integer),
        _ => None,
    };
    let value = read.unwrap_or_else(|| toml::Value::String(text.to_owned()));
    put(table, section, name, value, &origin)
}

/// Replaces the value of a key, after a check.
fn put(
    table: &mut toml::Table,
    section: &str,
    name: &str,
    value: toml::Value,
    origin: &ValueOrigin,
) -> Result<(), RefusedKey> {
    let key = format!("{section}.{name}");
    let refused = |problem: String| RefusedKey {
        key: key.clone(),
        origin: origin.clone(),
        problem,
    };
    let Some(toml::Value::Table(keys)) = table.get_mut(section) else {
        let sections = names(table);
        return Err(refused(format!(
            "is not a key: the sections are {sections}"
        )));
    };
    let Some(known) = keys.get(name) else {
        let known = names(keys);
        return Err(refused(format!("is not a key: [{section}] has {known}")));
    };
    check::value(&key, known, &value).map_err(refused)?;
    keys.insert(name.to_owned(), value);
    Ok(())
}

fn names(table: &toml::Table) -> String {
    let names: Vec<&str> = table.keys().map(String::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_a_complete_configuration() {
        let config = Config::load(None, &[]).expect("defaults load");
        assert_eq!(config.server.listen, "127.0.0.1:8080");
    }

    #[test]
    fn the_headers_of_the_export_are_not_shown() {
        let config = over("telemetry.otlp_headers", "authorization=Bearer%20hidden").expect("read");
        let pairs = config.telemetry.otlp_headers.pairs();
        assert_eq!(pairs[0].1, "Bearer hidden");
        let shown = format!("{config:?}");
        assert!(!shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn a_flag_overrides_one_key_and_an_unknown_key_is_named() {
        assert_eq!(
            over("worker.concurrency", "3")
                .expect("known")
                .worker
                .concurrency,
            3
        );
        let error = over("worker.speed", "3").expect_err("unknown").to_string();
        assert!(error.contains("worker.speed"), "{error}");
    }

    /// Loads the defaults with one key replaced on the command line.
    fn over(key: &str, value: &str) -> Result<Config, ConfigError> {
        Config::load(None, &[(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn a_number_out_of_bounds_is_refused_by_name() {
        for (key, least, most) in [
            ("retention.deliveries_days", 1, 36_500),
            ("retention.quarantine_days", 1, 36_500),
            ("retention.idempotency_hours", 1, 8_760),
            ("retention.audit_days", 30, 36_500),
            ("store.connections", 0, 4_294_967_295),
        ] {
            for wrong in [-1, least - 1, most + 1, 999_999_999_999, i64::MAX, i64::MIN] {
                let error = over(key, &wrong.to_string()).expect_err("out of bounds");
                assert_eq!(
                    error.to_string(),
                    format!(
                        "{key} on the command line is {wrong}: expected a whole number from {least} to {most}"
                    )
                );
            }
        }
    }

    #[test]
    fn every_number_takes_its_bounds() {
        let defaults: toml::Table = DEFAULTS.parse().expect("TOML");
        let mut bounded = 0;
        for (section, keys) in &defaults {
            for (name, value) in keys.as_table().expect("a section") {
                if !value.is_integer() {
                    continue;
                }
                let key = format!("{section}.{name}");
                let (least, most) = check::bounds(&key);
                bounded += usize::from(check::BOUNDS.iter().any(|(own, ..)| *own == key));
                for right in [least, most] {
                    over(&key, &right.to_string()).expect("within bounds");
                }
            }
        }
        assert_eq!(bounded, check::BOUNDS.len(), "each bound belongs to a key");
    }

    #[test]
    fn a_wrong_value_of_the_file_is_named_with_file_and_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("leadhost.toml");
        let check = |text: &str, expect: &str| {
            std::fs::write(&path, text).expect("written");
            let error = Config::load(Some(&path), &[]).expect_err("refused");
            assert!(!error.is_usage(), "{error}");
            let error = error
                .to_string()
                .replace(&path.display().to_string(), "FILE");
            assert!(error.starts_with(expect), "{error}");
        };
        check(
            "[store]\nconnections = \"many\"",
            "store.connections in FILE is \"many\": expected a whole number from 0 to 4294967295",
        );
        check(
            "[store]\nconnections = -1",
            "store.connections in FILE is -1: expected a whole number from 0 to 4294967295",
        );
        check(
            "[worker]\nlease_seconds = [1]",
            "worker.lease_seconds in FILE is a list: expected a whole number from 1 to 31536000",
        );
        check(
            "[log]\nfilter = 5",
            "log.filter in FILE is 5: expected a text in quotes",
        );
        check(
            "[log]\nformat = \"xml\"",
            "log.format in FILE is \"xml\": expected text or json",
        );
        check(
            "[server]\npublic_url = \"leads.example.com\"",
            "server.public_url in FILE is \"leads.example.com\": expected http:// or https:// with a host",
        );
        check(
            "[server]\ntrusted_proxies = \"all\"",
            "server.trusted_proxies in FILE cannot be used: `all` is not a network",
        );
        check(
            "[telemetry]\notlp_endpoint = \"collector:4318\"",
            "telemetry.otlp_endpoint in FILE is \"collector:4318\": expected http:// or https:// with a host",
        );
        check(
            "[telemetry]\notlp_headers = \"hidden\"",
            "telemetry.otlp_headers in FILE cannot be used: header 1 is not name=value",
        );
        check(
            "[plugins]\ntrusted_keys = \"ours\"",
            "plugins.trusted_keys in FILE cannot be used: `ours` is not a public key: ",
        );
        check(
            "[plugins]\ntrusted_keys = [\"ours\"]",
            "plugins.trusted_keys in FILE is a list: expected a text in quotes",
        );
        check(
            "[worker]\nspeed = 3",
            "worker.speed in FILE is not a key: [worker] has ",
        );
        check(
            "[workers]",
            "workers in FILE is not a section: the sections are ",
        );
        check(
            "listen = \"127.0.0.1:1\"",
            "listen in FILE is not a section: ",
        );
        check(
            "[server]\ntls_key = \"key.pem\"",
            "server.tls_key in FILE is set, and server.tls_certificate is not",
        );
        check(
            "[server",
            "the configuration file FILE is not valid TOML: TOML parse error at line 1",
        );
    }

    #[test]
    fn all_mistakes_of_the_file_and_the_command_line_are_named_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("leadhost.toml");
        let text = "[log]\nformat = \"xml\"\n[store]\nconnections = -1\nspeed = 3\n[workers]\n[server]\ntls_key = \"key.pem\"";
        std::fs::write(&path, text).expect("written");
        let overrides = [("worker.concurrency".to_owned(), "many".to_owned())];
        let error = Config::load(Some(&path), &overrides).expect_err("refused");
        assert!(!error.is_usage(), "the file is wrong too: {error}");
        let error = error.to_string();
        let mut lines = error.lines().map(str::trim_start);
        assert_eq!(lines.next(), Some("6 settings cannot be used:"));
        let keys: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
        let expect =
            "log.format store.connections store.speed workers worker.concurrency server.tls_key";
        assert_eq!(keys.join(" "), expect, "{error}");
    }

    #[test]
    fn a_wrong_value_of_the_command_line_is_wrong_usage() {
        for (key, value) in [
            ("worker.concurrency", "many"),
            ("worker.concurrency", "-1"),
            ("plugins.trusted_keys", "ours"),
            ("worker.speed", "3"),
            ("workers.speed", "3"),
            ("nonsense", "3"),
            ("server.listen", "8080"),
            ("server.admin_listen", "localhost"),
            ("server.data_listen", "localhost:port"),
            ("server.trusted_proxies", "all"),
            ("server.tls_key", "key.pem"),
            ("log.format", "xml"),
        ] {
            let error = over(key, value).expect_err("refused");
            assert!(error.is_usage(), "{error}");
            let named = format!("{key} on the command line ");
            assert!(error.to_string().starts_with(&named), "{error}");
        }
    }
}
