//! `leadhost plugin activate`: calls in flight end on the old version; calls that begin after the
//! answer run on the new one.

use std::path::Path;

use clap::Args;
use hyper::StatusCode;
use serde::Deserialize as _;

use super::{read_component, say_deployed, stored, verify};
use crate::admin_api::plugins::{ActivateRequest, RefusedActivation};
use crate::cli::client::{Refusal, ServiceAddress, encoded};
use crate::cli::failure::Failure;
use crate::cli::progress::Progress;

#[derive(Args)]
pub struct Activate {
    /// A component file, or NAME@DIGEST of a stored one; the start of the digest is enough
    what: String,
    /// What to accept with this activation: drift, new-publisher, fewer-cases, new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, same-version, all; may be repeated
    #[arg(long, value_name = "WHAT")]
    accept: Vec<String>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Activate {
    /// Activates a component file, or a stored version that is named as `NAME@DIGEST`.
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
                let wasm = read_component(Path::new(&self.what))?;
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
        client.print(&deployed, say_deployed);
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
