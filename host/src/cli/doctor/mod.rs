//! `leadhost doctor`: checks a deployment, and says for each finding what to do. It changes nothing, and
//! checks what it can without a running service.

mod certificate;
mod clocks;
mod configured;
mod database;
mod finding;
mod folder;
mod listening;
mod remote_servers;
mod service;

use self::finding::{Finding, FindingState, Findings};
use super::client::{ADDRESSES_FILE, RemoteFlags, ServiceFile};
use crate::cli::prelude::*;
use leadhost_config::ConfigError;
use leadhost_store::StoreLocation;

#[derive(Args)]
pub struct Doctor {
    /// Check the running service at this address instead of the deployment on this machine: HOST:PORT or https://HOST
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// The database, if it is neither in the data folder nor in the configuration
    #[arg(
        long,
        value_name = "URL",
        env = "LEADHOST_STORE_URL",
        hide_env_values = true
    )]
    store_url: Option<String>,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
    warnings: usize,
    problems: usize,
}

impl Doctor {
    pub async fn run(self) -> CommandResult {
        let mut findings = Findings::default();
        if self.to.is_some() {
            self.check_service(&mut findings).await;
        } else {
            self.check_machine(&mut findings).await?;
        }
        self.report(&findings)?;
        match findings.number(FindingState::Problem) {
            0 => Ok(()),
            number => Err(failed!(
                "the deployment has {}",
                count(number as u64, "problem", "problems")
            )),
        }
    }

    async fn check_machine(&self, findings: &mut Findings) -> CommandResult {
        let config = match Config::load(self.service.config_file(), &self.overrides()) {
            Ok(config) => config,
            Err(error) if error.is_usage() => return Err(error.into()),
            Err(error) => {
                refuse_config(&error, findings);
                return Ok(());
            }
        };
        findings.ok(
            "configuration",
            match self.service.config_file() {
                Some(file) => format!("The configuration file {} is valid.", file.display()),
                None => "No configuration file is given; the defaults apply.".to_owned(),
            },
        );
        let data = config.store.data_dir.clone();
        let may_open = folder::check(&data, config.retention.deliveries_days, findings);
        match StoreLocation::from_config(&config.store) {
            // A database file opened by another user may leave files that the service cannot open.
            Ok(StoreLocation::File(_)) if !may_open => findings.warning(
                "database",
                "The database file was not opened, because the data folder is another user's.",
                "Run the command as the user of the service.",
            ),
            Ok(location) => database::check(&location, findings).await,
            Err(error) => findings.problem(
                "database",
                format!("store.url cannot be used: {error}."),
                "Correct store.url.",
            ),
        }
        clocks::check_system(findings).await;
        configured::check(&config, findings).await;
        let running = running(&data);
        listening::check(&config.server, running.as_ref(), findings).await;
        certificate::check(&config.server, running.as_ref(), findings);
        if running.is_some() {
            self.check_service(findings).await;
        } else {
            if may_open {
                folder::check_sealing_key(&data, findings);
            }
            findings.warning(
                "service",
                format!("No service runs on {}.", data.display()),
                format!(
                    "Start it with `{}`; if it is starting, wait for `ready` in its log.",
                    self.service.flags().command("serve")
                ),
            );
        }
        Ok(())
    }

    async fn check_service(&self, findings: &mut Findings) {
        let client = self.service.client_at(self.to.as_deref(), &self.remote);
        let checked = match client {
            Ok(client) => service::check(&client, findings).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = checked {
            let (what, todo) = failure.parts();
            findings.problem(
                "service",
                // A message of the service is a sentence already.
                format!(
                    "The service cannot be checked: {}.",
                    what.trim_end_matches('.')
                ),
                todo.unwrap_or("Check that it runs, and its log."),
            );
        }
    }

    fn overrides(&self) -> Vec<(String, String)> {
        let data_dir = self.service.data_dir().map(|dir| dir.display().to_string());
        [
            ("store.data_dir", data_dir),
            ("store.url", self.store_url.clone()),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
    }

    fn report(&self, findings: &Findings) -> CommandResult {
        if self.service.json() {
            let report = Report {
                findings: findings.all(),
                warnings: findings.number(FindingState::Warning),
                problems: findings.number(FindingState::Problem),
            };
            let text = serde_json::to_string_pretty(&report)
                .map_err(|error| failed!("cannot write the findings: {error}"))?;
            say(&text);
            return Ok(());
        }
        for finding in findings.all() {
            let Finding {
                state, about, what, ..
            } = finding;
            say_line!("{:<8} {about:<13} {what}", state.as_str());
            if let Some(todo) = &finding.todo {
                say_line!("{:22} -> {todo}", "");
            }
        }
        let warnings = findings.number(FindingState::Warning) as u64;
        let problems = findings.number(FindingState::Problem) as u64;
        say!(
            "\n{}, {}.",
            count(problems, "problem", "problems"),
            count(warnings, "warning", "warnings")
        );
        Ok(())
    }
}

fn refuse_config(error: &ConfigError, findings: &mut Findings) {
    for mistake in error.mistakes() {
        findings.problem(
            "configuration",
            format!("The configuration cannot be used: {mistake}."),
            "Correct it; `leadhost config` prints every key.",
        );
    }
}

/// Returns the addresses that a running service has written to the folder. `None` if none runs, or they
/// cannot be read.
fn running(folder: &Path) -> Option<ServiceFile> {
    // A crash leaves the addresses behind, and not the lock.
    if !leadhost_store::is_folder_locked(folder) {
        return None;
    }
    let text = std::fs::read_to_string(folder.join(ADDRESSES_FILE)).ok()?;
    serde_json::from_str(&text).ok()
}
