//! `leadhost plugin check`: the trial of an activation, in the service or on this machine.

use super::local::EngineFlags;
use super::{component_file, verifying};
use crate::cli::client::Answered;
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::CheckedPlugin;
use leadhost_domain::accept::Concern;
use leadhost_plugin::PreparedVersion;

#[derive(Args)]
pub struct Check {
    /// The component or the core module, or the folder of a project that is built
    file: PathBuf,
    /// Run the trial on this machine, without a service; does not show what an activation would change
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    engine: EngineFlags,
    #[command(flatten)]
    service: ServiceAddress,
}

const PATH: &str = "/admin/v1/plugins/check";

pub const TRYING: &str = "compiling and running the trial";

impl Check {
    pub async fn run(self) -> CommandResult {
        let wasm = component_file::read(&self.file)?.with_its_cases()?;
        if self.offline {
            return self.here(wasm).await;
        }
        self.in_the_service(wasm).await
    }

    async fn in_the_service(&self, wasm: Vec<u8>) -> CommandResult {
        const ELSE: &str = "to try it without a service, add --offline";
        let client = self
            .service
            .client()
            .map_err(|failure| failure.also(ELSE))?;
        let answer = verifying::send(&client, TRYING, PATH, wasm).await;
        let answer = answer.map_err(|failure| failure.also(ELSE))?;
        let report = answer.map_err(|refusal| refusal.about(&self.file.to_string_lossy()))?;
        self.engine.show_of(&client).await?;
        client.print(&report, show);
        Ok(())
    }

    async fn here(&self, wasm: Vec<u8>) -> CommandResult {
        let engine = self.engine.start(self.service.config_file())?;
        engine
            .check_trust(&wasm)
            .map_err(|failure| failure.about(&self.file))?;
        let prepared = engine.load_of(&self.file, TRYING, wasm).await?;
        let loaded = &prepared.loaded;
        if self.service.json() {
            say_json(&json!({
                "name": loaded.description.name,
                "version": loaded.description.version,
                "digest": loaded.digest,
                "kind": loaded.kind,
                "contract": loaded.contract,
                "golden": prepared.golden,
                "engine": engine.fingerprint(),
            }));
            return Ok(());
        }
        say(&tried(&prepared));
        self.engine.show(&engine);
        say("Run the command without --offline to see which --accept words an activation needs.");
        Ok(())
    }
}

/// Has the service try a component, and shows nothing of the comparison that it makes.
pub async fn trial(client: &AdminClient, wasm: Vec<u8>) -> CommandResult<Answered<CheckedPlugin>> {
    let _progress = ProgressLine::start(TRYING);
    client.post_wasm(PATH, wasm).await
}

pub fn tried(prepared: &PreparedVersion) -> String {
    let loaded = &prepared.loaded;
    usable(&TriedVersion {
        name: &loaded.description.name,
        version: &loaded.description.version,
        digest: &loaded.digest,
        kind: loaded.kind,
        golden: prepared.golden,
    })
}

pub fn show(report: &CheckedPlugin) {
    say(&usable(&TriedVersion {
        name: &report.name,
        version: &report.version,
        digest: &report.digest,
        kind: report.kind,
        golden: report.golden,
    }));
    show_concerns(&report.concerns);
}

/// Prints the concerns that an activation would raise, each with the word that accepts it.
pub fn show_concerns(concerns: &[Concern]) {
    for concern in concerns {
        let what = &concern.what;
        say(&safe(&match concern.accept {
            None => format!("it cannot be activated: {what}"),
            Some(word) => format!("activating it needs --accept {word}: {what}"),
        }));
    }
}

struct TriedVersion<'a> {
    name: &'a str,
    version: &'a str,
    digest: &'a Digest,
    kind: PluginKind,
    golden: u32,
}

fn usable(tried: &TriedVersion<'_>) -> String {
    safe(&format!(
        "{} {} ({}), {}: usable, {} passed.",
        tried.name,
        tried.version,
        tried.digest.short(),
        tried.kind.as_str(),
        count(tried.golden, "golden case", "golden cases"),
    ))
}
