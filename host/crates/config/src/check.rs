//! The values that the keys of the configuration may have.

use leadhost_domain::export_headers::ExportHeaders;
use leadhost_domain::limits;
use leadhost_domain::network::Networks;
use leadhost_domain::publisher::TrustedKeys;

/// Seconds of 365 days.
const YEAR: i64 = 31_536_000;

/// Days of 100 years. The bound keeps times in microseconds far from overflow.
const CENTURY: i64 = 36_500;

/// The greatest value of a number without bounds of its own. It fits the type of every number, and
/// as mebibytes it is far from overflow.
const MOST: i64 = u32::MAX as i64;

/// The least and the greatest value of numbers: a retention of zero would remove rows that it
/// should keep, and an endless one would remove nothing. Any other number is from 0 to `MOST`.
pub const BOUNDS: &[(&str, i64, i64)] = &[
    ("server.bodies_peer_percent", 0, 100),
    ("server.bodies_connection_percent", 0, 100),
    ("server.answers_peer_percent", 0, 100),
    ("server.header_seconds", 1, YEAR),
    ("server.body_seconds", 1, YEAR),
    ("server.answer_seconds", 1, YEAR),
    ("server.idle_seconds", 1, 3_600),
    ("server.drain_seconds", 0, YEAR),
    ("server.linger_ms", 0, 60_000),
    ("plugins.inline_ms", 0, YEAR * 1_000),
    ("plugins.deadline_ms", 0, YEAR * 1_000),
    ("plugins.share_percent", 0, 100),
    ("plugins.compile_seconds", 0, YEAR),
    ("plugins.trial_seconds", 1, YEAR),
    ("plugins.warm_mib", 0, 1 << 20),
    (
        "verify.deliveries",
        0,
        limits::VERIFY_DELIVERIES_MOST as i64,
    ),
    ("verify.seconds", 1, limits::VERIFY_LONGEST.as_secs() as i64),
    ("verify.failing_per_mille", 0, 1_000),
    ("verify.lost_per_mille", 0, 1_000),
    ("verify.altered_per_mille", 0, 1_000),
    ("verify.leads_per_mille", 0, 1_000),
    ("verify.changed_fetches_per_mille", 0, 1_000),
    ("verify.changed_sends_per_mille", 0, 1_000),
    ("verify.changed_answers_per_mille", 0, 1_000),
    ("verify.slow_per_mille", 0, 1_000),
    ("verify.memory_times", 1, 1_000),
    ("verify.memory_mib", 1, 1 << 20),
    ("worker.lease_seconds", 1, YEAR),
    ("worker.fetch_seconds", 1, YEAR),
    ("worker.fetch_days", 1, CENTURY),
    ("worker.backoff_first_seconds", 0, YEAR),
    ("worker.backoff_longest_seconds", 0, YEAR),
    ("messages.answer_seconds", 0, YEAR),
    ("messages.backoff_first_seconds", 0, YEAR),
    ("messages.backoff_longest_seconds", 0, YEAR),
    ("messages.templates_minutes", 1, YEAR / 60),
    ("analytics.refresh_seconds", 0, YEAR),
    ("retention.deliveries_days", 1, CENTURY),
    ("retention.quarantine_days", 1, CENTURY),
    ("retention.idempotency_hours", 1, YEAR / 3_600),
    // Less would forget soon which versions were rolled back.
    ("retention.audit_days", 30, CENTURY),
    ("telemetry.traces_per_mille", 0, 1_000),
];

/// Checks a value by the default of its key, which is a number, a truth value or a text.
pub fn value(key: &str, known: &toml::Value, value: &toml::Value) -> Result<(), String> {
    match (known, value) {
        (toml::Value::Integer(_), _) => {
            let (least, most) = bounds(key);
            match value {
                toml::Value::Integer(number) if (least..=most).contains(number) => Ok(()),
                _ => Err(format!(
                    "is {}: expected a whole number from {least} to {most}",
                    found(value)
                )),
            }
        }
        (_, toml::Value::String(text)) => check_text(key, text),
        _ => Err(format!("is {}: expected a text in quotes", found(value))),
    }
}

/// Returns the least and the greatest value of a number.
pub fn bounds(key: &str) -> (i64, i64) {
    let own = BOUNDS.iter().find(|(name, ..)| *name == key);
    own.map_or((0, MOST), |&(_, least, most)| (least, most))
}

fn check_text(key: &str, text: &str) -> Result<(), String> {
    let (is_right, expected) = match key {
        "server.listen" | "server.admin_listen" => {
            (is_address(text), "host and port, such as 127.0.0.1:8080")
        }
        "server.data_listen" => (
            text.is_empty() || is_address(text),
            "host and port, such as 127.0.0.1:8082, or an empty text",
        ),
        "server.public_url" => (
            text.is_empty() || is_base_url(text),
            "http:// or https:// with a host, such as https://leads.example.com, or an empty text",
        ),
        "server.trusted_proxies" => {
            let networks = Networks::try_from(text.to_owned());
            return networks
                .map(drop)
                .map_err(|why| format!("cannot be used: {why}"));
        }
        "plugins.trusted_keys" => {
            let keys = TrustedKeys::try_from(text.to_owned());
            return keys
                .map(drop)
                .map_err(|why| format!("cannot be used: {why}"));
        }
        "telemetry.otlp_endpoint" => (
            text.is_empty() || is_base_url(text),
            "http:// or https:// with a host, such as http://127.0.0.1:4318, or an empty text",
        ),
        // The value is not quoted: it may hold a secret.
        "telemetry.otlp_headers" => {
            let headers = ExportHeaders::try_from(text.to_owned());
            return headers
                .map(drop)
                .map_err(|why| format!("cannot be used: {why}"));
        }
        "log.format" => (matches!(text, "text" | "json"), "text or json"),
        _ => return Ok(()),
    };
    if is_right {
        Ok(())
    } else {
        Err(format!("is \"{text}\": expected {expected}"))
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Returns whether paths can be appended to the text.
fn is_base_url(text: &str) -> bool {
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && !rest.contains(['?', '#', ' '])
    })
}

/// Returns a value as it is written. A list or a table may be long, and may contain a password.
fn found(value: &toml::Value) -> String {
    match value {
        toml::Value::Array(_) => "a list".to_owned(),
        toml::Value::Table(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}
