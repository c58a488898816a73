use hyper::StatusCode;
use serde::Deserialize as _;

use super::comparison;
use crate::cli::client::ServiceRefusal;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{DeployedPlugin, RefusedActivation};
use leadhost_domain::accept::AcceptWord;

pub fn texts(words: &[AcceptWord]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Prints the differences for which an activation is refused, and names the `--accept` that
/// overrides the refusal.
pub fn explain(refusal: ServiceRefusal, json: bool) -> CommandFailure {
    let refused = RefusedActivation::deserialize(&refusal.body).ok();
    let refused = refused.filter(|_| refusal.status == StatusCode::CONFLICT);
    let verification = refused.iter().find_map(|one| one.verification.as_ref());
    if let Some(verification) = verification.filter(|_| !json) {
        comparison::show(verification);
    }
    let needed: Vec<String> = refused
        .iter()
        .flat_map(|refused| &refused.accept)
        .map(|word| format!("--accept {word}"))
        .collect();
    let failure = CommandFailure::from(refusal);
    if needed.is_empty() {
        failure
    } else {
        failure.hint(format!("if this is intended, add {}", needed.join(" ")))
    }
}

pub fn say_deployed(deployed: &DeployedPlugin, flags: &ServiceFlags) {
    if let Some(verification) = &deployed.verification {
        comparison::show(verification);
    }
    say_active(deployed, flags);
}

/// Prints which version is active now, and where not yet.
pub fn say_active(deployed: &DeployedPlugin, flags: &ServiceFlags) {
    say_line!(
        "{} {} is active ({}, generation {}).",
        deployed.name,
        optional(deployed.version.as_ref()),
        deployed.digest.short(),
        optional(deployed.generation),
    );
    for behind in deployed.behind.iter().flatten() {
        say_line!(
            "Not yet active on {}: {}. Follow it with `{}`.",
            behind.host,
            behind.reason,
            flags.command("plugin list"),
        );
    }
}
