//! `leadhost plugin`. `offline.rs` has the subcommands that need no service, `signing_key.rs` their
//! key file.

mod impact;
mod list;
mod offline;
mod rollout;
mod signing_key;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hyper::StatusCode;
use serde::Deserialize as _;
use serde_json::json;

use crate::admin_api::plugins::{
    ActivateRequest, CheckedPlugin, DeployedPlugin, RefusedActivation,
};
use crate::cli::client::{Client, Refusal, ServiceAddress, block_on, encoded};
use crate::cli::command::ServiceFlags;
use crate::cli::failure::Failure;
use crate::cli::output::{count, say};
use crate::cli::progress::Progress;
use crate::cli::table::{optional, safe};

#[derive(Subcommand)]
pub enum Plugin {
    /// List plugins, their active versions, and recent refusals
    List(list::List),
    /// Try a component as an activation would, and change nothing
    Check(Check),
    /// Compare a component with the active version, on stored deliveries, and change nothing
    Verify(verify::Verify),
    /// Show what a version did to the leads that it converted, compared with another version
    Impact(impact::Impact),
    /// Activate a component: a file, or NAME@DIGEST of a stored one
    Activate(Activate),
    /// Activate the previous version again
    Rollback(Rollback),
    /// Compare a stored version with the active one on live deliveries, without effect
    Shadow(rollout::Shadow),
    /// Show the last rollout of a plugin, start one, or change the open one
    Rollout(rollout::Rollout),
    /// Put golden cases into a component, which run wherever it is loaded
    Pack(offline::Pack),
    /// Create a key that signs components
    Keygen(offline::Keygen),
    /// Sign a component, so that its name is tied to your key
    Sign(offline::Sign),
}

impl Plugin {
    /// Runs the subcommand.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(command) => block_on(command.run()),
            Self::Check(command) => block_on(command.run()),
            Self::Verify(command) => block_on(command.run()),
            Self::Impact(command) => block_on(command.run()),
            Self::Activate(command) => block_on(command.run()),
            Self::Rollback(command) => block_on(command.run()),
            Self::Shadow(command) => block_on(command.run()),
            Self::Rollout(command) => block_on(command.run()),
            Self::Pack(command) => command.run(),
            Self::Keygen(command) => command.run(),
            Self::Sign(command) => command.run(),
        }
    }
}

#[derive(Args)]
pub struct Check {
    /// The component
    file: PathBuf,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Check {
    /// Prints what the trial of the component file shows. It activates nothing.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the file cannot be read or fails the trial, or if no admin key is found,
    /// or the service cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), Failure> {
        let wasm = read_component(&self.file)?;
        let client = self.service.client()?;
        let progress = Progress::start("compiling and running the trial");
        let answer = client.post_wasm("/admin/v1/plugins/check", wasm).await?;
        drop(progress);
        let report = answer.map_err(Failure::from)?;
        client.print(&report, show_checked);
        Ok(())
    }
}

fn show_checked(report: &CheckedPlugin) {
    say(&safe(&format!(
        "{} {} ({}), {}: usable, {} passed.",
        report.name,
        report.version,
        report.digest.short(),
        report.kind.as_str(),
        count(report.golden, "golden case", "golden cases"),
    )));
    for concern in &report.concerns {
        let what = &concern.what;
        say(&safe(&match concern.accept.as_str() {
            "" => format!("it cannot be activated: {what}"),
            word => format!("activating it needs --accept {word}: {what}"),
        }));
    }
}

