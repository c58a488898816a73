//! The files of `examples/monitoring`, checked and shown: `promtool` finds nothing in the metrics, the
//! alerts and their tests, and in a private Prometheus the alert about a connection whose leads have
//! stopped fires and clears.

mod prometheus;

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::Args;
use crate::client;
use crate::failure::{Context, Failure, Hint};
use crate::install::Install;
use crate::service::Service;
use crate::{files, repository, run, wait};
use prometheus::{Prometheus, promtool};

pub const HELP: &str = "\
Starts the built service with the demo workspace and a Prometheus that reads its metrics, sends
leads, stops, and waits until the alert about the stopped connection fires; then it sends again
until the alert clears. Before that, promtool checks the metrics and the files of
examples/monitoring. Takes some two minutes, because its alert waits for seconds, not hours.

    cargo xtask monitoring [--stay] [--debug] [--no-install]

    --stay         afterwards keeps both running until Ctrl-C, to look at
    --debug        builds the service without optimisation: builds faster, runs slower
    --no-install   never install anything; report what is missing

It uses free ports of the loopback interface, and keeps its files and logs in target/monitoring
until the next run. Prometheus is Debian's package.
";

const EXAMPLES: &str = "examples/monitoring";

const ALERT: &str = "LeadhostConnectionStopped";
const CONNECTION: &str = "portal";

/// What is different in the alert that is shown: seconds instead of hours and minutes.
const SHORTENED: [(&str, &str); 4] = [
    ("[1d] offset 1h", "[60s] offset 15s"),
    ("[1h]", "[15s]"),
    ("> 24", "> 5"),
    ("for: 5m", "for: 3s"),
];

/// The leads before the connection stops.
const LEADS: u32 = 20;

/// The longest wait for the alert to fire or to clear.
const PATIENCE: Duration = Duration::from_secs(180);

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let stays = args.flag("--stay");
    let profile = args.profile();
    args.nothing_more()?;
    prometheus::prepare(install)?;
    show(install, profile, stays)
}

/// Runs the task for the tests. Returns what was left out if there is no Prometheus and it cannot
/// be installed.
pub fn test(install: Install) -> Result<Vec<String>, Failure> {
    if let Err(failure) = prometheus::prepare(install) {
        return Ok(vec![format!(
            "the checks of {EXAMPLES} with Prometheus.\n  {failure}"
        )]);
    }
    show(install, "dev", false).map(|()| Vec::new())
}

/// Has promtool check the files, and run the tests of the alerts. Returns what was left out if it is missing
/// and cannot be installed.
pub fn check_files(install: Install) -> Result<Vec<String>, Failure> {
    if let Err(failure) = prometheus::prepare(install) {
        return Ok(vec![format!(
            "promtool on the files of {EXAMPLES}.\n  {failure}"
        )]);
    }
    check(&repository::root().join(EXAMPLES)).map(|()| Vec::new())
}

fn check(examples: &Path) -> Result<(), Failure> {
    promtool(examples, &["check", "config", "prometheus.yml"])?;
    promtool(examples, &["check", "rules", "--lint=all", "alerts.yml"])?;
    promtool(examples, &["test", "rules", "alerts.test.yml"])?;
    check_every_alert_is_tested(examples)?;
    tell("promtool finds nothing in the configuration, the alerts and their tests");
    Ok(())
}

fn show(install: Install, profile: &str, stays: bool) -> Result<(), Failure> {
    let examples = repository::root().join(EXAMPLES);
    check(&examples)?;

    let program = run::build(install, profile)?;
    let folder = repository::target().join("monitoring");
    files::make_folder(&folder)?;
    let workspace = repository::root().join("examples/quickstart/workspace.toml");
    let service = Service::start(&program, &folder, &workspace, None)?;
    fire_and_clear(&service, &examples, &folder, stays)
}

