//! Debian's Prometheus: its programs, and a private server on the loopback interface.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{files, process, wait};

/// Both the package and its server. The package has `promtool` too.
const PROGRAM: &str = "prometheus";

const PATIENCE: Duration = Duration::from_secs(60);

pub fn prepare(install: Install) -> Result<(), Failure> {
    if process::find(PROGRAM).is_some() && process::find("promtool").is_some() {
        return Ok(());
    }
    install.debian_server(
        &[PROGRAM],
        &[PROGRAM, "prometheus-node-exporter"],
        "to check the metrics and alerts, and to show one",
    )
}

pub fn promtool(folder: &Path, arguments: &[&str]) -> Result<(), Failure> {
    process::output(Command::new("promtool").current_dir(folder).args(arguments)).map(drop)
}

pub struct Prometheus {
    pub address: String,
    child: Child,
}

impl Prometheus {
    pub fn start(folder: &Path) -> Result<Self, Failure> {
        let address = free_address().context("finding a free port")?;
        let log = folder.join("prometheus.log");
        let file = files::create(&log)?;
        let child = Command::new(PROGRAM)
            .current_dir(folder)
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=series"])
            .arg("--enable-feature=exemplar-storage")
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .context(format!("starting {PROGRAM}"))?;
        let mut own = Self { address, child };
        let start = Instant::now();
        while own.get("/-/ready").is_err() {
            let ended = own.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || start.elapsed() > PATIENCE {
                return Err(Failure::new("Prometheus did not start")
                    .hint(format!("{} says why", log.display())));
            }
            wait::pause();
        }
        Ok(own)
    }

    pub fn firing(&self, alert: &str) -> Result<Vec<Value>, Failure> {
        let answer = self.ask("/api/v1/alerts")?;
        let Some(alerts) = answer["data"]["alerts"].as_array() else {
            return Err(Failure::new(format!("Prometheus answered {answer}")));
        };
        let fires = |one: &&Value| one["labels"]["alertname"] == alert && one["state"] == "firing";
        Ok(alerts.iter().filter(fires).cloned().collect())
    }

    pub fn has(&self, metric: &str) -> Result<bool, Failure> {
        let answer = self.ask(&format!("/api/v1/query?query={metric}"))?;
        let series = answer["data"]["result"].as_array();
        Ok(series.is_some_and(|series| !series.is_empty()))
    }

    pub fn exemplars(&self, metric: &str) -> Result<Vec<Value>, Failure> {
        let path = format!("/api/v1/query_exemplars?query={metric}&start=0&end=4102444800");
        let answer = self.ask(&path)?;
        let series = answer["data"].as_array().cloned().unwrap_or_default();
        let of = |series: &Value| series["exemplars"].as_array().cloned().unwrap_or_default();
        Ok(series.iter().flat_map(of).collect())
    }

    fn ask(&self, path: &str) -> Result<Value, Failure> {
        serde_json::from_str(&self.get(path)?).context(format!("reading {path} of Prometheus"))
    }

    fn get(&self, path: &str) -> Result<String, Failure> {
        let answer = client::get(&self.address, path)?;
        if answer.status != 200 {
            return Err(Failure::new(format!(
                "{path} answered {}: {}",
                answer.status, answer.body
            )));
        }
        Ok(answer.body)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        wait::stop(&mut self.child);
    }
}

/// Returns an address of the loopback interface that is free now.
fn free_address() -> std::io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
