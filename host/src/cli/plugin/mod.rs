//! `leadhost plugin`. The subcommands for operators call the service. Those for integrators need none:
//! `new.rs` writes a project, `test.rs` and `run.rs` call a plugin in the service's own engine
//! (`local.rs`), `check.rs` does it with `--offline`, `dev/` builds a project after each change and
//! serves it in a private service, `doctor.rs` shows the toolchains, `offline.rs` works on files,
//! `push.rs` and `pull.rs` with a registry. `replay.rs` and `publish.rs` connect a project with a
//! running service.

mod answers;
mod body;
mod check;
mod component_file;
mod componentizing;
mod dev;
mod doctor;
mod impact;
mod language;
mod list;
pub mod local;
mod loss;
mod named;
mod new;
mod offline;
mod package;
mod project;
mod publish;
mod pull;
mod push;
mod registry;
mod remove;
mod replay;
mod rollout;
pub mod run;
pub mod shipped;
mod signing_key;
mod stale;
mod template;
mod test;
mod toolchain;
mod unstored;
mod update;
mod verify;
mod verifying;

use self::answers::{explain, say_deployed, texts};
use self::named::stored;
use self::unstored::UnstoredComponent;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{ActivateRequest, RollbackRequest};
use leadhost_domain::accept::AcceptWord;

#[derive(Subcommand)]
pub enum Plugin {
    /// Write the project of a new plugin, in Rust, TypeScript, Python or Go
    New(new::New),
    /// Build a project after each change, test it, and serve it in a private service on this machine
    Dev(Box<dev::Dev>),
    /// Put the SDK of this program into a project, and run its golden cases before and after
    Update(update::Update),
    /// Run the golden cases of a plugin on this machine, without a service
    Test(test::Test),
    /// Convert one body with a plugin on this machine, without a service
    Run(run::Run),
    /// Show which toolchains are on this machine, and how to install the others
    Doctor(doctor::Doctor),
    /// List plugins, their active versions, and recent refusals
    List(list::List),
    /// Try a component as an activation would, in the service or on this machine, and change nothing
    Check(check::Check),
    /// Compare a component with the active version, on stored deliveries, and change nothing
    Verify(verify::Verify),
    /// Convert stored deliveries of a service with a plugin on this machine, and compare the result
    Replay(Box<replay::Replay>),
    /// Try, compare and activate a built plugin in a service, step by step
    Publish(Box<publish::Publish>),
    /// Show what a version did to the leads that it converted, compared with another version
    Impact(impact::Impact),
    /// Activate a component from a file or a registry, or a stored version by its NAME@DIGEST
    Activate(Activate),
    /// Activate the previous version again
    Rollback(Rollback),
    /// Remove a stored version that nothing refers to any more
    Remove(remove::Remove),
    /// Compare a version with the active one on live deliveries, without effect
    Shadow(rollout::Shadow),
    /// Show the last rollout of a plugin, start one, or change the open one
    Rollout(rollout::Rollout),
    /// Put golden cases into a component, so that each service that loads it runs them; a core module becomes a component
    Pack(offline::Pack),
    /// Create a key that signs components
    Keygen(offline::Keygen),
    /// Sign a component, so that its name is tied to your key
    Sign(offline::Sign),
    /// Put a component into a registry of container images
    Push(push::Push),
    /// Download a component from a registry to a file
    Pull(pull::Pull),
}

impl Plugin {
    pub fn run(self) -> CommandResult {
        match self {
            Self::New(command) => command.run(),
            Self::Dev(command) => command.run(),
            Self::Update(command) => block_on(command.run()),
            Self::Test(command) => block_on(command.run()),
            Self::Run(command) => block_on(command.run()),
            Self::Doctor(command) => block_on(command.run()),
            Self::List(command) => block_on(command.run()),
            Self::Check(command) => block_on(command.run()),
            Self::Verify(command) => block_on(command.run()),
            Self::Replay(command) => block_on(command.run()),
            Self::Publish(command) => block_on(command.run()),
            Self::Impact(command) => block_on(command.run()),
            Self::Activate(command) => block_on(command.run()),
            Self::Rollback(command) => block_on(command.run()),
            Self::Remove(command) => block_on(command.run()),
            Self::Shadow(command) => block_on(command.run()),
            Self::Rollout(command) => block_on(command.run()),
            Self::Pack(command) => command.run(),
            Self::Keygen(command) => command.run(),
            Self::Sign(command) => command.run(),
            Self::Push(command) => command.run(),
            Self::Pull(command) => command.run(),
        }
    }
}

#[derive(Args)]
pub struct Activate {
    /// A component, a core module or the folder of a built project; oci://REGISTRY/NAME:TAG or oci://REGISTRY/NAME@sha256:DIGEST of a registry; or NAME@DIGEST of a stored version, with at least the first 8 characters of the digest
    what: String,
    /// A concern to accept with this activation: drift, new-publisher, fewer-cases, new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, same-version, all; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = AcceptWord::parse)]
    accept: Vec<AcceptWord>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Activate {
    /// Activates a component of a file or a registry, or a stored version that is named as
    /// `NAME@DIGEST`. Calls in flight end on the old version; calls that begin after the answer run
    /// on the new one.
    pub async fn run(self) -> CommandResult {
        let client = self.service.client()?;
        let doing = "compiling, running the trial, and comparing with the active version";
        let answer = match stored(&self.what) {
            Some((name, digest)) => {
                let path = format!("/admin/v1/plugins/{}/activate", encoded(name));
                let body = ActivateRequest {
                    digest: digest.to_owned(),
                    accept: texts(&self.accept),
                };
                verifying::ask(&client, doing, (&path, digest), &body).await?
            }
            None => {
                let UnstoredComponent { wasm, source } =
                    unstored::read(&self.what, &client).await?;
                let accept: String = self
                    .accept
                    .iter()
                    .map(|word| format!("&accept={word}"))
                    .collect();
                let query = query(&[("activate", Some("true".to_owned())), ("source", source)]);
                let path = format!("/admin/v1/plugins{query}{accept}");
                verifying::send(&client, doing, &path, wasm).await?
            }
        };
        let deployed =
            answer.map_err(|refusal| explain(refusal.about(&self.what), client.json()))?;
        client.print(&deployed, |deployed| say_deployed(deployed, client.flags()));
        Ok(())
    }
}

#[derive(Args)]
pub struct Rollback {
    /// The plugin's name
    name: String,
    /// A concern to accept: rolled-back, if the previous version was itself rolled back
    #[arg(long, value_name = "WHAT", value_parser = AcceptWord::parse)]
    accept: Vec<AcceptWord>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Rollback {
    pub async fn run(self) -> CommandResult {
        let client = self.service.client()?;
        let path = format!("/admin/v1/plugins/{}/rollback", encoded(&self.name));
        let request = RollbackRequest {
            accept: texts(&self.accept),
        };
        let answer = client.try_post(&path, &request).await?;
        let deployed = answer.map_err(|refusal| explain(refusal, client.json()))?;
        client.print(&deployed, |deployed| {
            say_deployed(deployed, client.flags());
            if let Some(left) = &deployed.previous {
                let command = format!("plugin impact {}@{}", quoted(&deployed.name), left.short());
                say_line!(
                    "To see what the version that was rolled back did to the leads that it converted: `{}`",
                    client.flags().command(&command)
                );
            }
        });
        Ok(())
    }
}
