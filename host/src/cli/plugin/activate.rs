//! `leadhost plugin activate`: calls in flight end on the old version; calls that begin after the
//! answer run on the new one.

use std::path::Path;

use clap::Args;
use hyper::StatusCode;
use serde::Deserialize as _;

use super::{read_component, say_deployed};
use crate::admin_api::plugins::{ActivateRequest, RefusedActivation};
use crate::cli::client::{Reach, Refusal, encoded};
use crate::cli::failure::Failure;
use crate::cli::progress::Progress;

#[derive(Args)]
pub struct Activate {
    /// A component file, or NAME@DIGEST of a stored one; the start of the digest is enough
    what: String,
    /// What to accept with this activation: new-publisher, fewer-cases, new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, same-version, all; may be repeated
    #[arg(long, value_name = "WHAT")]
    accept: Vec<String>,
    #[command(flatten)]
    reach: Reach,
}

impl Activate {
    /// Activates a component file, or a stored version that is named as `NAME@DIGEST`.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the file cannot be read or an objection is not accepted, or if no admin
    /// key is found, or the service cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let progress = Progress::start("compiling and running the trial");
        let stored = self
            .what
            .rsplit_once('@')
            .filter(|_| !Path::new(&self.what).exists());
        let answer = match stored {
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
        let deployed = answer.map_err(explain)?;
        client.print(&deployed, say_deployed);
        Ok(())
    }
}

/// Names in a refusal the `--accept` that overrides it.
fn explain(refusal: Refusal) -> Failure {
    let refused = RefusedActivation::deserialize(&refusal.body).ok();
    let refused = refused.filter(|_| refusal.status == StatusCode::CONFLICT);
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
