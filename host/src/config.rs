//! The configuration: built-in defaults, overridden by a file, overridden by flags.
//! `config.default.toml` documents every key; a key that it does not have is refused by name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::domain::network::Networks;
use crate::domain::time::span;
use crate::limits;

/// The built-in defaults, which `leadhost config` prints.
pub const DEFAULTS: &str = include_str!("../config.default.toml");

/// Seconds of 365 days.
const YEAR: i128 = 31_536_000;

/// Days of 100 years. The bound keeps times in microseconds far from overflow.
const CENTURY: i128 = 36_500;

/// Lists keys of a configuration by their names in files, with value and bounds.
macro_rules! bounded {
    ($config:expr; $($section:ident.$key:ident: $bounds:expr;)+) => {
        [$((
            concat!(stringify!($section), ".", stringify!($key)),
            i128::from($config.$section.$key),
            $bounds,
        )),+]
    };
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{origin} is not a valid configuration: {message}")]
    Invalid { origin: String, message: String },
    #[error("{key} = {value} is out of bounds: it must be {least} to {most}")]
    OutOfBounds {
        key: &'static str,
        value: i128,
        least: i128,
        most: i128,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: Server,
    pub store: Store,
    pub plugins: Plugins,
    pub verify: Verify,
    pub worker: Worker,
    pub messages: Messages,
    pub search: Search,
    pub analytics: Analytics,
    pub intake: Intake,
    pub retention: Retention,
    pub log: Log,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
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
    pub header_seconds: u64,
    pub body_seconds: u64,
    pub answer_seconds: u64,
    pub drain_seconds: u64,
    pub linger_ms: u64,
}

impl Server {
    /// Returns whether the gateway and the data API speak TLS.
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

    /// Returns the public URL of a path, if `server.public_url` is set.
    pub fn public(&self, path: &str) -> Option<String> {
        let base = self.public_url.trim_end_matches('/');
        (!base.is_empty()).then(|| format!("{base}{path}"))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    pub url: StoreUrl,
    pub connections: u32,
    pub data_dir: PathBuf,
    pub writes_per_commit: usize,
}

/// The URL of the store. It may contain a password, which it never shows.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// Wraps a URL without checking it.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Returns the URL with its password. Do not log it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Omits the parts that may be secret: user, password and parameters.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match url::Url::parse(&self.0) {
            Ok(url) if url.has_authority() => {
                write!(f, "{}://", url.scheme())?;
                if let Some(host) = url.host_str() {
                    f.write_str(host)?;
                }
                if let Some(port) = url.port() {
                    write!(f, ":{port}")?;
                }
                f.write_str(url.path())
            }
            _ if self.0.is_empty() => Ok(()),
            // `user:password@host` parses as a URL whose path contains the password.
            _ => f.write_str("(not a URL)"),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugins {
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
}

impl Plugins {
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
pub struct Verify {
    /// The greatest number of stored deliveries that are compared; zero for none.
    pub deliveries: u32,
    pub seconds: u64,
    pub failing_per_mille: u64,
    pub lost_per_mille: u64,
    pub leads_per_mille: u64,
}

impl Verify {
    /// Returns the time of a verification. It ends with what was compared by then.
    pub fn budget(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    pub concurrency: usize,
    pub lease_seconds: i64,
    pub fetch_seconds: u64,
    pub fetch_days: i64,
    pub backoff_first_seconds: i64,
    pub backoff_longest_seconds: i64,
}

impl Worker {
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    pub answer_seconds: u64,
    pub backoff_first_seconds: i64,
    pub backoff_longest_seconds: i64,
    pub templates_minutes: i64,
}

impl Messages {
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
pub struct Search {
    pub memory_mib: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Analytics {
    pub refresh_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intake {
    pub waiting: u64,
    pub waiting_of_connection: u64,
    pub connection_rate: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    pub deliveries_days: i64,
    pub quarantine_days: i64,
    pub idempotency_hours: i64,
}

impl Retention {
    /// Returns how long deliveries are kept.
    pub fn deliveries(&self) -> Duration {
        span(self.deliveries_days, 24 * 3_600)
    }

    /// Returns how long quarantined deliveries are kept.
    pub fn quarantine(&self) -> Duration {
        span(self.quarantine_days, 24 * 3_600)
    }

    /// Returns how long a request with an idempotency key is remembered.
    pub fn idempotency(&self) -> Duration {
        span(self.idempotency_hours, 3_600)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub filter: String,
    pub format: String,
}

impl Config {
    /// Loads the defaults, overridden by `file` and then by `overrides`: pairs of `section.key` and
    /// a value as plain text.
    ///
    /// # Errors
    ///
    /// The file cannot be read, a key is unknown, or a value has a wrong type or is out of bounds.
    pub fn load(file: Option<&Path>, overrides: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut table = parse("the built-in defaults", DEFAULTS)?;
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
                path: path.to_owned(),
                source,
            })?;
            merge(&mut table, parse(&path.display().to_string(), &text)?);
        }
        for (key, value) in overrides {
            set(&mut table, key, value)?;
        }
        let origin = file.map_or("the command line".to_owned(), |path| {
            path.display().to_string()
        });
        let config: Self =
            toml::Value::Table(table)
                .try_into()
                .map_err(|error: toml::de::Error| ConfigError::Invalid {
                    origin,
                    message: error.to_string(),
                })?;
        config.check()?;
        Ok(config)
    }

    /// Checks that numbers are within their bounds: a retention of zero would remove rows that it
    /// should keep, and an endless one would remove nothing.
    fn check(&self) -> Result<(), ConfigError> {
        if self.server.tls_certificate.is_empty() != self.server.tls_key.is_empty() {
            return Err(ConfigError::Invalid {
                origin: "server.tls_certificate without server.tls_key, or the other way round,"
                    .to_owned(),
                message: "set both, or neither".to_owned(),
            });
        }
        let bounded = bounded! {
            self;
            server.header_seconds: 1..=YEAR;
            server.body_seconds: 1..=YEAR;
            server.answer_seconds: 1..=YEAR;
            server.drain_seconds: 0..=YEAR;
            server.linger_ms: 0..=60_000;
            plugins.compile_seconds: 0..=YEAR;
            plugins.trial_seconds: 1..=YEAR;
            verify.deliveries: 0..=limits::VERIFY_DELIVERIES_MOST.into();
            verify.seconds: 1..=limits::VERIFY_LONGEST.as_secs().into();
            verify.failing_per_mille: 0..=1_000;
            verify.lost_per_mille: 0..=1_000;
            verify.leads_per_mille: 0..=1_000;
            worker.lease_seconds: 1..=YEAR;
            worker.fetch_seconds: 1..=YEAR;
            worker.fetch_days: 1..=CENTURY;
            worker.backoff_first_seconds: 0..=YEAR;
            worker.backoff_longest_seconds: 0..=YEAR;
            messages.answer_seconds: 0..=YEAR;
            messages.backoff_first_seconds: 0..=YEAR;
            messages.backoff_longest_seconds: 0..=YEAR;
            messages.templates_minutes: 1..=YEAR / 60;
            analytics.refresh_seconds: 0..=YEAR;
            retention.deliveries_days: 1..=CENTURY;
            retention.quarantine_days: 1..=CENTURY;
            retention.idempotency_hours: 1..=YEAR / 3_600;
        };
        for (key, value, bounds) in bounded {
            if !bounds.contains(&value) {
                return Err(ConfigError::OutOfBounds {
                    key,
                    value,
                    least: *bounds.start(),
                    most: *bounds.end(),
                });
            }
        }
        Ok(())
    }
}

fn parse(origin: &str, text: &str) -> Result<toml::Table, ConfigError> {
    text.parse::<toml::Table>()
        .map_err(|error| ConfigError::Invalid {
            origin: origin.to_owned(),
            message: error.to_string(),
        })
}

fn merge(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(over)) => merge(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn set(table: &mut toml::Table, key: &str, text: &str) -> Result<(), ConfigError> {
    let invalid = || ConfigError::Invalid {
        origin: format!("`{key}={text}`"),
        message: "expected section.key".to_owned(),
    };
    let (section, name) = key.split_once('.').ok_or_else(invalid)?;
    let known = table
        .get(section)
        .and_then(|section| section.get(name))
        .ok_or_else(|| ConfigError::Invalid {
            origin: format!("`{key}={text}`"),
            message: "there is no such key".to_owned(),
        })?;
    let value = match known {
        toml::Value::Integer(_) => {
            toml::Value::Integer(text.parse().map_err(|_| ConfigError::Invalid {
                origin: format!("`{key}={text}`"),
                message: "expected a whole number".to_owned(),
            })?)
        }
        _ => toml::Value::String(text.to_owned()),
    };
    if let Some(toml::Value::Table(section)) = table.get_mut(section) {
        section.insert(name.to_owned(), value);
    }
    Ok(())
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
    fn the_password_of_a_store_is_not_shown() {
        let url = StoreUrl::new("postgres://ana:hidden@db.example.com:6432/leads?sslkey=hidden");
        let shown = format!("{url:?} {url}");
        assert!(
            !shown.contains("hidden") && !shown.contains("ana"),
            "{shown}"
        );
        assert!(shown.contains("db.example.com:6432/leads"), "{shown}");
        for unfinished in [
            "ana:hidden@db.example.com",
            "postgres:hidden@db.example.com",
        ] {
            let shown = StoreUrl::new(unfinished).to_string();
            assert!(!shown.contains("hidden"), "{shown}");
        }
    }

    #[test]
    fn a_flag_overrides_one_key_and_an_unknown_key_is_named() {
        let over =
            |key: &str, value: &str| Config::load(None, &[(key.to_owned(), value.to_owned())]);
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

    #[test]
    fn a_time_out_of_bounds_is_refused_by_name() {
        let over =
            |key: &str, value: &str| Config::load(None, &[(key.to_owned(), value.to_owned())]);
        for (key, least, most) in [
            ("retention.deliveries_days", 1, 36_500),
            ("retention.quarantine_days", 1, 36_500),
            ("retention.idempotency_hours", 1, 8_760),
        ] {
            for right in [least, most] {
                over(key, &right.to_string()).expect("within bounds");
            }
            for wrong in [-1, 0, most + 1, 999_999_999, i64::MAX, i64::MIN] {
                let error = over(key, &wrong.to_string()).expect_err("out of bounds");
                assert_eq!(
                    error.to_string(),
                    format!("{key} = {wrong} is out of bounds: it must be {least} to {most}")
                );
            }
        }
        let lease = over("worker.lease_seconds", "-1").expect_err("out of bounds");
        assert!(matches!(lease, ConfigError::OutOfBounds { .. }), "{lease}");
    }
}
