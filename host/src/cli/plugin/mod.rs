//! `leadhost plugin`. The subcommands for operators call the service. Those for integrators need none:
//! `new/` writes a project, `test/` and `run.rs` call a plugin in the service's own engine (`local.rs`),
//! `dev/` builds a project after each change and serves it in a private service, `doctor.rs` shows the
//! toolchains, `push.rs` and `pull.rs` work with a registry. `test/` with `--on` and `publish.rs` connect
//! a plugin with a running service; `candidate.rs` is what they and rollouts take.

mod answers;
mod body;
mod candidate;
mod comparison;
mod component_file;
mod componentizing;
mod dev;
mod doctor;
mod impact;
mod keygen;
mod language;
mod list;
pub mod local;
mod loss;
mod named;
mod new;
mod pack;
mod package;
mod project;
mod publish;
mod pull;
mod push;
mod registry;
mod remove;
mod rollout;
pub mod run;
pub mod shipped;
mod signing_key;
mod stale;
mod template;
mod test;
mod toolchain;
mod update;
mod verifying;

use self::answers::{explain, say_deployed, texts};
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::RollbackRequest;
use leadhost_domain::accept::AcceptWord;

#[derive(Subcommand)]
pub enum Plugin {
    /// Write the project of a new plugin, in Rust, TypeScript, Python or Go
    New(new::New),
    /// Build a project after each change, test it, and serve it in a private service on this machine
    Dev(Box<dev::Dev>),
    /// Put the SDK of this program into a project, and run its golden cases before and after
    Update(update::Update),
    /// Try a plugin and run its golden cases on this machine; with --on compare it with what serves, and change nothing
    Test(Box<test::Test>),
    /// Convert one body with a plugin on this machine, without a service
    Run(run::Run),
    /// Show which toolchains are on this machine, and how to install the others
    Doctor(doctor::Doctor),
    /// List plugins, their active versions, and recent refusals
    List(list::List),
    /// Activate a built plugin or a stored version in a service, which tries and compares it first; or write it to a file
    Publish(Box<publish::Publish>),
    /// Show what a version did to the leads that it converted, compared with another version
    Impact(impact::Impact),
    /// Activate the previous version again
    Rollback(Rollback),
    /// Remove a stored version that nothing refers to
    Remove(remove::Remove),
    /// Show the last rollout of a plugin, start one or a shadow, or change the open one
    Rollout(rollout::Rollout),
    /// Create a key that signs components
    Keygen(keygen::Keygen),
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
            Self::Publish(command) => block_on(command.run()),
            Self::Impact(command) => block_on(command.run()),
            Self::Rollback(command) => block_on(command.run()),
            Self::Remove(command) => block_on(command.run()),
            Self::Rollout(command) => block_on(command.run()),
            Self::Keygen(command) => command.run(),
            Self::Push(command) => command.run(),
            Self::Pull(command) => command.run(),
        }
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
