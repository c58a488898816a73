//! `leadhost plugin activate`: what began before on the old version ends on it,
//! everything that begins after the answer runs on the new one.

use std::path::Path;

use clap::Args;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::{read_component, say_deployed};
use crate::cli::client::{Reach, Refusal, encoded};
use crate::cli::failure::Failure;
use crate::cli::progress::Progress;

#[derive(Args)]
pub struct Activate {
    /// A component file, or NAME@DIGEST (or its first characters) of a stored one
    what: String,
    /// What this activation may bring: new-publisher, fewer-cases, new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, same-version, all; may be repeated
    #[arg(long, value_name = "WHAT")]
    accept: Vec<String>,
    #[command(flatten)]
    reach: Reach,
}

impl Activate {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let progress = Progress::start("compiling and trying it out");
        let stored = self
            .what
            .rsplit_once('@')
            .filter(|_| !Path::new(&self.what).exists());
        let answer = match stored {
            Some((name, digest)) => {
                let path = format!("/admin/v1/plugins/{}/activate", encoded(name));
                let body = json!({
                    "digest": digest,
                    "accept": self.accept,
                });
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

/// A refusal that an `--accept` would lift says which.
fn explain(refusal: Refusal) -> Failure {
    let needed: Vec<String> = refusal.body["accept"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|what| format!("--accept {what}"))
        .collect();
    let conflict = refusal.status == StatusCode::CONFLICT;
    let failure = Failure::from(refusal);
    if conflict && !needed.is_empty() {
        failure.hint(format!("if that is meant, say so: {}", needed.join(" ")))
    } else {
        failure
    }
}
