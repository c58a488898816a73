//! `leadhost plugin publish`: makes a version the one that serves. The build of a project is tried on this
//! machine first; the service tries every component, compares it with the active version, and activates it
//! or begins a rollout. With `-o` the component is written to a file instead.

use super::answers::{explain, say_deployed, texts};
use super::candidate::Candidate;
use super::component_file::{self, ComponentFile};
use super::local::EngineFlags;
use super::pack::{PackFlags, Packed};
use super::test::cases;
use super::{project, rollout, verifying};
use crate::cli::client::{Answered, RemoteFlags};
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{ActivateRequest, DeployedPlugin};
use leadhost_domain::accept::AcceptWord;

#[derive(Args)]
pub struct Publish {
    /// The folder of a built project, a component or a core module; oci://REGISTRY/NAME:TAG or oci://REGISTRY/NAME@sha256:DIGEST of a registry; or NAME@DIGEST of a stored version, with at least the first 8 characters of the digest
    #[arg(default_value = ".")]
    what: String,
    /// The address of the service's admin API, such as <https://leads.example.com> [default: the service of the data folder]
    #[arg(long, value_name = "HOST")]
    to: Option<String>,
    /// A concern to accept: drift, new-publisher, fewer-cases, new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, same-version, all; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = AcceptWord::parse)]
    accept: Vec<AcceptWord>,
    /// Begin a rollout instead of activating it at once; `plugin rollout start` has options for its steps
    #[arg(long)]
    rollout: bool,
    /// Only write the component to this file, with its golden cases and its signature
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["to", "accept", "rollout"])]
    output: Option<PathBuf>,
    /// Take the build of a project even if a source was changed after it
    #[arg(long)]
    stale: bool,
    #[command(flatten)]
    pack: PackFlags,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    engine: EngineFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Publish {
    pub async fn run(self) -> CommandResult {
        let file = Path::new(&self.what);
        if let Some(output) = &self.output {
            let Packed { wasm, said } = self.pack.pack(file, self.read(file)?)?;
            std::fs::write(output, wasm)
                .map_err(|error| failed!("cannot write {}: {error}", output.display()))?;
            say!("{} {said}.", output.display());
            return Ok(());
        }
        let client = self.service.client_at(self.to.as_deref(), &self.remote)?;
        let candidate = if file.is_dir() {
            self.build_of_project(file).await?
        } else {
            Candidate::read(&self.what, &self.pack, &client).await?
        };
        if self.rollout {
            rollout::begin_canary(&client, &self.what, candidate, &self.accept).await
        } else {
            self.activate(&client, candidate).await
        }
    }

    fn read(&self, file: &Path) -> CommandResult<ComponentFile> {
        component_file::read_current(file, self.stale)
    }

    /// Returns the build of a project after the trial of an activation on this machine, golden cases
    /// included.
    async fn build_of_project(&self, folder: &Path) -> CommandResult<Candidate> {
        let component = self.read(folder)?;
        let engine = self.engine.start(self.service.config_file())?;
        cases::write_missing(&engine, &component, folder).await?;
        let wasm = self.pack.pack(folder, component)?.wasm;
        let progress = ProgressLine::start("trying it on this machine");
        let prepared = engine.load(wasm.clone()).await;
        drop(progress);
        let prepared = prepared.map_err(|failure| {
            failure
                .about(folder)
                .also("nothing was sent; `leadhost plugin test` shows each golden case that fails")
        })?;
        project::check_built(folder, &prepared.loaded)
            .map_err(|failure| failure.also("nothing was sent"))?;
        if prepared.golden == 0 {
            complain(
                "The component has no golden cases: nothing shows that it reads what it should.",
            );
        }
        if !self.service.json() {
            let loaded = &prepared.loaded;
            say_line!(
                "{} {} ({}), {}: usable, {} passed.",
                loaded.description.name,
                loaded.description.version,
                loaded.digest.short(),
                loaded.kind.as_str(),
                count(prepared.golden, "golden case", "golden cases"),
            );
        }
        self.engine.show(&engine);
        Ok(Candidate::file(wasm))
    }

    /// Has the service try, compare and activate a version. Calls in flight end on the old version; calls
    /// that begin after the answer run on the new one.
    async fn activate(&self, client: &AdminClient, candidate: Candidate) -> CommandResult {
        let doing = "compiling, running the trial, and comparing with the active version";
        let answer: Answered<DeployedPlugin> = match candidate {
            Candidate::Stored { name, digest } => {
                let path = format!("/admin/v1/plugins/{}/activate", encoded(&name));
                let body = ActivateRequest {
                    digest: digest.clone(),
                    accept: texts(&self.accept),
                };
                verifying::ask(client, doing, (&path, &digest), &body).await?
            }
            Candidate::Unstored { wasm, source } => {
                let accept = self.accept.iter();
                let accept: String = accept.map(|word| format!("&accept={word}")).collect();
                let query = query(&[("activate", Some("true".to_owned())), ("source", source)]);
                let path = format!("/admin/v1/plugins{query}{accept}");
                verifying::send(client, doing, &path, wasm).await?
            }
        };
        let deployed =
            answer.map_err(|refusal| explain(refusal.about(&self.what), client.json()))?;
        client.print(&deployed, |deployed| {
            say_deployed(deployed, client.flags());
            let before = deployed.previous.as_ref();
            if before.is_some_and(|before| *before != deployed.digest) {
                say_line!(
                    "`{}` activates the version before it again.",
                    client
                        .flags()
                        .command(&format!("plugin rollback {}", quoted(&deployed.name)))
                );
            }
        });
        Ok(())
    }
}
