//! `leadhost plugin publish`: from a built project to the version that serves, step by step. Each step
//! can stop it, and the service is changed only by the last one.

use super::check::{TRYING, show as show_check, trial, tried};
use super::local::{EngineFlags, LocalEngine};
use super::{
    answers::{explain, say_active},
    component_file, project, test, verify, verifying,
};
use crate::cli::client::RemoteFlags;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::{DeployedPlugin, VerifiedPlugin};
use leadhost_domain::accept::AcceptWord;

#[derive(Args)]
pub struct Publish {
    /// The component or the core module, or the folder of a project that is built
    #[arg(default_value = ".")]
    file: PathBuf,
    /// The address of the service's admin API, such as <https://leads.example.com> [default: the service of the data folder]
    #[arg(long, value_name = "HOST")]
    to: Option<String>,
    /// A concern to accept with the activation, as for `plugin activate`; may be repeated
    #[arg(long, value_name = "WHAT", value_parser = AcceptWord::parse)]
    accept: Vec<AcceptWord>,
    /// Compare on at most this many stored deliveries
    #[arg(long, value_name = "COUNT")]
    last: Option<u32>,
    /// Stop the comparison after this many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Publish the build even if a source was changed after it
    #[arg(long)]
    stale: bool,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    engine: EngineFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

const STEPS: u8 = 4;

impl Publish {
    pub async fn run(self) -> CommandResult {
        let client = self.service.client_at(self.to.as_deref(), &self.remote)?;
        let component = component_file::read_current(&self.file, self.stale)?;
        let engine = self.engine.start(self.service.config_file())?;
        test::write_missing(&engine, &component, &self.file).await?;
        let wasm = component.with_its_cases()?;
        self.try_here(&engine, wasm.clone()).await?;
        self.check(&client, wasm.clone()).await?;
        self.compare(&client, wasm.clone()).await?;
        self.activate(&client, wasm).await
    }

    fn step(&self, number: u8, what: &str) {
        let line = format!("{number}/{STEPS} {what}");
        match self.service.json() {
            true => complain(&line),
            false => say(&line),
        }
    }

    /// Makes the trial of an activation on this machine, golden cases included.
    async fn try_here(&self, engine: &LocalEngine, wasm: Vec<u8>) -> CommandResult {
        self.step(1, "trial on this machine, with the golden cases");
        let progress = ProgressLine::start(TRYING);
        let prepared = engine.load(wasm).await;
        drop(progress);
        let prepared = prepared.map_err(|failure| {
            failure
                .about(&self.file)
                .also("nothing was sent; `leadhost plugin test` shows each golden case that fails")
        })?;
        project::check_built(&self.file, &prepared.loaded)
            .map_err(|failure| failure.also("nothing was sent"))?;
        if prepared.golden == 0 {
            complain(
                "The component has no golden cases: nothing shows that it reads what it should.",
            );
        }
        if !self.service.json() {
            say(&tried(&prepared));
        }
        self.engine.show(engine);
        Ok(())
    }

    /// Makes the trial in the service, which knows what an activation would change.
    async fn check(&self, client: &AdminClient, wasm: Vec<u8>) -> CommandResult {
        self.step(2, "trial in the service");
        let answer = trial(client, wasm).await?;
        let report = answer.map_err(|refusal| refusal.about(&self.file.to_string_lossy()))?;
        if !client.json() {
            show_check(&report);
        }
        // The next step shows the differences.
        let open = report.concerns.iter().filter(|concern| {
            let accepted = |word| word == AcceptWord::Drift || self.accepts(word);
            !concern.accept.is_some_and(accepted)
        });
        let open: Vec<_> = open.collect();
        if open.is_empty() {
            return Ok(());
        }
        let whats: Vec<&str> = open.iter().map(|one| one.what.as_str()).collect();
        let failure = failed_line!(
            "the service would refuse the activation: {}",
            whats.join("; ")
        );
        let words: Option<Vec<AcceptWord>> = open.iter().map(|one| one.accept).collect();
        Err(match words {
            Some(words) => failure.hint(format!(
                "nothing was changed; if this is intended, run the command again with {}",
                flags(&words)
            )),
            None => failure.hint("nothing was changed; this cannot be accepted: change the plugin, build it, and run the command again"),
        })
    }

    /// Has the service convert stored deliveries with both versions.
    async fn compare(&self, client: &AdminClient, wasm: Vec<u8>) -> CommandResult {
        self.step(3, "comparison on stored deliveries");
        let query = query(&[
            ("last", self.last.map(|last| last.to_string())),
            ("seconds", self.seconds.map(|seconds| seconds.to_string())),
        ]);
        let path = format!("/admin/v1/plugins/verify{query}");
        let answer = verifying::send(client, verify::COMPARING, &path, wasm).await?;
        let verified: AdminAnswer<VerifiedPlugin> =
            answer.map_err(|refusal| refusal.about(&self.file.to_string_lossy()))?;
        if !client.json() {
            let asked = verify::GivenOptions::default();
            verify::show_part(&verified, "stored deliveries", &asked);
        }
        if verified.drift.is_empty() || self.accepts(AcceptWord::Drift) {
            return Ok(());
        }
        if client.json() {
            say_json(&verified.json);
        }
        Err(failed_line!(
            "the differences would harm leads: {}",
            verified.drift.join("; ")
        )
        .hint(format!(
            "nothing was changed; `leadhost plugin replay` shows the differences, and the log of a call that fails, while you change the plugin; if they are intended, run the command again with {}",
            flags(&[AcceptWord::Drift])
        )))
    }

    async fn activate(&self, client: &AdminClient, wasm: Vec<u8>) -> CommandResult {
        self.step(4, "activation");
        let accept: String = self
            .accept
            .iter()
            .map(|word| format!("&accept={word}"))
            .collect();
        let path = format!("/admin/v1/plugins?activate=true{accept}");
        let answer = verifying::send(client, "activating", &path, wasm).await?;
        let deployed: AdminAnswer<DeployedPlugin> = answer.map_err(|refusal| {
            explain(refusal.about(&self.file.to_string_lossy()), client.json())
        })?;
        client.print(&deployed, |deployed| {
            // The step before has shown the comparison.
            say_active(deployed, client.flags());
            if can_be_rolled_back(deployed) {
                say_line!(
                    "`{}` activates the version before it again.",
                    client
                        .flags()
                        .command(&format!("plugin rollback {}", deployed.name))
                );
            }
        });
        Ok(())
    }

    fn accepts(&self, word: AcceptWord) -> bool {
        self.accept.contains(&word) || self.accept.contains(&AcceptWord::All)
    }
}

fn can_be_rolled_back(deployed: &DeployedPlugin) -> bool {
    let before = deployed.previous.as_ref();
    before.is_some_and(|before| *before != deployed.digest)
}

fn flags(words: &[AcceptWord]) -> String {
    let words = AcceptWord::in_order(words.iter().copied()).into_iter();
    let flags: Vec<String> = words.map(|word| format!("--accept {word}")).collect();
    flags.join(" ")
}
