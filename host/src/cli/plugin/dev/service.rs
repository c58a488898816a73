//! The private service of `leadhost plugin dev`: the real one, in this process, on free ports of this
//! machine and a temporary folder that is removed with it.

use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::app::App;
use crate::cli::plugin::local::forget_old_code;
use crate::cli::plugin::shipped;
use crate::cli::prelude::*;
use crate::cli::serve::local_files::AddressesFile;
use crate::cli::serve::{first_key, sealing, stop};
use leadhost_config::PluginsSection;
use leadhost_config::shutdown::Shutdown;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::connection::Connection;
use leadhost_domain::publisher::TrustedKeys;
use leadhost_http::listen::{self, Addresses, StartError};
use leadhost_pipeline::apply::{ApplyError, ApplyOutcome, FileExtent, apply};
use leadhost_pipeline::core::Core;
use leadhost_pipeline::deploy::{self, AcceptedWords, DeployError};
use leadhost_pipeline::{self as pipeline, fleet};
use leadhost_plugin::Loaded;
use leadhost_store::{self as store, Announcement, StoreLocation};

/// The file of the sandbox adapter, in a folder of plugins.
const SANDBOX: &str = "adapter-sandbox.wasm";

/// The place of the author's connection or instance in the file of the workspace.
const OWN: [&str; 2] = ["connections[0].", "instances[0]."];

/// Why a build does not serve.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// The private service refuses it.
    #[error(transparent)]
    Deploy(#[from] DeployError),
    #[error("{0}")]
    Checked(CommandFailure),
}

pub struct PrivateService {
    pub app: App,
    pub addresses: Addresses,
    /// Whether the workspace has the sandbox as a channel.
    pub has_sandbox: bool,
    tasks: Vec<JoinHandle<()>>,
    addresses_file: AddressesFile,
    serving: Option<Digest>,
    folder: TempDir,
}

impl PrivateService {
    /// Starts it. `port`: the gateway's; 0 for a free one.
    pub async fn start(
        port: u16,
        limits: PluginsSection,
        shutdown: Shutdown,
    ) -> CommandResult<Self> {
        let failed =
            |error: &dyn std::fmt::Display| failed!("cannot start the private service: {error}");
        // The folder holds people's data: only its owner may read it.
        let folder = tempfile::Builder::new()
            .prefix("leadhost-dev-")
            .tempdir()
            .map_err(|error| failed(&error))?;
        let config = config(port, limits, folder.path())?;
        let location = StoreLocation::from_config(&config.store).map_err(|error| failed(&error))?;
        let clock = Arc::new(SystemClock);
        let store = store::open_remembered(&location, clock.clone(), folder.path())
            .await
            .map_err(|error| failed(&error))?;
        let flags = ServiceFlags::new(Some(folder.path()), None, None);
        let sealer = sealing::sealer(&store, folder.path(), false, &flags).await?;
        let core = Core::new(config, clock, store, Arc::new(sealer), shutdown)
            .map_err(|error| failed(&error))?;
        let app = App::new(core);
        app.core.plugins.keep_circuits_closed();
        first_key::ensure(&app.pipeline, folder.path(), false, &flags).await?;
        let has_sandbox = activate_sandbox(&app).await;
        let addresses = listen::start(&app.http).await.map_err(|error| {
            let failure = CommandFailure::new(error.to_string());
            match error {
                StartError::Bind { .. } => {
                    failure.hint("choose another port with --port, or leave it out for a free one")
                }
                StartError::Tls(_) => failure,
            }
        })?;
        let tasks = pipeline::start(&app.pipeline, &app.core.shutdown);
        let addresses_file =
            AddressesFile::write(folder.path(), &addresses, &app.http.secret, false)?;
        Ok(Self {
            app,
            addresses,
            has_sandbox,
            tasks,
            addresses_file,
            serving: None,
            folder,
        })
    }

    pub fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Tries a component and makes it the active version, whatever would concern an operator. `check`
    /// gets the version after its trial.
    pub async fn swap(
        &mut self,
        wasm: Vec<u8>,
        check: impl FnOnce(&Loaded) -> CommandResult,
    ) -> Result<(), SwapError> {
        let pipeline = &self.app.pipeline;
        let tried = Box::pin(deploy::try_out(pipeline, wasm.clone(), true)).await?;
        check(tried.version()).map_err(SwapError::Checked)?;
        let origin = UPLOAD.into();
        let deployed = deploy::admit(pipeline, tried, wasm, origin, &everything()).await?;
        self.serving = Some(deployed.record.digest);
        forget_old_code(&self.folder.path().join("compiled"));
        self.resume().await;
        Ok(())
    }