/// promtool says nothing of a rule that no test asks for.
fn check_every_alert_is_tested(examples: &Path) -> Result<(), Failure> {
    let rules = files::text(examples.join("alerts.yml"))?;
    let tests = files::text(examples.join("alerts.test.yml"))?;
    let tested: Vec<&str> = values(&tests, "alertname:").collect();
    match values(&rules, "- alert:").find(|alert| !tested.contains(alert)) {
        Some(alert) => Err(Failure::new(format!(
            "{alert} of {EXAMPLES}/alerts.yml has no test in alerts.test.yml: add one"
        ))),
        None => Ok(()),
    }
}

fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter_map(move |line| line.trim().strip_prefix(key).map(str::trim))
}

fn fire_and_clear(
    service: &Service,
    examples: &Path,
    folder: &Path,
    stays: bool,
) -> Result<(), Failure> {
    let admin = service.address("admin")?;
    let portal = Portal::from_service(service)?;
    let prometheus = start_prometheus(examples, folder, &admin)?;
    tell(&format!(
        "Prometheus at http://{} reads the metrics of http://{admin}/metrics",
        prometheus.address
    ));

    let fires = || Ok(!prometheus.firing(ALERT)?.is_empty());
    // Prometheus begins some seconds after its start, and sees only increases since then.
    portal.send()?;
    wait("Prometheus reads the leads", || {
        prometheus.has("leadhost_leads_total")
    })?;
    for _ in 1..LEADS {
        portal.send()?;
        wait::pause();
    }
    check_metrics(&admin, folder)?;
    tell("promtool finds nothing in the metrics");
    tell(&format!("{CONNECTION} has sent {LEADS} leads, and stops"));
    wait("the alert fires", fires)?;
    let firing = prometheus.firing(ALERT)?;
    let annotations = &firing[0]["annotations"];
    tell(&format!(
        "FIRING {ALERT} of {}: {} {}\n        do: {}",
        firing[0]["labels"]["connection"].as_str().unwrap_or("?"),
        annotations["summary"].as_str().unwrap_or("?"),
        annotations["description"].as_str().unwrap_or("?"),
        annotations["command"].as_str().unwrap_or("?"),
    ));
    if firing.len() != 1 || firing[0]["labels"]["connection"] != CONNECTION {
        return Err(Failure::new(format!("other connections too: {firing:?}")));
    }
    wait("the alert clears", || {
        portal.send()?;
        fires().map(|fires| !fires)
    })?;
    tell(&format!(
        "{CONNECTION} sends again, and the alert has cleared"
    ));
    let exemplars = prometheus.exemplars("leadhost_plugin_call_duration_seconds_bucket")?;
    let named = exemplars
        .iter()
        .find_map(|exemplar| exemplar["labels"]["delivery_id"].as_str());
    let Some(delivery) = named else {
        return Err(Failure::new(
            "no exemplar of a plugin's call names its delivery",
        ));
    };
    tell(&format!(
        "a call's time names its delivery: leadhost delivery show {delivery}"
    ));
    if stays {
        tell("Ctrl-C ends both");
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("listening for signals")?;
        signals.forever().next();
    }
    Ok(())
}

fn tell(sentence: &str) {
    eprintln!("monitoring  {sentence}");
}

fn wait(what: &str, holds: impl Fn() -> Result<bool, Failure>) -> Result<(), Failure> {
    wait::until(what, PATIENCE, || Ok(holds()?.then_some(())))
        .hint("target/monitoring has the logs of both")
}

/// Starts a Prometheus with the files of the examples, which reads often, and whose alert about a
/// stopped connection needs seconds.
fn start_prometheus(examples: &Path, folder: &Path, admin: &str) -> Result<Prometheus, Failure> {
    let alerts = shortened(&files::text(examples.join("alerts.yml"))?)?;
    files::write(folder.join("alerts.yml"), alerts)?;
    let every_second = [
        ("127.0.0.1:8081", admin),
        ("scrape_interval: 15s", "scrape_interval: 1s"),
        ("evaluation_interval: 15s", "evaluation_interval: 1s"),
    ];
    let config = files::text(examples.join("prometheus.yml"))?;
    let config = replaced(&config, &every_second)?;
    files::write(folder.join("prometheus.yml"), config)?;
    files::remove_folder(folder.join("series"))?;
    Prometheus::start(folder)
}