#[derive(Args)]
pub struct Activate {
    /// A component file, or NAME@DIGEST of a stored one; its first 8 or more characters are enough
    what: String,
    /// What to accept with this activation: drift, new-publisher, fewer-cases, new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, same-version, all; may be repeated
    #[arg(long, value_name = "WHAT")]
    accept: Vec<String>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Activate {
    /// Activates a component file, or a stored version that is named as `NAME@DIGEST`. Calls in
    /// flight end on the old version; calls that begin after the answer run on the new one.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the file cannot be read or an objection is not accepted, or if no admin
    /// key is found, or the service cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        let progress =
            Progress::start("compiling, running the trial, and comparing with the active version");
        let answer = match stored(&self.what) {
            Some((name, digest)) => {
                let path = format!("/admin/v1/plugins/{}/activate", encoded(name));
                let body = ActivateRequest {
                    digest: digest.to_owned(),
                    accept: self.accept,
                };
                client.try_post(&path, &body).await?
            }
            None => {
                let wasm = read_unstored(&self.what, &client)?;
                let accept: String = self
                    .accept
                    .iter()
                    .map(|what| format!("&accept={}", encoded(what)))
                    .collect();
                let path = format!("/admin/v1/plugins?activate=true{accept}");
                client.post_wasm(&path, wasm).await?
            }
        };
        drop(progress);
        let deployed = answer.map_err(|refusal| explain(refusal, client.json()))?;
        client.print(&deployed, |deployed| say_deployed(deployed, client.flags()));
        Ok(())
    }
}

/// Prints the differences for which an activation is refused, and names the `--accept` that
/// overrides the refusal.
fn explain(refusal: Refusal, json: bool) -> Failure {
    let refused = RefusedActivation::deserialize(&refusal.body).ok();
    let refused = refused.filter(|_| refusal.status == StatusCode::CONFLICT);
    let verification = refused.iter().find_map(|one| one.verification.as_ref());
    if let Some(verification) = verification.filter(|_| !json) {
        verify::show(verification);
    }
    let needed: Vec<String> = refused
        .iter()
        .flat_map(|refused| &refused.accept)
        .map(|what| format!("--accept {what}"))
        .collect();
    let failure = Failure::from(refusal);
    if needed.is_empty() {
        failure
    } else {
        failure.hint(format!("if this is intended, add {}", needed.join(" ")))
    }
}

#[derive(Args)]
pub struct Rollback {
    /// The plugin's name
    name: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Rollback {
    /// Activates the version that served before. It is still compiled, so this is quick.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.service.client()?;
        let path = format!("/admin/v1/plugins/{}/rollback", encoded(&self.name));
        let deployed = client.post(&path, &json!({})).await?;
        client.print(&deployed, |deployed| say_deployed(deployed, client.flags()));
        Ok(())
    }
}

fn read_component(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// Reads a component where a stored version could be named too.
fn read_unstored(what: &str, client: &Client) -> Result<Vec<u8>, Failure> {
    read_component(Path::new(what)).map_err(|failure| {
        failure.hint(format!(
            "name a component file, or a stored version as NAME@DIGEST; `{}` shows them",
            client.flags().command("plugin list")
        ))
    })
}

/// Splits `NAME@DIGEST`, which names a stored version. A file of this name comes first.
fn stored(what: &str) -> Option<(&str, &str)> {
    what.rsplit_once('@').filter(|_| !Path::new(what).exists())
}

/// Splits `NAME@DIGEST` where only a stored version can be named.
fn stored_only<'a>(what: &'a str, flags: &ServiceFlags) -> Result<(&'a str, &'a str), Failure> {
    stored(what).ok_or_else(|| {
        Failure::usage(format!(
            "`{what}` names no stored version: expected NAME@DIGEST, as `{}` shows them",
            flags.command("plugin list")
        ))
    })
}

/// Prints the version that an activation made active.
fn say_deployed(deployed: &DeployedPlugin, flags: &ServiceFlags) {
    if let Some(verification) = &deployed.verification {
        verify::show(verification);
    }
    say(&safe(&format!(
        "{} {} is active ({}, generation {}).",
        deployed.name,
        optional(deployed.version.as_ref()),
        deployed.digest.short(),
        optional(deployed.generation),
    )));
    for behind in deployed.behind.iter().flatten() {
        say(&safe(&format!(
            "Not yet active on {}: {}. Follow it with `{}`.",
            behind.host,
            behind.reason,
            flags.command("plugin list"),
        )));
    }
}