    /// Continues what a fault of the build before paused: the new one may have mended it.
    async fn resume(&self) {
        let store = &self.app.core.store;
        let all = store.connections(None).await.unwrap_or_default();
        let paused: Vec<Connection> = all.into_iter().filter(|one| one.paused.is_some()).collect();
        for connection in &paused {
            if let Err(error) = store.pause_connection(&connection.id, None).await {
                complain_line!("{} stays paused: {error}", connection.name);
            }
        }
        if !paused.is_empty() {
            fleet::announce(&self.app.pipeline, Announcement::Connections).await;
            self.app.pipeline.wake();
        }
    }

    pub fn is_serving(&self, wasm: &[u8]) -> bool {
        self.serving.as_ref() == Some(&Digest::compute(wasm))
    }

    pub async fn declare(&self, file: &Value) -> CommandResult<ApplyOutcome> {
        let applied = apply(&self.app.pipeline, file, FileExtent::Whole, false).await;
        applied.map_err(|error| match error {
            ApplyError::Problems(problems) => {
                // The author's file has the fields of the one connection or instance alone.
                let lines = problems.iter().map(|problem| {
                    let problem = problem.to_string();
                    let field = OWN.iter().find_map(|own| problem.strip_prefix(own));
                    format!("\n  {}", field.unwrap_or(&problem))
                });
                let lines: String = lines.collect();
                failed!("the plugin's connection cannot be made:{lines}")
            }
            other => CommandFailure::new(other.to_string()),
        })
    }

    pub async fn stop(self) {
        stop(&self.app, self.tasks).await;
        drop(self.addresses_file);
        let folder = self.folder.path().to_owned();
        if let Err(error) = self.folder.close() {
            complain!(
                "The private data in {} could not be removed: {error}",
                folder.display()
            );
        }
    }
}

fn config(port: u16, limits: PluginsSection, folder: &Path) -> CommandResult<Config> {
    let functions = folder.join("functions");
    let folder = folder.to_string_lossy();
    let listen = format!("127.0.0.1:{port}");
    let overrides = [
        ("server.listen", listen.as_str()),
        ("server.admin_listen", "127.0.0.1:0"),
        ("server.drain_seconds", "2"),
        ("store.data_dir", &*folder),
        // Another version may make other leads: that is why it was written.
        ("verify.deliveries", "0"),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut config = Config::load(None, &overrides)?;
    // Its rules for components are for those that serve; these are unsigned, and one person's.
    config.plugins = PluginsSection {
        inbox: String::new(),
        trusted_keys: TrustedKeys::default(),
        // An edit changes few functions of a component.
        compiled_functions: Some(functions),
        ..limits
    };
    Ok(config)
}

/// The origin of the components, as the store has it.
const UPLOAD: &str = "upload";

fn everything() -> AcceptedWords {
    [AcceptWord::All].into_iter().collect()
}

/// Activates the sandbox adapter, if it is on this machine. Without it the workspace has no channel.
async fn activate_sandbox(app: &App) -> bool {
    let Some(file) = shipped::find(SANDBOX) else {
        return false;
    };
    let Ok(wasm) = tokio::fs::read(&file).await else {
        return false;
    };
    match deploy::upload(&app.pipeline, wasm, UPLOAD, true, &everything()).await {
        Ok(_) => true,
        Err(error) => {
            complain_line!(
                "The workspace has no sandbox channel: {} is refused: {error}",
                file.display()
            );
            false
        }
    }
}

/// Says that a converter's connection has no channel because the sandbox adapter is not on this machine,
/// and what to do.
pub fn say_missing_sandbox() {
    if shipped::find(SANDBOX).is_none() {
        let missing = shipped::missing(SANDBOX, &[]);
        let (message, hint) = missing.parts();
        complain_line!(
            "The connection has no channel, so no message is sent to a lead: {message}."
        );
        complain!("  {}", safe(hint.unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_a_service_for_components_do_not_hold_here() {
        let key = format!("ed25519:{}", "0".repeat(64));
        let rules = [
            ("plugins.trusted_keys", &*key),
            ("plugins.memory_mib", "32"),
        ];
        let rules = rules.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let theirs = Config::load(None, &rules).expect("it is valid").plugins;
        assert!(!theirs.trusted_keys.are_all());
        let folder = tempfile::tempdir().expect("a folder");
        let own = config(0, theirs, folder.path()).expect("it is valid");
        assert!(own.plugins.trusted_keys.are_all());
        assert_eq!(own.plugins.memory_mib, 32);
    }
}