/// Returns the alerts with the times of [`ALERT`] shortened, and of no other.
fn shortened(alerts: &str) -> Result<String, Failure> {
    let heading = format!("- alert: {ALERT}\n");
    let missing = || Failure::new(format!("{EXAMPLES}/alerts.yml has no {ALERT}"));
    let (before, rest) = alerts.split_once(&heading).ok_or_else(missing)?;
    let (rule, after) = rest.split_once("- alert: ").ok_or_else(missing)?;
    let rule = replaced(rule, &SHORTENED)?;
    Ok(format!("{before}{heading}{rule}- alert: {after}"))
}

/// Replaces parts of a text, and fails if one is missing.
fn replaced(text: &str, changes: &[(&str, &str)]) -> Result<String, Failure> {
    let mut text = text.to_owned();
    for (from, to) in changes {
        if !text.contains(from) {
            return Err(Failure::new(format!(
                "a file of {EXAMPLES} has no `{from}`"
            )));
        }
        text = text.replace(from, to);
    }
    Ok(text)
}

/// Has promtool check the metrics of the running service.
fn check_metrics(admin: &str, folder: &Path) -> Result<(), Failure> {
    let metrics = folder.join("metrics.txt");
    files::write(&metrics, client::get(admin, "/metrics")?.body)?;
    let input = File::open(&metrics).context("reading the metrics")?;
    let output = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(input)
        .output()
        .context("starting promtool")?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "promtool check metrics: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )))
}

/// A portal that sends leads to its connection.
struct Portal {
    gateway: String,
    path: String,
    authorization: String,
    sent: Cell<u32>,
}

impl Portal {
    fn from_service(service: &Service) -> Result<Self, Failure> {
        let keys = service.keys()?;
        let text = |value: &Value| {
            let missing = || Failure::new("keys.json does not have the portal");
            value.as_str().map(str::to_owned).ok_or_else(missing)
        };
        let id = text(&keys["connections"][CONNECTION])?;
        Ok(Self {
            gateway: service.address("gateway")?,
            path: format!("/ingest-lead/{id}"),
            authorization: text(&keys["connectionHeaders"][CONNECTION]["authorization"])?,
            sent: Cell::new(0),
        })
    }

    fn send(&self) -> Result<(), Failure> {
        let number = self.sent.get();
        self.sent.set(number + 1);
        let lead = json!({
            "leadOrigin": "Portal", "timestamp": "2030-01-15T12:00:00.000Z", "originLeadId": format!("lead-{number}"),
            "name": "Rita Moura", "email": "rita.moura@example.com", "ddd": "11", "phone": "987650001",
        });
        let body = lead.to_string();
        let headers = [
            ("Authorization", self.authorization.clone()),
            ("Content-Type", "application/json".to_owned()),
        ];
        let answer = client::send(&self.gateway, "POST", &self.path, &headers, &body)?;
        if answer.status == 200 {
            return Ok(());
        }
        Err(Failure::new(format!(
            "a lead was answered {}: {}",
            answer.status, answer.body
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shown_alert_is_shortened() {
        let path = repository::root().join(EXAMPLES).join("alerts.yml");
        let alerts = files::text(path).expect("it is there");
        let shortened = shortened(&alerts).expect("it has the alert");
        let differing = alerts
            .lines()
            .zip(shortened.lines())
            .filter(|(before, after)| before != after)
            .count();
        assert_eq!(differing, 3);
        assert_eq!(alerts.lines().count(), shortened.lines().count());
    }
}
