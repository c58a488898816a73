//! `leadhost plugin test`: the one trial of a plugin. On this machine it runs the golden cases
//! (`cases.rs`, `tally.rs`); with `--on` a service compares the plugin with the version that serves, or
//! gives its deliveries to this machine (`here.rs`). Nothing is changed in the service.

pub mod cases;
mod here;
pub mod tally;

use clap::ArgGroup;

use self::cases::CaseFlags;
use self::here::Here;
use super::candidate::Candidate;
use super::component_file::ComponentFile;
use super::local::EngineFlags;
use super::named::stored;
use super::pack::PackFlags;
use super::{comparison, verifying};
use crate::cli::client::RemoteFlags;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{VerifiedPlugin, VerifyRequest};
use leadhost_plugin::Loaded;

#[derive(Args)]
pub struct Test {
    /// The component or the core module, or the folder of a project that is built; with --on also oci://REGISTRY/NAME:TAG of a registry, or NAME@DIGEST of a stored version, with at least the first 8 characters of the digest
    #[arg(default_value = ".")]
    what: String,
    /// Also compare it with the version that serves, in the service whose admin API has this address, such as <https://leads.example.com> [default: the service of the data folder]
    #[arg(long, value_name = "HOST", num_args = 0..=1)]
    on: Option<Option<String>>,
    #[command(flatten)]
    cases: CaseFlags,
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    engine: EngineFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

// The deliveries of the comparison.
#[derive(Args)]
#[command(next_help_heading = "With --on", group(ArgGroup::new("which").multiple(true).args(["deliveries", "connection", "failed"])))]
struct Chosen {
    /// Compare at most this many deliveries: the newest of each connection and outcome. At most half of them are failed or parked, unless there are too few others
    #[arg(long, value_name = "COUNT", requires = "on")]
    last: Option<u32>,
    /// Only deliveries received since a date, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 24h
    #[arg(long, value_name = "TIME", requires = "on", conflicts_with = "here")]
    since: Option<String>,
    /// Only failed and parked deliveries
    #[arg(long, requires = "on")]
    failed: bool,
    /// Stop after this many seconds, and report the comparisons made by then
    #[arg(long, value_name = "SECONDS", requires = "on")]
    seconds: Option<u64>,
    /// Sign the component with this key first: a service asks about one that is signed otherwise than what serves
    #[arg(long, value_name = "FILE", requires = "on", conflicts_with = "here")]
    key: Option<PathBuf>,
    /// Convert the deliveries on this machine, without golden cases, and show the log of a call that fails
    #[arg(long, requires_all = ["on", "which"])]
    here: bool,
    /// With --here, the id of a delivery; may be repeated
    #[arg(long = "delivery", value_name = "ID", requires = "here", conflicts_with_all = ["connection", "failed"])]
    deliveries: Vec<String>,
    /// With --here, the newest deliveries of this connection: its name, workspace/name or id
    #[arg(long, value_name = "NAME", requires = "here")]
    connection: Option<String>,
}

impl Test {
    pub async fn run(self) -> CommandResult {
        let file = Path::new(&self.what);
        let Some(host) = &self.on else {
            if let Some((name, _)) = stored(&self.what) {
                return Err(CommandFailure::usage(format!(
                    "{} is no file; a stored version of {} is tested with --on",
                    safe(&self.what),
                    safe(name)
                )));
            }
            return self.on_this_machine(file).await;
        };
        let client = self.service.client_at(host.as_deref(), &self.remote)?;
        if self.chosen.here {
            let here = Here {
                file,
                chosen: &self.chosen,
                flags: &self.engine,
                service: &self.service,
            };
            return here.run(&client).await;
        }
        let pack = PackFlags {
            golden: self.cases.golden.clone(),
            key: self.chosen.key.clone(),
        };
        // The service runs the golden cases of what it gets, but shows less of those that fail.
        let candidate = if file.is_dir() || pack.is_given() {
            let config = self.service.config_file();
            let passed = self.cases.run(file, &self.engine, config).await?;
            if !client.json() {
                say(&safe(&passed.said));
            }
            Candidate::file(pack.pack(file, passed.component)?.wasm)
        } else {
            Candidate::read(&self.what, &pack, &client).await?
        };
        self.on_the_service(&client, candidate).await
    }

    async fn on_this_machine(&self, file: &Path) -> CommandResult {
        let config = self.service.config_file();
        let passed = self.cases.run(file, &self.engine, config).await?;
        if !self.service.json() {
            say(&safe(&passed.said));
            return Ok(());
        }
        let Loaded {
            description,
            kind,
            contract,
            ..
        } = &*passed.loaded;
        let digest = digest_as_published(passed.component);
        say_json(&json!({
            "name": description.name,
            "version": description.version,
            "digest": digest.as_ref().unwrap_or(&passed.loaded.digest),
            "kind": kind,
            "contract": contract,
            "golden": passed.golden,
            "engine": passed.engine,
        }));
        Ok(())
    }

    async fn on_the_service(&self, client: &AdminClient, candidate: Candidate) -> CommandResult {
        const COMPARING: &str = comparison::COMPARING;
        let Chosen { last, seconds, .. } = self.chosen;
        let query = query(&[
            ("last", last.map(|last| last.to_string())),
            ("since", self.chosen.since.clone()),
            ("failed", self.chosen.failed.then(|| "true".to_owned())),
            ("seconds", seconds.map(|seconds| seconds.to_string())),
        ]);
        let answer = match candidate {
            Candidate::Stored { name, digest } => {
                let path = format!("/admin/v1/plugins/{}/verify{query}", encoded(&name));
                let body = VerifyRequest {
                    digest: digest.clone(),
                };
                verifying::ask(client, COMPARING, (&path, &digest), &body).await?
            }
            Candidate::Unstored { wasm, .. } => {
                let path = format!("/admin/v1/plugins/verify{query}");
                verifying::send(client, COMPARING, &path, wasm).await?
            }
        };
        let verified: AdminAnswer<VerifiedPlugin> =
            answer.map_err(|refusal| refusal.about(&self.what))?;
        self.engine.show_of(client).await?;
        client.print(&verified, |verified| {
            let asked = comparison::GivenOptions {
                since: self.chosen.since.as_deref(),
                failed: self.chosen.failed,
                more: true,
                ..comparison::GivenOptions::default()
            };
            comparison::show_part(verified, "stored deliveries", &asked);
            comparison::show_concerns(&verified.concerns);
        });
        let concerns = verified.concerns.iter().map(|concern| &concern.what);
        let why: Vec<&str> = verified
            .drift
            .iter()
            .chain(concerns)
            .map(String::as_str)
            .collect();
        if why.is_empty() {
            return Ok(());
        }
        Err(failed_line!(
            "an activation would be refused: {}",
            why.join("; ")
        ))
    }
}

/// Returns the digest of a component as `plugin publish` sends it: with its golden cases. `None` if they
/// cannot be sent yet, which is said.
fn digest_as_published(read: ComponentFile) -> Option<Digest> {
    match read.with_its_cases() {
        Ok(whole) => Some(Digest::compute(&whole)),
        Err(failure) => {
            complain!("The digest is the component's without its golden cases: {failure}");
            None
        }
    }
}
